package mapping

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata"
	"assetferry/internal/strictyaml"
)

// parse parses the value of mapping: in a file.
func parse(text string) (*Rules, error) {
	f, err := strictyaml.Parse("assetferry.yaml", []byte("mapping:\n"+indented(text)))
	if err != nil {
		return nil, err
	}
	entries, err := f.Entries(f.Root)
	if err != nil {
		return nil, err
	}
	return Parse(f, entries[0].Value)
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

// mustMap returns a mapping of valid rules.
func mustMap(t testing.TB, text string, o Options) *Mapping {
	t.Helper()
	r, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return New(r, o)
}

func fields(pairs ...string) metadata.Fields {
	f := metadata.Fields{}
	for i := 0; i < len(pairs); i += 2 {
		f[pairs[i]] = append(f[pairs[i]], pairs[i+1])
	}
	return f.Normal()
}

// harbour returns an object with metadata from every source.
func harbour() Object {
	return Object{
		Key: "archive/2019/Old Harbour.JPG", Size: 2_500_000, ContentType: "image/jpeg",
		Time: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
		Found: metadata.Found{
			metadata.FromTable:   fields("alt", "Ships at a quay", "Rights holder", "Ida Berg"),
			metadata.FromSidecar: fields("tags", "harbour", "tags", "Ships", "category", "Pictures"),
			metadata.FromStorage: fields("department", "press"),
			metadata.FromXMP:     fields("title", "Harbour", "caption", "The old harbour before it burnt down"),
			metadata.FromIPTC:    fields("caption", "The old harbour", "tags", "sea", "iptc.By-lineTitle", "Staff"),
			metadata.FromEXIF:    fields("created", "2019-08-07T10:11:12+02:00", "latitude", "59.9", "longitude", "10.7", "exif.Make", "Canon"),
		},
	}
}

func TestDefaultMapping(t *testing.T) {
	for name, m := range map[string]*Mapping{"nil": nil, "zero": new(Mapping), "no rules": New(nil, Options{})} {
		said, notes, err := m.Describe(harbour())
		if err != nil || len(notes) > 0 {
			t.Fatal(name, notes, err)
		}
		want := metadata.Metadata{
			Description: "Ships at a quay",
			Tags:        []string{"Ships", "harbour"},
			Attributes: map[string]string{
				"Rights holder": "Ida Berg", "department": "press", "title": "Harbour",
				"caption": "The old harbour before it burnt down",
				"created": "2019-08-07T10:11:12+02:00", "latitude": "59.9", "longitude": "10.7",
			},
		}
		if d := cmp.Diff(want, said); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
		unmapped, err := m.Unmapped(harbour())
		if d := cmp.Diff([]string{"category", "iptc.By-lineTitle"}, unmapped); d != "" || err != nil {
			t.Errorf("%s: unmapped: %v\n%s", name, err, d)
		}
		if m.Checksum() != "" || m.PlaceChecksum() != "" || m.PlaceNeedsMetadata() || m.Keeps("exif.Make") {
			t.Errorf("%s is something else than the default mapping", name)
		}
		there := Place{Category: "c", Folder: "f", Name: "n.jpg"}
		if place, _, err := m.Place(harbour(), there); err != nil || place != there {
			t.Errorf("%s: placed at %v, %v", name, place, err)
		}
	}
}
