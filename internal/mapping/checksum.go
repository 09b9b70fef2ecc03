package mapping

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"assetferry/internal/metadata"
)

// Checksum identifies the rules for metadata: two mappings with the same value return the same metadata
// for every object. It is "" for the default mapping.
func (m *Mapping) Checksum() string {
	m = m.usable()
	if !m.bare && len(m.columns.order) == 0 && m.options.plain() && !slices.ContainsFunc(m.rules, (*rule).describes) {
		return ""
	}
	return checksum(func(w io.Writer) {
		fmt.Fprintln(w, "describe", m.bare)
		m.writeReading(w)
		for _, r := range m.rules {
			if r.describes() {
				r.writeDescribing(w)
			}
		}
	})
}

// PlaceChecksum identifies the rules for places in the same way. It is "" without such rules.
func (m *Mapping) PlaceChecksum() string {
	m = m.usable()
	if !m.placesAny() {
		return ""
	}
	return checksum(func(w io.Writer) {
		fmt.Fprintln(w, "place", m.options.OnLimit)
		if m.PlaceNeedsMetadata() {
			m.writeReading(w)
		}
		for _, r := range m.rules {
			if r.places() {
				r.writePlacing(w)
			}
		}
	})
}

// plain reports whether all options have their defaults.
func (o Options) plain() bool {
	byDefault := o.Precedence == nil || slices.Equal(o.Precedence, metadata.Precedence())
	return byDefault && !o.DropGPS && (o.OnLimit == "" || o.OnLimit == Cut) && o.tagsByDefault()
}

// tagsByDefault reports whether the options that change tags have their defaults.
func (o Options) tagsByDefault() bool {
	return (o.Collections == "" || o.Collections == AsTags) && o.CollectionPrefix == "" && o.MaxTag == 0
}

func checksum(write func(io.Writer)) string {
	h := sha256.New()
	write(h)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// writeReading writes the options that decide the value of a field.
func (m *Mapping) writeReading(w io.Writer) {
	fmt.Fprintln(w, m.precedence(), m.options.DropGPS, m.options.OnLimit == Skip, m.options.OnLimit == Fail)
	fmt.Fprintf(w, "columns %q\n", m.columns.order)
	if o := m.options; !o.tagsByDefault() {
		fmt.Fprintf(w, "tags %q %q %d\n", o.Collections, o.CollectionPrefix, o.MaxTag)
	}
}

func (r *rule) writeWhen(w io.Writer) {
	fmt.Fprintln(w, "rule")
	if r.when != nil {
		fmt.Fprintf(w, "when %q\n", r.when.source)
	}
}

func (r *rule) writePlacing(w io.Writer) {
	r.writeWhen(w)
	if r.skip != nil {
		fmt.Fprintln(w, "skip", *r.skip)
	}
	for _, word := range placingWords() {
		writeOutcome(w, word, r.texts, word)
	}
}

func (r *rule) writeDescribing(w io.Writer) {
	r.writeWhen(w)
	writeOutcome(w, wordDescription, r.texts, wordDescription)
	for _, name := range sortedKeys(r.attributes) {
		writeOutcome(w, "attribute "+name, r.attributes, name)
	}
	if r.tags != nil {
		writeTemplates(w, "tags", r.tags.templates)
	}
	writeTemplates(w, "add", r.add)
	writeTemplates(w, "drop", r.drop)
	for _, from := range sortedKeys(r.rename) {
		fmt.Fprintf(w, "rename %q %q\n", from, r.rename[from])
	}
	fmt.Fprintf(w, "split %q\nunsent %q\n", r.split, r.unsent)
}

func writeOutcome(w io.Writer, what string, of map[string]outcome, name string) {
	o, ok := of[name]
	switch {
	case !ok:
	case o.template == nil:
		fmt.Fprintf(w, "%q nothing\n", what)
	default:
		fmt.Fprintf(w, "%q %q\n", what, o.template.source)
	}
}

func writeTemplates(w io.Writer, what string, templates []*template) {
	fmt.Fprintln(w, what, len(templates))
	for _, t := range templates {
		fmt.Fprintf(w, "%q\n", t.source)
	}
}
