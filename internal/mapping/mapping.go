// Package mapping applies the rules of a user to an object: its place and its metadata at the
// destination.
//
// Rules are listed in the configuration. Each may have a condition, and sets one or several fields. For
// each field, the first rule wins whose condition is true and whose value is not empty. The default
// mapping sets the other fields. Conditions and texts contain expressions, which see only one object
// and the day of Options: no clock, no environment, no files. They are compiled when the configuration
// is read, so that a mistake is reported with line and column before any upload.
//
// A mapping may be used by several goroutines. A nil or zero one is the default mapping.
package mapping

import (
	"slices"
	"sync"
	"time"

	"assetferry/internal/metadata"
)

// Options are the settings in addition to the rules.
type Options struct {
	Precedence []metadata.Source // nil: metadata.Precedence
	DropGPS    bool              // omit GPS coordinates
	OnLimit    OnLimit           // "" is Cut
	MaxTag     int               // characters of a tag; 0 if the limit of the service is unknown

	Collections      CollectionsAs // "" is AsTags
	CollectionPrefix string        // before the name of a collection in a tag
	Today            time.Time     // its calendar day is today in expressions; see UsesToday
}

// A Mapping applies rules with options.
type Mapping struct {
	options Options
	rules   []*rule
	bare    bool
	columns columns
	uses    []variable // variables in the rules
	scopes  sync.Pool
}

// New returns a mapping of rules, which may be nil.
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

// see returns a scope for an object, from a pool; leave returns it to the pool.
func (m *Mapping) see(o Object) *scope {
	s, ok := m.scopes.Get().(*scope)
	if !ok {
		s = newScope(m)
	}
	s.look(o)
	return s
}

func (m *Mapping) leave(s *scope) { m.scopes.Put(s) }

// usable returns the mapping, or the default one if it is nil.
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

// first returns the values of a field, and their metadata source.
func (m *Mapping) first(found metadata.Found, name string) ([]string, metadata.Source) {
	return found.First(name, m.precedence())
}
