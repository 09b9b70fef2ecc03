package oldurl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGivenSizes verifies that the given URL of a size leads to an image in that width, if the same
// object also has the URL of the whole file.
func TestGivenSizes(t *testing.T) {
	s := shelf{"2024/quay.jpg": {kind: Current}, "港.jpg": {kind: Current}, "poster.jpg": {kind: Current}, "film.gif": {kind: Current}, "doc.pdf": {kind: Current}}
	for owner, names := range map[string]string{
		"2024/quay.jpg": "quay.jpg quay-scaled.jpg quay-300x200.jpg quay-1x1.jpg quay-99999x9.jpg quay-300x200.webp quay-300.jpg quay-300x200.jpg?ver=2 other-300x200.jpg poster-300x200.jpg",
		"港.jpg":         "%E6%B8%AF.jpg %E6%B8%AF-150x150.jpg",
		"poster.jpg":    "poster-60x90.jpg poster-60x90-300x450.jpg poster.jpg",
		"film.gif":      "film.gif film-300x200.gif",
		"doc.pdf":       "doc.pdf doc-300x200.pdf",
	} {
		for name := range strings.FieldsSeq(names) {
			s[Comparable("https://blog.example/uploads/"+name)] = shelf{"": {Given, owner}}[""]
		}
	}
	f := finderOf(t, s)
	for name, want := range map[string]Found{
		"quay.jpg":                     {New: "file"},
		"quay-scaled.jpg":              {New: "images/1000.webp", Width: 2560},
		"quay-300x200.jpg":             {New: "images/500.webp", Width: 300},
		"quay-300x200.jpg#x":           {New: "images/500.webp#x", Width: 300},
		"quay-300x200.jpg?ver=3":       {New: "images/500.webp", Width: 300},
		"quay-300x200.jpg?ver=2":       {New: "file"}, // itself a given URL
		"quay-300x200.webp":            {New: "images/500.webp", Width: 300},
		"quay-1x1.jpg":                 {New: "images/100.webp", Width: 1},
		"quay-99999x9.jpg":             {New: "images/1000.webp", Width: 99999},
		"quay-300.jpg":                 {New: "file"},
		"other-300x200.jpg":            {New: "file"},
		"poster-300x200.jpg":           {New: "file"}, // its whole file is another object
		"港-150x150.jpg":                {New: "images/500.webp", Width: 150},
		"%E6%B8%AF-150x150.jpg":        {New: "images/500.webp", Width: 150},
		"poster-60x90-300x450.jpg":     {New: "images/500.webp", Width: 300},
		"film-300x200.gif":             {New: "file"},
		"doc-300x200.pdf":              {New: "file"},
		"//blog.example/uploads/a.jpg": {},
	} {
		url := "https://blog.example/uploads/" + name
		found, err := f.Find(t.Context(), url)
		if want.New == "" {
			if err == nil {
				t.Errorf("%s leads to %s", name, found.New)
			}
			continue
		}
		must(t, err)
		if got := strings.TrimPrefix(found.New, "https://new/assets/"+found.Key+"/"); got != want.New || found.Width != want.Width || found.Kind != Given {
			t.Errorf("%s leads to %s, width %d, want %s, width %d", name, found.New, found.Width, want.New, want.Width)
		}
		if strings.Contains(name, "#") || strings.Contains(name, "?ver=3") {
			continue
		}
		o, err := s.ByURL(t.Context(), Comparable(url))
		must(t, err)
		var all []Old
		for old, err := range f.List(t.Context(), url, o) {
			must(t, err)
			all = append(all, old)
		}
		if diff := cmp.Diff([]Old{{URL: url, New: found.New, Kind: Given, Width: found.Width}}, all); diff != "" {
			t.Errorf("%s is listed otherwise than found (-found +listed):\n%s", name, diff)
		}
	}
}
