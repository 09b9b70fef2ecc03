package migrate

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assetferry/sources"
)

func TestSplitName(t *testing.T) {
	for name, want := range map[string][2]string{
		"photo.v2.jpg": {"photo.v2", "jpg"}, "a": {"a", ""}, ".hidden": {".hidden", ""}, ".a.b": {".a", "b"}, "a.": {"a", ""}, "": {"", ""},
		"ä.ö": {"ä", "ö"},
	} {
		if base, extension := SplitName(name); base != want[0] || extension != want[1] {
			t.Errorf("splitName(%q) = %q, %q", name, base, extension)
		}
	}
}

func TestRename(t *testing.T) {
	for _, tc := range []struct{ name, key, want string }{
		{"a.jpg", "dir/a.jpg", "a~a8db37.jpg"},
		{"none", "none", "none~140bed"},
	} {
		got := DistinctName(tc.name, sources.Key(tc.key))
		if got != tc.want {
			t.Errorf("rename(%q, %q) = %q, want %q: names must not change between versions", tc.name, tc.key, got, tc.want)
		}
	}
	long := strings.Repeat("ä", MaxName)
	base, extension := SplitName(DistinctName(string(sources.Key(long+".jpg")), "k"))
	if n := utf8.RuneCountInString(base); n != MaxName || extension != "jpg" {
		t.Errorf("got %d characters and %q", n, extension)
	}
}

func TestSlot(t *testing.T) {
	same := [][2]Place{
		{{"c", "f", "A.JPG"}, {"c", "f", "a.jpg"}},
		{{"c", "f", "e\u0301.jpg"}, {"c", "f", "\u00e9.jpg"}},
		{{"c", "f", "STRASSE"}, {"c", "f", "straße"}},
		{{"c", "f", "É.jpg"}, {"c", "f", "e\u0301.jpg"}},
	}
	for _, p := range same {
		if p[0].Slot() != p[1].Slot() {
			t.Errorf("%+v and %+v are told apart", p[0], p[1])
		}
	}
	other := []Place{{"c", "f", "a.jpg"}, {"c", "f", "a.jpeg"}, {"c", "F", "a.jpg"}, {"d", "f", "a.jpg"}, {"c", "", "fa.jpg"}, {"cf", "", "a.jpg"}, {"", "cf", "a.jpg"}}
	seen := map[int64]Place{}
	for _, p := range other {
		if q, ok := seen[p.Slot()]; ok {
			t.Errorf("%+v and %+v fall together", p, q)
		}
		seen[p.Slot()] = p
	}
}
