package mapping

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/metadata"
)

// inCollections returns an object with tags that is in collections, by its table and by its storage.
func inCollections() Object {
	return Object{Key: "a.jpg", Found: metadata.Found{
		metadata.FromTable:   {"collections": {"Oslo, 2024", "Ships", "Ships ", ""}, "tags": {"sea"}},
		metadata.FromStorage: {"collections": {"overruled"}, "Set": {"Tom; Jerry"}},
	}}
}

func TestCollections(t *testing.T) {
	for name, c := range map[string]struct {
		rules      string
		options    Options
		tags       string
		attributes string
	}{
		"tags":                 {"", Options{}, "Oslo, 2024|Ships|sea", "Set=Tom; Jerry"},
		"prefix":               {"", Options{CollectionPrefix: "Album: "}, "Album: Oslo, 2024|Album: Ships|sea", "Set=Tom; Jerry"},
		"attribute":            {"", Options{Collections: AsAttribute}, "sea", "Set=Tom; Jerry|collections=Oslo, 2024; Ships"},
		"none":                 {"", Options{Collections: AsNone}, "sea", "Set=Tom; Jerry"},
		"storage first":        {"", Options{Precedence: []metadata.Source{metadata.FromStorage}}, "overruled", "Set=Tom; Jerry"},
		"other tags":           {"- tags: x;y\n- split_tags: [';', ',']", Options{}, "Oslo, 2024|Ships|x|y", "Set=Tom; Jerry"},
		"renamed, dropped":     {"- rename_tags: {ships: vessels}\n  drop_tags: 'oslo, 2024'", Options{}, "sea|vessels", "Set=Tom; Jerry"},
		"a rule's attribute":   {"- attributes: {collections: '${ join(collections, \"/\") }'}", Options{Collections: AsAttribute}, "sea", "Set=Tom; Jerry|collections=Oslo, 2024/Ships/Ships /"},
		"attribute omitted":    {"- attributes: {collections: ~}", Options{Collections: AsAttribute}, "sea", "Set=Tom; Jerry"},
		"attribute dropped":    {"- drop_attributes: 'coll*'", Options{Collections: AsAttribute}, "sea", "Set=Tom; Jerry"},
		"condition":            {"- when: '\"Ships\" in collections'\n  add_tags: fleet", Options{Collections: AsNone}, "fleet|sea", "Set=Tom; Jerry"},
		"no defaults":          {"- add_tags: x\ndefaults: off", Options{}, "x", ""},
		"no defaults, a rule":  {"- add_tags: '${ collections }'\ndefaults: off", Options{Collections: AsAttribute}, "Oslo, 2024|Ships", ""},
		"column":               {"- add_tags: x\ncolumns: {Set: collections}", Options{Precedence: []metadata.Source{metadata.FromStorage}}, "Jerry|Tom|overruled|x", ""},
		"tag within the limit": {"", Options{MaxTag: 10, OnLimit: Fail}, "Oslo, 2024|Ships|sea", "Set=Tom; Jerry"},
		"tag too long":         {"", Options{MaxTag: 6}, "Oslo…|Ships|sea", "Set=Tom; Jerry"},
		"tag omitted":          {"", Options{MaxTag: 6, OnLimit: Skip}, "Ships|sea", "Set=Tom; Jerry"},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(nil, c.options)
			if c.rules != "" {
				rules, more, _ := strings.Cut(c.rules, "\ncolumns")
				if more != "" {
					more = "columns" + more
				}
				rules, bare, _ := strings.Cut(rules, "\ndefaults")
				if bare != "" {
					more = "defaults" + bare
				}
				m = mustMap(t, more+"\nrules:\n"+indented(rules), c.options)
			}
			said, notes, err := m.Describe(inCollections())
			var attributes []string
			for _, name := range slices.Sorted(maps.Keys(said.Attributes)) {
				attributes = append(attributes, name+"="+said.Attributes[name])
			}
			if got := strings.Join(said.Tags, "|"); err != nil || got != c.tags {
				t.Errorf("got tags %q, want %q, %v", got, c.tags, err)
			}
			if got := strings.Join(attributes, "|"); got != c.attributes {
				t.Errorf("got attributes %q, want %q", got, c.attributes)
			}
			if (len(notes) > 0) != (c.options.MaxTag == 6) {
				t.Errorf("notes %v", notes)
			}
			if unmapped, err := m.Unmapped(inCollections()); err != nil || slices.Contains(unmapped, "collections") != strings.HasSuffix(c.rules, "x\ndefaults: off") {
				t.Errorf("unmapped: %v, %v", unmapped, err)
			}
		})
	}
}

func TestTagTooLong(t *testing.T) {
	_, _, err := New(nil, Options{MaxTag: 6, OnLimit: Fail}).Describe(inCollections())
	if e, ok := errors.AsType[*LimitError](err); !ok || e.Error() != `tag "Oslo, 2024" has 10 characters, and the service accepts 6` {
		t.Error(err)
	}
	_, notes, err := New(nil, Options{MaxTag: 6}).Describe(inCollections())
	if err != nil || len(notes) != 1 || notes[0].String() != `tag "Oslo, 2024": cut to 5 of 10 characters: the service accepts 6` {
		t.Error(notes, err)
	}
	if name := tagName(strings.Repeat("word ", 100)); characters(name) > 50 {
		t.Error(name)
	}
}

// TestCollectionsInChecksum checks that each option changes the checksum, so that a sync applies it.
func TestCollectionsInChecksum(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range []Options{{}, {Collections: AsAttribute}, {Collections: AsNone}, {CollectionPrefix: "Album: "}, {CollectionPrefix: "Set: "}, {MaxTag: 6}, {MaxTag: 7}} {
		seen[New(nil, o).Checksum()] = true
	}
	if len(seen) != 7 || New(nil, Options{Collections: AsTags}).Checksum() != "" {
		t.Error(seen)
	}
}

func TestCollectionsExplained(t *testing.T) {
	for as, want := range map[CollectionsAs]string{
		AsTags:      "tags           Oslo, 2024, Ships, sea  (default, from tags (table), then default, from collections (table))",
		AsAttribute: "attribute collections  Oslo, 2024; Ships  (default, from collections (table))",
	} {
		if text := New(nil, Options{Collections: as}).Explain(inCollections(), Place{Name: "a.jpg"}).Text(false); !strings.Contains(text, want) {
			t.Errorf("%s: got %s", as, text)
		}
	}
}
