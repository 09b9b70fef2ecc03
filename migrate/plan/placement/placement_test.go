package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/sources"
)

func newTestPlacer(r migrate.Rules, choices map[string]string, there ...assets.Category) *Placer {
	return New(Options{Rules: r, There: there, Choices: choices})
}

func category(id, name string, extensions ...string) assets.Category {
	return assets.Category{ID: id, Name: name, Extensions: extensions}
}

func TestPlaceByExtension(t *testing.T) {
	there := []assets.Category{category("1", "Images", "jpg", "PNG"), category("2", "All", "jpg", "pdf")}
	for _, tc := range []struct {
		key  string
		want migrate.Place
		why  migrate.Reason
	}{
		{"a.jpg", migrate.Place{Category: "1", Folder: "", Name: "a.jpg"}, ""},
		{"dir/sub/a.JPG", migrate.Place{Category: "1", Folder: "dir/sub", Name: "a.JPG"}, ""},
		{"a.png", migrate.Place{Category: "1", Folder: "", Name: "a.png"}, ""},
		{"x/a.pdf", migrate.Place{Category: "2", Folder: "x", Name: "a.pdf"}, ""},
		{"e\u0301/e\u0301.jpg", migrate.Place{Category: "1", Folder: "\u00e9", Name: "\u00e9.jpg"}, ""},
		{"a.odd", migrate.Place{Category: "", Folder: "", Name: "a.odd"}, migrate.ReasonUnsupportedType},
		{"none", migrate.Place{Category: "", Folder: "", Name: "none"}, migrate.ReasonUnsupportedType},
		{".jpg", migrate.Place{Category: "", Folder: "", Name: ".jpg"}, migrate.ReasonUnsupportedType},
		{"a//b.jpg", migrate.Place{}, migrate.ReasonInvalidKey},
		{"a/../b.jpg", migrate.Place{}, migrate.ReasonInvalidKey},
		{"a\x00.jpg", migrate.Place{}, migrate.ReasonInvalidKey},
		{"a\xff.jpg", migrate.Place{}, migrate.ReasonInvalidKey},
		{strings.Repeat("ä", 256) + ".jpg", migrate.Place{Category: "1", Folder: "", Name: strings.Repeat("ä", 256) + ".jpg"}, ""},
		{strings.Repeat("ä", 257) + ".jpg", migrate.Place{Category: "1", Folder: "", Name: strings.Repeat("ä", 257) + ".jpg"}, migrate.ReasonNameTooLong},
		{strings.Repeat("d", 257) + "/a.jpg", migrate.Place{Category: "1", Folder: strings.Repeat("d", 257), Name: "a.jpg"}, migrate.ReasonNameTooLong},
		{strings.Repeat("d", 256) + "/a.jpg", migrate.Place{Category: "1", Folder: strings.Repeat("d", 256), Name: "a.jpg"}, ""},
	} {
		got, why := newTestPlacer(migrate.DefaultRules(), nil, there...).Place(sources.Object{Key: sources.Key(tc.key)}, nil)
		if got.Place != tc.want || why != tc.why {
			t.Errorf("place(%.40q) = %+v, %q; want %+v, %q", tc.key, got, why, tc.want, tc.why)
		}
	}
}

func TestChoiceIsStable(t *testing.T) {
	first := newTestPlacer(migrate.DefaultRules(), nil, category("1", "Images", "jpg"))
	place, _ := first.Place(sources.Object{Key: "a.jpg"}, nil)
	if len(first.chosen) > 0 {
		t.Error("a place alone is no choice")
	}
	first.Use(place)
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
		p := newTestPlacer(migrate.DefaultRules(), first.chosen, tc.there...)
		if got, _ := p.Place(sources.Object{Key: "b.JPG"}, nil); got.Category != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got.Category, tc.want)
		}
	}
}

// TestChoiceOfNewCategoryIsStable verifies that after a category was created for an extension,
// another one that allows the extension later, such as a category for a folder, does not replace
// it.
func TestChoiceOfNewCategoryIsStable(t *testing.T) {
	r := migrate.Rules{CategoryBy: "folder", Unsupported: "create"}
	first := newTestPlacer(r, nil)
	for _, key := range []sources.Key{"a/a.odd", "b.odd"} {
		place, _ := first.Place(sources.Object{Key: key}, nil)
		first.Use(place)
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
		if got, _ := p.Place(sources.Object{Key: "c.odd"}, nil); got.Category != want {
			t.Errorf("with %v there: got %s, want %s", there, got.Category, want)
		}
	}
}

func TestPlaceByFolderAndName(t *testing.T) {
	there := []assets.Category{category("1", "Images", "jpg"), category("2", "Images", "png"), category("3", "\u00e9", "jpg")}
	byFolder, named := migrate.DefaultRules(), migrate.DefaultRules()
	byFolder.CategoryBy, named.Category = "folder", "Images"
	creating := byFolder
	creating.Unsupported = "create"
	for _, tc := range []struct {
		r    migrate.Rules
		key  string
		want migrate.Place
		why  migrate.Reason
	}{
		{byFolder, "Images/sub/a.jpg", migrate.Place{Category: "1", Folder: "sub", Name: "a.jpg"}, ""},
		{byFolder, "Images/a.png", migrate.Place{Category: "2", Folder: "", Name: "a.png"}, ""}, // the one of that name that allows it
		{byFolder, "e\u0301/a.jpg", migrate.Place{Category: "3", Folder: "", Name: "a.jpg"}, ""},
		{byFolder, "images/a.jpg", migrate.Place{Category: "new:images", Folder: "", Name: "a.jpg"}, ""},
		{byFolder, "New/x/a.odd", migrate.Place{Category: "new:New", Folder: "x", Name: "a.odd"}, ""},
		{byFolder, "top.jpg", migrate.Place{Category: "1", Folder: "", Name: "top.jpg"}, ""},
		{byFolder, "Images/a.odd", migrate.Place{Category: "", Folder: "Images", Name: "a.odd"}, migrate.ReasonUnsupportedType},
		{byFolder, "New/none", migrate.Place{Category: "", Folder: "New", Name: "none"}, migrate.ReasonUnsupportedType},
		{byFolder, strings.Repeat("n", 257) + "/a.jpg", migrate.Place{Category: "new:" + strings.Repeat("n", 257), Folder: "", Name: "a.jpg"}, migrate.ReasonNameTooLong},
		{creating, "Images/x/a.odd", migrate.Place{Category: "new:Other files", Folder: "x", Name: "a.odd"}, ""},
		{creating, "Images/a.not fit", migrate.Place{Category: "", Folder: "Images", Name: "a.not fit"}, migrate.ReasonNoCategoryPossible},
		{named, "dir/a.jpg", migrate.Place{Category: "1", Folder: "dir", Name: "a.jpg"}, ""},
		{named, "dir/a.odd", migrate.Place{Category: "", Folder: "dir", Name: "a.odd"}, migrate.ReasonUnsupportedType},
	} {
		got, why := newTestPlacer(tc.r, nil, there...).Place(sources.Object{Key: sources.Key(tc.key)}, nil)
		if got.Place != tc.want || why != tc.why {
			t.Errorf("place(%.40q) = %+v, %q; want %+v, %q", tc.key, got, why, tc.want, tc.why)
		}
	}
}

// TestPlaceInFallbackCategory verifies that the fallback category accepts all files that no
// category allows, and gives an extension to names without a valid one. It is created, and never
// changed.
func TestPlaceInFallbackCategory(t *testing.T) {
	there := []assets.Category{category("1", "Images", "jpg"), category("2", "Files", "zip", "bin"), category("3", "Rest", "abc")}
	in := func(name string) migrate.Rules {
		r := migrate.DefaultRules()
		r.Unsupported, r.FallbackCategory = "create", name
		return r
	}
	byFolder, named := in("New"), in("Files")
	byFolder.CategoryBy, named.Category = "folder", "Images"
	for _, tc := range []struct {
		r    migrate.Rules
		key  string
		want migrate.Place
		why  migrate.Reason
	}{
		{in("New"), "a/README", migrate.Place{Category: "new:New", Folder: "a", Name: "README.bin"}, ""},
		{in("New"), "a/.jpg", migrate.Place{Category: "new:New", Folder: "a", Name: ".jpg.bin"}, ""},
		{in("New"), "a/b.toolongforit", migrate.Place{Category: "new:New", Folder: "a", Name: "b.toolongforit.bin"}, ""},
		{in("New"), "a/b.not fit", migrate.Place{Category: "new:New", Folder: "a", Name: "b.not fit.bin"}, ""},
		{in("New"), "a/b.odd", migrate.Place{Category: "new:New", Folder: "a", Name: "b.odd"}, ""},
		{in("New"), "a/b.jpg", migrate.Place{Category: "1", Folder: "a", Name: "b.jpg"}, ""},
		{in("New"), "a/b.bin", migrate.Place{Category: "2", Folder: "a", Name: "b.bin"}, ""},
		{in("Files"), "README", migrate.Place{Category: "2", Folder: "", Name: "README.bin"}, ""},
		{in("Rest"), "README", migrate.Place{Category: "new:Rest 2", Folder: "", Name: "README.bin"}, ""},
		{byFolder, "Images/x/README", migrate.Place{Category: "new:New", Folder: "Images/x", Name: "README.bin"}, ""},
		{named, "x/README", migrate.Place{Category: "2", Folder: "x", Name: "README.bin"}, ""},
		{in("New"), strings.Repeat("n", 256), migrate.Place{Category: "new:New", Folder: "", Name: strings.Repeat("n", 256) + ".bin"}, ""},
		{in("New"), strings.Repeat("n", 257), migrate.Place{Category: "new:New", Folder: "", Name: strings.Repeat("n", 257) + ".bin"}, migrate.ReasonNameTooLong},
	} {
		got, why := newTestPlacer(tc.r, nil, there...).Place(sources.Object{Key: sources.Key(tc.key)}, nil)
		if got.Place != tc.want || why != tc.why || got.Extended != (why == "" && got.Name != tc.key[strings.LastIndex(tc.key, "/")+1:]) {
			t.Errorf("place(%.40q) = %+v, %q; want %+v, %q", tc.key, got, why, tc.want, tc.why)
		}
	}
}

func TestOtherFilesOverflow(t *testing.T) {
	r := migrate.DefaultRules()
	r.Unsupported = "create"
	p := newTestPlacer(r, nil)
	for n := range 250 {
		place, why := p.Place(sources.Object{Key: sources.Key(fmt.Sprintf("a.e%d", n))}, nil)
		if why != "" {
			t.Fatal(why)
		}
		p.Use(place)
		p.Use(place) // another object with it
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
	p := newTestPlacer(migrate.DefaultRules(), nil, category("1", "Images", "jpg"))
	p.maxSize = 10
	for size, want := range map[int64]migrate.Reason{0: "", 10: "", 11: migrate.ReasonTooLarge} {
		if _, why := p.Place(sources.Object{Key: "a.jpg", Size: size}, nil); why != want {
			t.Errorf("%d bytes: got %q, want %q", size, why, want)
		}
	}
}

func FuzzPlace(f *testing.F) {
	f.Add("a/b.jpg", "folder", "create")
	f.Add("e\u0301/x.verylongextension", "extension", "stop")
	f.Fuzz(func(t *testing.T, key, by, unsupportedReason string) {
		p := newTestPlacer(migrate.Rules{CategoryBy: by, Unsupported: unsupportedReason}, nil, category("1", "Images", "jpg"))
		place, why := p.Place(sources.Object{Key: sources.Key(key)}, nil)
		if why != "" {
			return
		}
		p.Use(place)
		if place.Category == "" || place.Name == "" || strings.Contains(place.Name, "/") {
			t.Errorf("place(%q) = %+v", key, place)
		}
		for _, c := range p.wanted {
			if c.Name == "" || len(c.Extensions) != 1 || !migrate.ValidExtension(c.Extensions[0]) {
				t.Errorf("place(%q) wants %+v", key, c)
			}
		}
		again, _ := newTestPlacer(migrate.Rules{CategoryBy: by, Unsupported: unsupportedReason}, nil, category("1", "Images", "jpg")).Place(sources.Object{Key: sources.Key(key)}, nil)
		if again != place {
			t.Errorf("place(%q) is %+v or %+v", key, place, again)
		}
		if got := place.Slot(); got != (migrate.Place{Category: place.Category, Folder: place.Folder, Name: migrate.NormalName(place.Name)}).Slot() {
			t.Errorf("the place of %q is not in normal form", key)
		}
	})
}
