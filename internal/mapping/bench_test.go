package mapping

import (
	"strings"
	"testing"
)

// tenRules are typical rules of users.
const tenRules = `
rules:
  - {when: 'folder startsWith "drafts/"', skip: true}
  - {when: 'ext in ["psd", "ai"]', category: Sources}
  - {when: 'size > 100000000', add_tags: large}
  - {when: 'type startsWith "video/"', category: Films, private: true}
  - {when: 'folder startsWith "archive/" and created != ""', folder: 'archive/${ date(created, "YYYY/MM") }'}
  - {when: 'has("department")', attributes: {Department: '${ upper(field("department")) }', department: ~}}
  - {description: '${ either(description, alt, caption) }'}
  - {drop_tags: [untagged, todo], rename_tags: {ships: vessel, harbor: harbour}}
  - {when: 'any(tags, # startsWith "event:")', attributes: {Event: '${ first(filter(tags, # startsWith "event:")) }'}}
  - {name: '${ lower(name) }'}
`

func BenchmarkDescribe(b *testing.B) {
	for name, m := range map[string]*Mapping{"default": New(nil, Options{}), "ten rules": mustMap(b, tenRules, Options{})} {
		b.Run(name, func(b *testing.B) {
			o := harbour()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := m.Describe(o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPlace(b *testing.B) {
	m, o := mustMap(b, tenRules, Options{}), harbour()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := m.Place(o, Place{Name: "Old Harbour.JPG"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := "rules:\n" + strings.TrimPrefix(tenRules, "\nrules:\n")
	for b.Loop() {
		if _, err := parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
