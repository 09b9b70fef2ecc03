// Package mapping is what the user's rules make of an object: where it goes, and what
// describes it there.
//
// Rules stand in the file of settings, in order. Each may have a condition, and says one
// thing or several: for each thing the first rule decides whose condition is true and that
// says something of it. What no rule says, the default mapping does, which is the same for
// everybody. Conditions and texts are made of expressions, small programs that see one
// object and nothing else: no clock, no environment, no file. They are compiled when the
// file is read, so that a mistake is told at its line and column before anything is sent.
//
// A mapping may be used by several goroutines. A nil or zero one is the default mapping.
package mapping

import (
	"slices"
	"sync"

	"assetferry/internal/metadata"
)

// Options are the settings beside the rules.
type Options struct {
	Precedence []metadata.Source // of origins that say different things; nil: metadata.Precedence
	DropGPS    bool              // positions are left out
	OnLimit    OnLimit           // "" is Cut
}

// A Mapping is rules under options.
type Mapping struct {
	options Options
	rules   []*rule
	bare    bool
	columns columns
	uses    []variable // those that a rule mentions
	scopes  sync.Pool
}

// New returns the mapping of rules, which may be nil.
func New(r *Rules, o Options) *Mapping {
	m := &Mapping{options: o}
	if r != nil {
		m.rules, m.bare, m.columns = r.rules, r.bare, newColumns(r.columns)
	}
	for _, v := range variables() {
		if slices.ContainsFunc(m.rules, func(r *rule) bool { return r.mentions(v.name) }) {
			m.uses = append(m.uses, v)
		}
	}
	return m
}

// see returns a scope that looks at an object; it is given back with leave.
func (m *Mapping) see(o Object) *scope {
	s, ok := m.scopes.Get().(*scope)
	if !ok {
		s = newScope(m)
	}
	s.look(o)
	return s
}

func (m *Mapping) leave(s *scope) { m.scopes.Put(s) }

// usable is a mapping that is not nil.
func (m *Mapping) usable() *Mapping {
	if m == nil {
		return new(Mapping)
	}
	return m
}

func (m *Mapping) precedence() []metadata.Source {
	if m.options.Precedence == nil {
		return metadata.Precedence()
	}
	return m.options.Precedence
}

// first returns the values of a field, and the origin that they are taken from.
func (m *Mapping) first(found metadata.Found, name string) ([]string, metadata.Source) {
	return found.First(name, m.precedence())
}
