// Package preflight finds in a planned run what people should know, and may have to
// decide, before it is carried out: what will not arrive and why, what would be
// public, what may run where it is opened.
//
// A Survey is fed with the items of a plan in key order and looks at each of them
// once. It keeps sums and a few examples, never the items, so that a million of them
// take no more memory than a thousand.
package preflight

import (
	"cmp"
	"slices"
	"strings"

	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A Severity says how much a finding matters.
type Severity string

// The severities, the most severe first.
const (
	Stop    Severity = "stop"    // the plan is not carried out
	Loss    Severity = "loss"    // something will not arrive
	Warning Severity = "warning" // a person should look at it
	Note    Severity = "note"    // good to know
)

// rank orders severities.
func (s Severity) rank() int { return slices.Index([]Severity{Stop, Loss, Warning, Note}, s) }

// A Finding is something to know about a plan.
type Finding struct {
	ID       string // stable, for programs
	Severity Severity
	Unit     string // what is counted: "object", "folder", "group" or "name"
	Title    string
	Objects  int64 // of the unit
	Bytes    int64
	Parts    []Part   // what it is made of, the largest first
	Examples []string // mostly keys
	Remedy   string   // the switch, or the person, that decides it
}

// A Part is a part of a finding, such as what comes from one folder.
type Part struct {
	Name           string
	Objects, Bytes int64
}

// String is how much the part is.
func (p Part) String() string { return quantity(p.Objects, "object", p.Bytes) }

// Message tells the finding in one sentence.
func (f Finding) Message() string { return quantity(f.Objects, f.Unit, f.Bytes) + ": " + f.Title }

func quantity(n int64, unit string, bytes int64) string {
	text := ui.Count(n) + " " + unit
	if n != 1 {
		text += "s"
	}
	if bytes > 0 {
		text += ", " + ui.Bytes(bytes)
	}
	return text
}

// Options are what a survey knows of the run and its destination.
type Options struct {
	Categories  map[string]state.Category // of the destination, by id
	MaxFileSize int64                     // bytes; 0 if unknown
	Blocks      bool                      // that no category allows an extension keeps the plan from being carried out
	Probed      bool                      // a Probe tells which SVG may run script
}

// A Survey gathers the findings of a plan.
type Survey struct {
	Options
	byReason map[migrate.Reason]*sum
	hidden   *sum
	empty    *sum
	public   *sum
	active   map[activity]*sum
	places   places          // of what would be public
	open     map[string]bool // categories that are not private and that something goes to
	split    splits
}

// NewSurvey begins a survey.
func NewSurvey(o Options) *Survey {
	s := &Survey{
		Options: o, byReason: o.reasons(), active: activities(),
		hidden: &sum{definition: hiddenFolders}, empty: &sum{definition: emptyFiles}, public: &sum{definition: publicFiles},
		open: map[string]bool{},
	}
	s.split.name = s.categoryName
	return s
}

// Add looks at an item. Items come in key order.
func (s *Survey) Add(i *state.Item) {
	if i.Obstacle.HidesObjects() && i.Reason == string(migrate.ReasonUnreadable) {
		s.hidden.add(i)
		return
	}
	if f := s.byReason[migrate.Reason(i.Reason)]; f != nil {
		f.add(i)
		if f.parts != nil {
			f.parts.add(cmp.Or(extension(string(i.Key)), "(none)"), i.Size)
		}
	}
	if !Sends(i) {
		return
	}
	if i.Size == 0 {
		s.empty.add(i)
	}
	if f := s.active[activityOf(extension(string(i.Key)))]; f != nil && (f.id != activeSVG || !s.Probed) {
		f.add(i)
	}
	if !s.Categories[i.Category].Private {
		s.public.add(i)
		s.places.add(i)
		s.open[i.Category] = true
	}
	s.split.add(i)
}

// Sends reports whether the content of an item would be sent.
func Sends(i *state.Item) bool { return i.Action == state.Create && i.State == state.ItemPlanned }

// Findings ends the survey and gives what it found, the most severe first.
func (s *Survey) Findings() []Finding {
	var all []Finding
	for _, d := range definitions {
		if f := s.byReason[d.reason]; f != nil {
			all = append(all, f.finding())
		}
	}
	all = append(all, s.hidden.finding(), s.publicFinding())
	for _, a := range activityOrder {
		all = append(all, s.active[a].finding())
	}
	all = append(all, s.empty.finding(), s.split.finding())
	all = slices.DeleteFunc(all, func(f Finding) bool { return f.Objects == 0 })
	return Sorted(all)
}

// Sorted puts findings in order, the most severe first.
func Sorted(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	return all
}

// categoryName is what people call a category of an item.
func (s *Survey) categoryName(id string) string {
	if name, isNew := migrate.WantedCategory(id); isNew {
		return name
	}
	return cmp.Or(s.Categories[id].Name, id)
}

func (s *Survey) publicFinding() Finding {
	f := s.public.finding()
	f.Parts = s.places.largest()
	var names []string
	for id := range s.open {
		names = append(names, s.categoryName(id))
	}
	slices.Sort(names)
	f.Title += " (" + few(names) + ")"
	return f
}

// few names at most so many as people read.
func few(names []string) string {
	if more := len(names) - shown; more > 0 {
		return strings.Join(names[:shown], ", ") + " and " + ui.Count(int64(more)) + " more"
	}
	return strings.Join(names, ", ")
}

// extension is that of a key, in lower case, or "".
func extension(key string) string {
	_, name := sources.Key(key).Split()
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return strings.ToLower(name[i+1:])
	}
	return ""
}
