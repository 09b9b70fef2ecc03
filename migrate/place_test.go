package migrate

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/sources"
)

func newTestPlacer(r Rules, choices map[string]string, there ...assets.Category) *placer {
	return &placer{rules: r, there: there, choices: choices, found: map[string]string{}, chosen: map[string]string{}}
}

func category(id, name string, extensions ...string) assets.Category {
	return assets.Category{ID: id, Name: name, Extensions: extensions}
}

func TestSplitName(t *testing.T) {
	for name, want := range map[string][2]string{
		"photo.v2.jpg": {"photo.v2", "jpg"}, "a": {"a", ""}, ".hidden": {".hidden", ""}, ".a.b": {".a", "b"}, "a.": {"a", ""}, "": {"", ""},
		"ä.ö": {"ä", "ö"},
	} {
		if base, extension := splitName(name); base != want[0] || extension != want[1] {
			t.Errorf("splitName(%q) = %q, %q", name, base, extension)
		}
	}
}

func TestPlaceByExtension(t *testing.T) {
	there := []assets.Category{category("1", "Images", "jpg", "PNG"), category("2", "All", "jpg", "pdf")}
	for _, tc := range []struct {
		key  string
		want Place
		why  Reason
	}{
		{"a.jpg", Place{"1", "", "a.jpg"}, ""},
		{"dir/sub/a.JPG", Place{"1", "dir/sub", "a.JPG"}, ""},
		{"a.png", Place{"1", "", "a.png"}, ""},
		{"x/a.pdf", Place{"2", "x", "a.pdf"}, ""},
		{"e\u0301/e\u0301.jpg", Place{"1", "\u00e9", "\u00e9.jpg"}, ""},
		{"a.odd", Place{"", "", "a.odd"}, ReasonUnmatched},
		{"none", Place{"", "", "none"}, ReasonUnmatched},
		{".jpg", Place{"", "", ".jpg"}, ReasonUnmatched},
		{"a//b.jpg", Place{}, ReasonKey},
		{"a/../b.jpg", Place{}, ReasonKey},
		{"a\x00.jpg", Place{}, ReasonKey},
		{"a\xff.jpg", Place{}, ReasonKey},
		{strings.Repeat("ä", 256) + ".jpg", Place{"1", "", strings.Repeat("ä", 256) + ".jpg"}, ""},
		{strings.Repeat("ä", 257) + ".jpg", Place{"1", "", strings.Repeat("ä", 257) + ".jpg"}, ReasonNameLong},
		{strings.Repeat("d", 257) + "/a.jpg", Place{"1", strings.Repeat("d", 257), "a.jpg"}, ReasonNameLong},
		{strings.Repeat("d", 256) + "/a.jpg", Place{"1", strings.Repeat("d", 256), "a.jpg"}, ""},
	} {
		got, why := newTestPlacer(DefaultRules(), nil, there...).place(sources.Object{Key: sources.Key(tc.key)}, nil)
		if got.Place != tc.want || why != tc.why {
			t.Errorf("place(%.40q) = %+v, %q; want %+v, %q", tc.key, got, why, tc.want, tc.why)
		}
	}
}

func TestChoiceIsStable(t *testing.T) {
	first := newTestPlacer(DefaultRules(), nil, category("1", "Images", "jpg"))
	place, _ := first.place(sources.Object{Key: "a.jpg"}, nil)
	if len(first.chosen) > 0 {
		t.Error("a place alone is no choice")
	}
	first.use(place)
	if diff := cmp.Diff(map[string]string{"jpg": "1"}, first.chosen); diff != "" {
		t.Fatalf("chosen:\n%s", diff)
	}
	for _, tc := range []struct {
		name  string
		there []assets.Category
		want  string
	}{
		{"a new one comes first", []assets.Category{category("2", "New", "jpg"), category("1", "Images", "jpg")}, "1"},
		{"it does not allow it any more", []assets.Category{category("2", "New", "jpg"), category("1", "Images", "png")}, "2"},
		{"it is gone", []assets.Category{category("2", "New", "jpg")}, "2"},
	} {
		p := newTestPlacer(DefaultRules(), first.chosen, tc.there...)
		if got, _ := p.place(sources.Object{Key: "b.JPG"}, nil); got.Category != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got.Category, tc.want)
		}
	}
}

// Once a category was made for an extension, another that came to allow it, as one that is
// made for a folder does, draws nothing away from it.
func TestChoiceOfNewCategoryIsStable(t *testing.T) {
	r := Rules{CategoryBy: "folder", Unmatched: "create"}
	first := newTestPlacer(r, nil)
	for _, key := range []sources.Key{"a/a.odd", "b.odd"} {
		place, _ := first.place(sources.Object{Key: key}, nil)
		first.use(place)
	}
	if diff := cmp.Diff(map[string]string{"odd": "new:Other files"}, first.chosen); diff != "" {
		t.Fatalf("chosen:\n%s", diff)
	}
	for want, there := range map[string][]assets.Category{
		"2":               {category("1", "a", "odd"), category("2", "Other files", "odd")},
		"1":               {category("1", "a", "odd")},
		"new:Other files": nil,
	} {
		p := newTestPlacer(r, first.chosen, there...)
		if got, _ := p.place(sources.Object{Key: "c.odd"}, nil); got.Category != want {
			t.Errorf("with %v there: got %s, want %s", there, got.Category, want)
		}
	}
}

func TestPlaceByFolderAndName(t *testing.T) {
	there := []assets.Category{category("1", "Images", "jpg"), category("2", "Images", "png"), category("3", "\u00e9", "jpg")}
	byFolder, named := DefaultRules(), DefaultRules()
	byFolder.CategoryBy, named.Category = "folder", "Images"
	creating := byFolder
	creating.Unmatched = "create"
	for _, tc := range []struct {
		r    Rules
		key  string
		want Place
		why  Reason
	}{
		{byFolder, "Images/sub/a.jpg", Place{"1", "sub", "a.jpg"}, ""},
		{byFolder, "Images/a.png", Place{"2", "", "a.png"}, ""}, // the one of that name that allows it
		{byFolder, "e\u0301/a.jpg", Place{"3", "", "a.jpg"}, ""},
		{byFolder, "images/a.jpg", Place{"new:images", "", "a.jpg"}, ""},
		{byFolder, "New/x/a.odd", Place{"new:New", "x", "a.odd"}, ""},
		{byFolder, "top.jpg", Place{"1", "", "top.jpg"}, ""},
		{byFolder, "Images/a.odd", Place{"", "Images", "a.odd"}, ReasonUnmatched},
		{byFolder, "New/none", Place{"", "New", "none"}, ReasonUnmatched},
		{byFolder, strings.Repeat("n", 257) + "/a.jpg", Place{"new:" + strings.Repeat("n", 257), "", "a.jpg"}, ReasonNameLong},
		{creating, "Images/x/a.odd", Place{"new:Other files", "x", "a.odd"}, ""},
		{creating, "Images/a.not fit", Place{"", "Images", "a.not fit"}, ReasonNoCategory},
		{named, "dir/a.jpg", Place{"1", "dir", "a.jpg"}, ""},
		{named, "dir/a.odd", Place{"", "dir", "a.odd"}, ReasonUnmatched},
	} {
		got, why := newTestPlacer(tc.r, nil, there...).place(sources.Object{Key: sources.Key(tc.key)}, nil)
		if got.Place != tc.want || why != tc.why {
			t.Errorf("place(%.40q) = %+v, %q; want %+v, %q", tc.key, got, why, tc.want, tc.why)
		}
	}
}

// The fallback category takes all that no category allows, and makes names of those that
// have no extension which a category can hold. It is made, and never changed.
func TestPlaceInFallbackCategory(t *testing.T) {
	there := []assets.Category{category("1", "Images", "jpg"), category("2", "Files", "zip", "bin"), category("3", "Rest", "abc")}
	in := func(name string) Rules {
		r := DefaultRules()
		r.Unmatched, r.FallbackCategory = "create", name
		return r
	}
	byFolder, named := in("New"), in("Files")
	byFolder.CategoryBy, named.Category = "folder", "Images"
	for _, tc := range []struct {
		r    Rules
		key  string
		want Place
		why  Reason
	}{
		{in("New"), "a/README", Place{"new:New", "a", "README.bin"}, ""},
		{in("New"), "a/.jpg", Place{"new:New", "a", ".jpg.bin"}, ""},
		{in("New"), "a/b.toolongforit", Place{"new:New", "a", "b.toolongforit.bin"}, ""},
		{in("New"), "a/b.not fit", Place{"new:New", "a", "b.not fit.bin"}, ""},
		{in("New"), "a/b.odd", Place{"new:New", "a", "b.odd"}, ""},
		{in("New"), "a/b.jpg", Place{"1", "a", "b.jpg"}, ""},
		{in("New"), "a/b.bin", Place{"2", "a", "b.bin"}, ""},
		{in("Files"), "README", Place{"2", "", "README.bin"}, ""},
		{in("Rest"), "README", Place{"new:Rest 2", "", "README.bin"}, ""},
		{byFolder, "Images/x/README", Place{"new:New", "Images/x", "README.bin"}, ""},
		{named, "x/README", Place{"2", "x", "README.bin"}, ""},
		{in("New"), strings.Repeat("n", 256), Place{"new:New", "", strings.Repeat("n", 256) + ".bin"}, ""},
		{in("New"), strings.Repeat("n", 257), Place{"new:New", "", strings.Repeat("n", 257) + ".bin"}, ReasonNameLong},
	} {
		got, why := newTestPlacer(tc.r, nil, there...).place(sources.Object{Key: sources.Key(tc.key)}, nil)
		if got.Place != tc.want || why != tc.why || got.extended != (why == "" && got.Name != tc.key[strings.LastIndex(tc.key, "/")+1:]) {
			t.Errorf("place(%.40q) = %+v, %q; want %+v, %q", tc.key, got, why, tc.want, tc.why)
		}
	}
}

func TestOtherFilesOverflow(t *testing.T) {
	r := DefaultRules()
	r.Unmatched = "create"
	p := newTestPlacer(r, nil)
	for n := range 250 {
		place, why := p.place(sources.Object{Key: sources.Key(fmt.Sprintf("a.e%d", n))}, nil)
		if why != "" {
			t.Fatal(why)
		}
		p.use(place)
		p.use(place) // another object with it
	}
	var sizes []string
	for _, c := range p.wanted {
		sizes = append(sizes, fmt.Sprintf("%s: %d", c.Name, len(c.Extensions)))
	}
	if diff := cmp.Diff([]string{"Other files: 100", "Other files 2: 100", "Other files 3: 50"}, sizes); diff != "" {
		t.Error(diff)
	}
}

func TestTooLarge(t *testing.T) {
	p := newTestPlacer(DefaultRules(), nil, category("1", "Images", "jpg"))
	p.maxSize = 10
	for size, want := range map[int64]Reason{0: "", 10: "", 11: ReasonTooLarge} {
		if _, why := p.place(sources.Object{Key: "a.jpg", Size: size}, nil); why != want {
			t.Errorf("%d bytes: got %q, want %q", size, why, want)
		}
	}
}

func TestRename(t *testing.T) {
	for _, tc := range []struct{ name, key, want string }{
		{"a.jpg", "dir/a.jpg", "a~a8db37.jpg"},
		{"none", "none", "none~140bed"},
	} {
		got := rename(tc.name, sources.Key(tc.key))
		if got != tc.want {
			t.Errorf("rename(%q, %q) = %q, want %q: names must not change between versions", tc.name, tc.key, got, tc.want)
		}
	}
	long := strings.Repeat("ä", maxName)
	base, extension := splitName(rename(string(sources.Key(long+".jpg")), "k"))
	if n := utf8.RuneCountInString(base); n != maxName || extension != "jpg" {
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
		if p[0].slot() != p[1].slot() {
			t.Errorf("%+v and %+v are told apart", p[0], p[1])
		}
	}
	other := []Place{{"c", "f", "a.jpg"}, {"c", "f", "a.jpeg"}, {"c", "F", "a.jpg"}, {"d", "f", "a.jpg"}, {"c", "", "fa.jpg"}, {"cf", "", "a.jpg"}, {"", "cf", "a.jpg"}}
	seen := map[int64]Place{}
	for _, p := range other {
		if q, ok := seen[p.slot()]; ok {
			t.Errorf("%+v and %+v fall together", p, q)
		}
		seen[p.slot()] = p
	}
}

func FuzzPlace(f *testing.F) {
	f.Add("a/b.jpg", "folder", "create")
	f.Add("e\u0301/x.verylongextension", "extension", "stop")
	f.Fuzz(func(t *testing.T, key, by, unmatched string) {
		p := newTestPlacer(Rules{CategoryBy: by, Unmatched: unmatched}, nil, category("1", "Images", "jpg"))
		place, why := p.place(sources.Object{Key: sources.Key(key)}, nil)
		if why != "" {
			return
		}
		p.use(place)
		if place.Category == "" || place.Name == "" || strings.Contains(place.Name, "/") {
			t.Errorf("place(%q) = %+v", key, place)
		}
		for _, c := range p.wanted {
			if c.Name == "" || len(c.Extensions) != 1 || !ValidExtension(c.Extensions[0]) {
				t.Errorf("place(%q) wants %+v", key, c)
			}
		}
		again, _ := newTestPlacer(Rules{CategoryBy: by, Unmatched: unmatched}, nil, category("1", "Images", "jpg")).place(sources.Object{Key: sources.Key(key)}, nil)
		if again != place {
			t.Errorf("place(%q) is %+v or %+v", key, place, again)
		}
		if got := place.slot(); got != (Place{place.Category, place.Folder, normal(place.Name)}).slot() {
			t.Errorf("the place of %q is not in normal form", key)
		}
	})
}
