package preflight

import (
	"cmp"
	"slices"

	"assetferry/state"
)

// shown is the maximum number of examples and parts of a finding.
const shown = 5

// A definition is a kind of finding.
type definition struct {
	id       string
	severity Severity
	unit     string // "object" if it is empty
	title    string
	remedy   string
}

// A sum counts the items of a finding.
type sum struct {
	definition
	objects, bytes int64
	examples       []string
	parts          *parts // nil if it has none
}

func (s *sum) add(i *state.Item) {
	s.objects++
	s.bytes += i.Size
	if len(s.examples) < shown {
		s.examples = append(s.examples, example(i))
	}
}

// example returns the key of an object, with its error if there is one.
func example(i *state.Item) string {
	if i.Error != "" && (i.State == state.ItemFailed || i.State == state.ItemConflict) {
		return string(i.Key+": ") + i.Error
	}
	return string(i.Key)
}

func (s *sum) finding() Finding {
	f := Finding{
		ID: s.id, Severity: s.severity, Unit: cmp.Or(s.unit, "object"), Title: s.title,
		Objects: s.objects, Bytes: s.bytes, Examples: s.examples, Remedy: s.remedy,
	}
	if s.parts != nil {
		f.Parts = s.parts.largest()
	}
	return f
}

// manyParts is the maximum number of names that are counted one by one.
const manyParts = 1000

// otherParts is the name for all further names.
const otherParts = "(others)"

// parts count by name, for few names.
type parts struct{ byName map[string]*Part }

func newParts() *parts { return &parts{byName: map[string]*Part{}} }

func (p *parts) add(name string, bytes int64) {
	part := p.byName[name]
	if part == nil {
		if len(p.byName) >= manyParts {
			name = otherParts
		}
		if part = p.byName[name]; part == nil {
			part = &Part{Name: name}
			p.byName[name] = part
		}
	}
	part.Objects++
	part.Bytes += bytes
}

func (p *parts) largest() []Part {
	var top top
	for _, part := range p.byName {
		top.offer(*part)
	}
	return top.best
}

// A top keeps the largest parts.
type top struct{ best []Part }

func (t *top) offer(p Part) {
	at, _ := slices.BinarySearchFunc(t.best, p, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	if at < shown {
		t.best = slices.Insert(t.best[:min(len(t.best), shown-1)], at, p)
	}
}

// takes reports whether a part with that many objects may be among the largest.
func (t *top) takes(objects int64) bool {
	return len(t.best) < shown || t.best[shown-1].Objects <= objects
}
