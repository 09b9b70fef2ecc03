package tabular

import (
	"slices"
	"strings"
	"testing"
)

// TestTableWithoutHeader reads tables of a use that allows a row in the first line.
func TestTableWithoutHeader(t *testing.T) {
	use := Use{Kind: "map", Columns: []string{"old", "new"}, AnyName: true,
		IsRow: func(cells []string) bool {
			return len(cells) > 1 && strings.HasPrefix(cells[0], "/") && strings.HasPrefix(cells[1], "/")
		}}
	for text, want := range map[string][]string{
		"/a\t/b\n/c\t/d\n":       {"/a|/b", "/c|/d"},
		"\ufeff/a\t/b\r\n/c\t/d": {"/a|/b", "/c|/d"},
		"/a,1;x.jpg\t/b\n":       {"/a,1;x.jpg|/b"},
		"/a;/b\n/c;/d\n":         {"/a|/b", "/c|/d"},
		"\n\"/a,1\",/b\n":        {"/a,1|/b"},
		"/a,/b,more\n/c,/d,\n":   {"/a|/b|more", "/c|/d|"},
		"old;new\n/a;/b\n":       {"/a|/b"},
		"new\told\n/b\t/a\n":     {"/b|/a"},
	} {
		f, err := New("map", use, strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		wrong := f.Mistakes()
		err = f.Each(wrong, func(_ int64, r Row) error { got = append(got, strings.Join(r.Cells, "|")); return nil })
		if err != nil || wrong.Verdict() != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, %v; want %q", text, got, err, wrong.Verdict(), want)
		}
		if names := f.Columns(); !slices.Contains(names, "old") || !slices.Contains(names, "new") {
			t.Errorf("%q: the columns are %q", text, names)
		}
	}
}
