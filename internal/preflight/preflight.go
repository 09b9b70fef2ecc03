// Package preflight finds facts about a plan that people should know before they apply it: objects
// that are not uploaded, public files, and files that may run code.
//
// It reads the items of a plan once, in key order. It keeps sums and a few examples, not the items,
// so that its memory does not grow with the plan.
package preflight

import (
	"cmp"
	"slices"
	"strings"

	"assetferry/internal/repeat"
	"assetferry/internal/sorting"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A Severity is the importance of a finding.
type Severity string

// The severities, the most severe first.
const (
	Stop    Severity = "blocking"     // the plan is not carried out
	Loss    Severity = "not_uploaded" // objects are not uploaded
	Warning Severity = "warning"
	Note    Severity = "note"
)

// rank orders severities.
func (s Severity) rank() int { return slices.Index([]Severity{Stop, Loss, Warning, Note}, s) }

// A Finding is a fact about a plan that people should know.
type Finding struct {
	ID       string // stable, for programs
	Severity Severity
	Unit     string // the counted unit: "object", "folder", "group" or "name"
	Title    string
	Objects  int64 // the number of units
	Bytes    int64
	Parts    []Part   // the largest first
	Examples []string // mostly keys
	Remedy   string   // the flags and actions that change it
}

// A Part is a part of a finding, such as the objects of one folder.
type Part struct {
	Name           string
	Objects, Bytes int64
}

// String returns the number of objects and their size.
func (p Part) String() string { return quantity(p.Objects, "object", p.Bytes) }

// Message returns the finding in one sentence.
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

// Options describe the run and its destination.
type Options struct {
	// Category returns the category of the destination with an ID. It is called once for each.
	Category func(id string) state.Category
	Probed   bool // a Probe finds SVG files with scripts
}

// Limits are the limits of a plan.
type Limits struct {
	MaxFileSize int64 // bytes; 0 if unknown
	Blocks      bool  // unsupported file types block the plan
}

// A Collector collects the findings of a plan.
type Collector struct {
	Options
	known    map[string]state.Category // of the items so far
	byReason map[migrate.Reason]*sum
	hidden   *sum
	empty    *sum
	public   *sum
	active   map[activity]*sum
	places   places          // of public files
	open     map[string]bool // public categories of the plan
	split    splits
	tags     *repeat.Filter
	repeated bool // two objects may have the same size and version tag
}

// NewCollector returns a collector without findings.
func NewCollector(o Options) *Collector {
	s := &Collector{
		Options: o, known: map[string]state.Category{}, byReason: reasons(), active: activities(), tags: repeat.NewFilter(),
		hidden: &sum{definition: hiddenFolders}, empty: &sum{definition: emptyFiles}, public: &sum{definition: publicFiles},
		open: map[string]bool{},
	}
	s.split.name = s.categoryName
	return s
}

// Add adds an item. Items must be added in key order.
func (s *Collector) Add(i *state.Item) {
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
	if len(i.VersionTag) == contentTag && i.Size > 0 && s.tags.AddText(i.VersionTag, i.Size) {
		s.repeated = true
	}
	if !s.category(i.Category).Private {
		s.public.add(i)
		s.places.add(i)
		s.open[i.Category] = true
	}
	s.split.add(i)
}

// Sends reports whether the content of an item would be sent.
func Sends(i *state.Item) bool { return i.Action == state.Create && i.State == state.ItemPlanned }

// category returns the category of an item.
func (s *Collector) category(id string) state.Category {
	c, known := s.known[id]
	if !known {
		c = s.Category(id)
		s.known[id] = c
	}
	return c
}

// HoldsFor reports whether the categories of the items are still as private as when these were
// added.
func (s *Collector) HoldsFor(categories map[string]state.Category) bool {
	for id, c := range s.known {
		if categories[id].Private != c.Private {
			return false
		}
	}
	return true
}

// contentTag is the length of version tags that are checksums; see state.Store.IdenticalTags.
const contentTag = 32

// MayHaveEqualTags reports whether two uploads may have the same size and version tag.
func (s *Collector) MayHaveEqualTags() bool { return s.repeated }

// Findings ends the collection and returns the findings, the most severe first.
func (s *Collector) Findings(l Limits) []Finding {
	s.limit(l)
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

// Sorted sorts findings, the most severe first.
func Sorted(all []Finding) []Finding {
	sorting.Stable(all, func(a, b Finding) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	return all
}

// categoryName returns the name of a category of an item.
func (s *Collector) categoryName(id string) string {
	if name, isNew := migrate.WantedCategory(id); isNew {
		return name
	}
	return cmp.Or(s.category(id).Name, id)
}

func (s *Collector) publicFinding() Finding {
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

// few joins names, up to the number that is shown.
func few(names []string) string {
	if more := len(names) - shown; more > 0 {
		return strings.Join(names[:shown], ", ") + " and " + ui.Count(int64(more)) + " more"
	}
	return strings.Join(names, ", ")
}

// extension returns the extension of a key in lower case, or "".
func extension(key string) string {
	_, name := sources.Key(key).Split()
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return strings.ToLower(name[i+1:])
	}
	return ""
}
