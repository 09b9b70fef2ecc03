package mapping

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata"
)

// TestDescriptionByRules applies the rules of each case to the metadata of harbour.
func TestDescriptionByRules(t *testing.T) {
	for name, c := range map[string]struct{ rules, want string }{
		"text":              {"- description: A picture", "A picture"},
		"template":          {"- description: ${ title }, ${ ext }", "Harbour, jpg"},
		"first that is for": {"- {when: ext == \"png\", description: no}\n- description: yes\n- description: never", "yes"},
		"empty goes on":     {"- description: ${ headline }\n- description: ${ caption }", "The old harbour before it burnt down"},
		"empty to default":  {"- description: ${ headline }", "Ships at a quay"},
		"nothing":           {"- description: ~", ""},
		"opening as text":   {"- description: $${ title } costs $5", "${ title } costs $5"},
		"block":             {"- description: |\n    ${ title }\n    ${ ext }", "Harbour\njpg"},
		"number and yes":    {"- description: '${ size } ${ has(\"alt\") }'", "2500000 true"},
		"brace in quotes":   {"- description: ${ \"}\" + '{' }", "}{"},
	} {
		t.Run(name, func(t *testing.T) {
			said, _, err := mustMap(t, "rules:\n"+indented(c.rules), Options{}).Describe(harbour())
			if err != nil || said.Description != c.want {
				t.Errorf("got %q, want %q, %v", said.Description, c.want, err)
			}
		})
	}
}

func TestTagsByRules(t *testing.T) {
	for name, c := range map[string]struct{ rules, want string }{
		"default":        {"- description: x", "Ships harbour"},
		"list":           {"- tags: [a, '${ ext }']", "a jpg"},
		"one":            {"- tags: ${ department }x", "x"},
		"expression":     {"- tags: ${ map(tags, lower(#)) }", "harbour ships"},
		"filtered":       {"- tags: '${ filter(tags, # != \"Ships\") }'", "harbour"},
		"split text":     {"- tags: ${ split(\"a; b;;c\", \";\") }", "a b c"},
		"empty goes on":  {"- tags: ${ fields(\"Keywords\") }\n- tags: b", "b"},
		"nothing":        {"- tags: ~", ""},
		"added":          {"- add_tags: [old, '${ segment(folder, 2) }']\n- add_tags: Ships", "2019 Ships harbour old"},
		"dropped":        {"- drop_tags: [SHIPS, nothing]", "harbour"},
		"renamed":        {"- rename_tags: {ships: vessel, harbour: port}\n- rename_tags: {harbour: quay}", "port vessel"},
		"split":          {"- tags: 'a/b|c'\n  split_tags: ['/', '|']", "a b c"},
		"all in order":   {"- tags: a;b;c\n  split_tags: ';'\n  rename_tags: {a: c}\n  drop_tags: c\n  add_tags: c", "b c"},
		"not for it":     {"- when: ext == \"png\"\n  drop_tags: Ships\n  add_tags: x\n  split_tags: s\n  rename_tags: {Ships: x}", "Ships harbour"},
		"of one origin":  {"- tags: '${ from(\"tags\") }'", "sidecar"},
		"bare, no rules": {"- when: false\n  add_tags: x", "Ships harbour"},
	} {
		t.Run(name, func(t *testing.T) {
			rules := strings.ReplaceAll(c.rules, "${ department }", `${ field("Department") }`)
			said, _, err := mustMap(t, "rules:\n"+indented(rules), Options{}).Describe(harbour())
			if got := strings.Join(said.Tags, " "); err != nil || got != c.want {
				t.Errorf("got %q, want %q, %v", got, c.want, err)
			}
		})
	}
}

func TestAttributesByRules(t *testing.T) {
	m := mustMap(t, `
rules:
  - when: has("exif.Make")
    attributes:
      Camera: ${ field("exif.Make") } ${ field("exif.Model") }
      caption: ~
      department: ${ headline }
  - attributes:
      Camera: unknown
      department: the ${ field("department") }
      Empty: ${ headline }
      created: ${ date(created, "DD.MM.YYYY") }
`, Options{})
	said, notes, err := m.Describe(harbour())
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	want := map[string]string{
		"Camera": "Canon", "Rights holder": "Ida Berg", "department": "the press", "title": "Harbour",
		"created": "07.08.2019", "latitude": "59.9", "longitude": "10.7",
	}
	if d := cmp.Diff(want, said.Attributes); d != "" {
		t.Error(d)
	}
	unmapped, err := m.Unmapped(harbour())
	if d := cmp.Diff([]string{"category", "iptc.By-lineTitle"}, unmapped); d != "" || err != nil {
		t.Error(err, d)
	}
}

// TestPlaceByARuleAlone verifies that a place in the metadata does not count as unmapped if a rule
// sets the place.
func TestPlaceByARuleAlone(t *testing.T) {
	unmapped, err := mustMap(t, "rules:\n  - category: Press", Options{}).Unmapped(harbour())
	if d := cmp.Diff([]string{"iptc.By-lineTitle"}, unmapped); d != "" || err != nil {
		t.Error(err, d)
	}
}

// TestDefaultsOff verifies that without the default mapping only metadata from rules is sent.
func TestDefaultsOff(t *testing.T) {
	m := mustMap(t, "defaults: off\nrules:\n  - attributes: {Title: '${ title }'}", Options{})
	said, _, err := m.Describe(harbour())
	if d := cmp.Diff(metadata.Metadata{Attributes: map[string]string{"Title": "Harbour"}}, said); d != "" || err != nil {
		t.Error(err, d)
	}
	unmapped, err := m.Unmapped(harbour())
	want := []string{"Rights holder", "alt", "caption", "category", "created", "department", "iptc.By-lineTitle", "latitude", "longitude", "tags"}
	if d := cmp.Diff(want, unmapped); d != "" || err != nil {
		t.Error(err, d)
	}
}

func TestOptions(t *testing.T) {
	order := []metadata.Source{metadata.FromIPTC, metadata.FromXMP, metadata.FromTable, metadata.FromSidecar, metadata.FromStorage, metadata.FromEXIF}
	m := mustMap(t, `rules: [{description: '${ caption }${ latitude }${ field("exif.GPSInfo") }'}]`, Options{Precedence: order, DropGPS: true})
	o := harbour()
	o.Found[metadata.FromEXIF]["exif.GPSInfo"] = []string{"x"}
	said, _, err := m.Describe(o)
	if err != nil || said.Description != "The old harbour" || said.Attributes["latitude"]+said.Attributes["longitude"] != "" {
		t.Errorf("%+v, %v", said, err)
	}
	if unmapped, err := m.Unmapped(o); err != nil || strings.Contains(strings.Join(unmapped, " "), "GPS") {
		t.Errorf("unmapped: %v, %v", unmapped, err)
	}
}

// TestPositionsAreDropped verifies that DropGPS removes GPS coordinates from every field that can
// contain them, since they are personal data.
func TestPositionsAreDropped(t *testing.T) {
	m := New(nil, Options{DropGPS: true})
	for _, name := range []string{"latitude", "longitude", "GPS", "GPS Position", "geoData.latitude", "geoData.lng", "xmp.exif:GPSAltitude",
		"xmp.Iptc4xmpExt:LocationCreated/exif:GPSLatitude", "xmp.drone-dji:GpsLatitude", "attributes.longitude"} {
		o := Object{Key: "a.jpg", Found: metadata.Found{metadata.FromSidecar: {name: {"59.9"}, "altitude of the flat": {"3"}}}}
		said, _, err := m.Describe(o)
		if diff := cmp.Diff(map[string]string{"altitude of the flat": "3"}, said.Attributes); err != nil || diff != "" {
			t.Errorf("%s: %v: %s", name, err, diff)
		}
	}
}

// TestColumns verifies that expressions and the default mapping use the new name of a column.
func TestColumns(t *testing.T) {
	m := mustMap(t, "columns: {Keywords: tags, Rights holder: Owner, Text: caption}\nrules: [{description: '${ caption }', split_tags: ','}]", Options{})
	o := Object{Key: "a.jpg", Found: metadata.Found{
		metadata.FromTable: fields("Keywords", "a, b", "Rights holder", "Ida", "Text", "said"),
		metadata.FromXMP:   fields("Keywords", "not of ours", "caption", "xmp"),
	}}
	said, _, err := m.Describe(o)
	want := metadata.Metadata{Description: "said", Tags: []string{"a", "b"}, Attributes: map[string]string{"Owner": "Ida", "caption": "said"}}
	if d := cmp.Diff(want, said); d != "" || err != nil {
		t.Error(err, d)
	}
	if m.Word("Keywords") != "tags" || m.Word("Other") != "Other" {
		t.Error("columns go by other names")
	}
}

func TestConflicts(t *testing.T) {
	o := harbour()
	o.Found[metadata.FromXMP]["tags"] = []string{"Ships", "harbour"} // the same tags in another order
	want := []Conflict{
		{"caption", []Said{{metadata.FromXMP, "The old harbour before it burnt down"}, {metadata.FromIPTC, "The old harbour"}}},
		{"tags", []Said{{metadata.FromSidecar, "Ships; harbour"}, {metadata.FromXMP, "Ships; harbour"}, {metadata.FromIPTC, "sea"}}},
	}
	if d := cmp.Diff(want, (*Mapping)(nil).Conflicts(o)); d != "" {
		t.Error(d)
	}
}

func TestRefers(t *testing.T) {
	m := mustMap(t, `
columns: {Copyright notice: copyright}
rules:
  - when: field("exif.Make") == "Canon"
    attributes: {c: '${ copyright }'}
  - when: ext == "jpg"
    folder: x
`, Options{})
	for name, want := range map[string]bool{
		"exif.Make": true, "exif.Model": false, "xmp.photoshop:Urgency": false, "title": true, "tags": true, "old_url": true, "department": true,
		"copyright": true, "Copyright notice": true, "category": false,
	} {
		if m.Keeps(name) != want {
			t.Errorf("keeps %s: %v", name, !want)
		}
	}
	if bare := mustMap(t, "defaults: off\nrules: [{tags: '${ title }', category: '${ field(\"category\") }'}]", Options{}); bare.Keeps("description") || !bare.Keeps("title") || !bare.Keeps("category") {
		t.Error("only what rules look at is to be kept")
	}
	if m.PlaceNeedsMetadata() {
		t.Error("places need no metadata here")
	}
	for _, rules := range []string{`[{when: 'has("x")', skip: true}]`, `[{folder: '${ title }'}]`, `[{private: '${ "a" in tags }'}]`} {
		if !mustMap(t, "rules: "+rules, Options{}).PlaceNeedsMetadata() {
			t.Errorf("places need metadata: %s", rules)
		}
	}
}

// TestEvaluationError verifies that an expression which fails for an object is reported with its
// place, and that other objects are not affected.
func TestEvaluationError(t *testing.T) {
	m := mustMap(t, "rules:\n  - description: year ${ int(field(\"year\")) }", Options{})
	_, _, err := m.Describe(harbour())
	if err == nil || !strings.HasPrefix(err.Error(), "assetferry.yaml:3:") || !strings.Contains(err.Error(), "invalid operation: int()") {
		t.Error(err)
	}
	o := harbour()
	o.Found = o.Found.With(metadata.FromTable, fields("year", "1999"))
	if said, _, err := m.Describe(o); err != nil || said.Description != "year 1999" {
		t.Error(said, err)
	}
}

func TestChecksums(t *testing.T) {
	seen := map[string]string{}
	for _, rules := range []string{
		`[{description: a}]`, `[{description: b}]`, `[{description: ~}]`, `[{when: size > 1, description: a}]`, `[{tags: a}]`,
		`[{add_tags: a}]`, `[{drop_tags: a}]`, `[{rename_tags: {a: b}}]`, `[{split_tags: a}]`, `[{attributes: {description: a}}]`,
		`[{description: a, folder: f}]`, // the folder is a placement, not metadata
	} {
		m := mustMap(t, "rules: "+rules, Options{})
		if before, same := seen[m.Checksum()]; same != strings.Contains(rules, "folder") {
			t.Errorf("%s and %s have checksum %s", before, rules, m.Checksum())
		}
		seen[m.Checksum()] = rules
	}
	for _, rules := range []string{`[{folder: a}]`, `[{folder: b}]`, `[{skip: true}]`, `[{skip: false}]`, `[{when: size > 1, folder: a}]`, `[{private: true}]`} {
		m := mustMap(t, "rules: "+rules, Options{})
		if _, same := seen[m.PlaceChecksum()]; same || m.Checksum() != "" {
			t.Errorf("%s: digests %q and %q", rules, m.PlaceChecksum(), m.Checksum())
		}
		seen[m.PlaceChecksum()] = rules
	}
	plain := New(nil, Options{Precedence: metadata.Precedence(), OnLimit: Cut})
	dropping := New(nil, Options{DropGPS: true})
	if plain.Checksum() != "" || dropping.Checksum() == "" {
		t.Errorf("digests of options: %q and %q", plain.Checksum(), dropping.Checksum())
	}
}

// TestAttributeThatIsCalledLikeAWord verifies that a custom attribute with a reserved name keeps
// its name.
func TestAttributeThatIsCalledLikeAWord(t *testing.T) {
	object := Object{Key: "a.jpg", Found: metadata.Found{metadata.FromStorage: {"attributes.category": {"mine"}, "attributes.tags": {"x"}, "category": {"Images"}, "tags": {"y"}}}}
	said, _, err := mustMap(t, "rules: []", Options{}).Describe(object)
	if diff := cmp.Diff(map[string]string{"category": "mine", "tags": "x"}, said.Attributes); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

// TestSeveralAsk verifies that several goroutines may use one mapping for different objects.
func TestSeveralAsk(t *testing.T) {
	m := mustMap(t, "rules: [{folder: '${ field(\"n\") }', description: '${ field(\"n\") }', when: 'size >= 0'}]", Options{})
	var g sync.WaitGroup
	for n := range 8 {
		g.Go(func() {
			text := strings.Repeat("x", n+1)
			o := Object{Key: "a.jpg", Found: metadata.Found{metadata.FromTable: fields("n", text)}}
			for range 100 {
				said, _, err := m.Describe(o)
				place, _, notPlaced := m.Place(o, Place{Name: "a.jpg"})
				if err != nil || notPlaced != nil || said.Description != text || place.Folder != text {
					t.Errorf("%q, %q, %v, %v, want %q", said.Description, place.Folder, err, notPlaced, text)
					return
				}
			}
		})
	}
	g.Wait()
}
