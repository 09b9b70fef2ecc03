package mapping

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"assetferry/internal/metadata"
	"assetferry/internal/strictyaml"
)

// FuzzTemplate verifies that any text is a valid template, or has an error at a place within it. A
// valid one returns the same text each time, or an error with a place.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"plain", "${ key }", "a ${ title } b ${ size }", "$${ key }", "${", "${ }", "${ \"}\" }", "${ date(created, \"YYYY\") }",
		"${ map(tags, upper(#)) }", "${ size / 0 }", "${ size % 0 }", "${ tags[9] }", "${ field('x')?.y }", "${ key matches '(' }", "${ [key, [tags]] }",
		"${ {a: 1} }", "${ 1..9 }", "${ let x = 1; x }", "${ key[1:2] }", "${ -1 ** 5 }", "${ #}", "${ if size > 1 { 2 } else { 3 } }", "${ key.x.y }", "${ fields() }", "${ \"é\" + x }",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if !utf8.ValidString(source) || len(source) > 1<<10 {
			return
		}
		file, err := strictyaml.Parse("f.yaml", []byte("a: b"))
		if err != nil {
			t.Fatal(err)
		}
		for _, gives := range []kind{aText, aList} {
			tmpl, wrong := newTemplate(place{file, file.Root}, source, gives)
			if wrong != nil {
				if wrong.at < 0 || wrong.at > characters(source) || wrong.what == "" || strings.Contains(wrong.what, "\n") {
					t.Fatalf("%q is wrong at %d: %q", source, wrong.at, wrong.what)
				}
				continue
			}
			m := New(&Rules{rules: []*rule{{tags: &listOutcome{[]*template{tmpl}}}}}, Options{})
			once, notOnce := tmpl.list(m.see(harbour()))
			again, notAgain := tmpl.list(m.see(harbour()))
			if strings.Join(once, "\x00") != strings.Join(again, "\x00") || (notOnce == nil) != (notAgain == nil) {
				t.Fatalf("%q is %q, and then %q", source, once, again)
			}
		}
	})
}

// anyFound generates any metadata that an object may have.
func anyFound() *rapid.Generator[metadata.Found] {
	name := rapid.OneOf(rapid.SampledFrom([]string{"description", "alt", "tags", "title", "caption", "latitude", "category", "Rights", "exif.Make", "attributes.title", "attributes.Rights", "attributes.assetferry", "assetferry"}), rapid.StringN(1, 4, 8))
	values := rapid.SliceOfN(rapid.String(), 1, 3)
	one := rapid.Custom(func(t *rapid.T) metadata.Fields {
		return metadata.Fields(rapid.MapOfN(name, values, 0, 5).Draw(t, "fields")).Normal()
	})
	return rapid.Custom(func(t *rapid.T) metadata.Found {
		found := metadata.Found{}
		for _, from := range metadata.Precedence() {
			found = found.With(from, one.Draw(t, string(from)))
		}
		return found
	})
}

// TestDescribeIsPureAndNormal verifies that the metadata from Describe is in normal form and the
// same each time, and that Describe does not change its input.
func TestDescribeIsPureAndNormal(t *testing.T) {
	m := mustMap(t, `
columns: {Rights: copyright}
rules:
  - when: has("alt")
    add_tags: ${ split(alt, " ") }
    attributes: {Text: '${ either(caption, alt) } ', caption: ~}
  - when: len(tags) > 1
    description: ${ join(tags, " ") }
    split_tags: a
`, Options{})
	rapid.Check(t, func(t *rapid.T) {
		o := Object{Key: rapid.String().Draw(t, "key"), Size: rapid.Int64().Draw(t, "size"), Found: anyFound().Draw(t, "found")}
		before := o.Found.Encode()
		for _, m := range []*Mapping{m, nil} {
			said, _, err := m.Describe(o)
			again, _, notAgain := m.Describe(o)
			if err != nil || notAgain != nil {
				t.Fatal(err, notAgain)
			}
			if said.Encode() != said.Normal().Encode() || said.Encode() != again.Encode() {
				t.Fatalf("%s, normal %s, again %s", said.Encode(), said.Normal().Encode(), again.Encode())
			}
			if characters(said.Description) > metadata.MaxDescription || said.Attributes[metadata.Provenance] != "" {
				t.Fatalf("%s", said.Encode())
			}
		}
		if o.Found.Encode() != before {
			t.Fatal("what was found has changed")
		}
	})
}
