package preflight

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// categories are those that items of tests go to.
func categories() map[string]state.Category {
	return map[string]state.Category{
		"i": {ID: "i", Name: "Images"}, "f": {ID: "f", Name: "Files"}, "p": {ID: "p", Name: "Papers", Private: true},
	}
}

// sent returns an item to upload to a category.
func sent(key, category string, size int64) state.Item {
	return state.Item{Object: sources.Object{Key: sources.Key(key), Size: size}, Action: state.Create, State: state.ItemPlanned, Reason: string(migrate.ReasonNew), Category: category}
}

// left returns an item that is not uploaded.
func left(key string, why migrate.Reason, size int64) state.Item {
	return state.Item{Object: sources.Object{Key: sources.Key(key), Size: size}, Action: state.Skip, State: state.ItemSkipped, Reason: string(why)}
}

// in returns options for a destination with the given categories.
func in(categories map[string]state.Category) Options {
	return Options{Category: func(id string) state.Category { return categories[id] }}
}

func collect(o Options, l Limits, items ...state.Item) []Finding {
	s := NewCollector(o)
	for i := range items {
		s.Add(&items[i])
	}
	return s.Findings(l)
}

func TestFindings(t *testing.T) {
	private := in(categories())
	for _, test := range []struct {
		name    string
		options Options
		limits  Limits
		items   []state.Item
		want    Finding // without title and remedy
		title   string  // a part of the title
	}{
		{name: "extensions that stop the plan", limits: Limits{Blocks: true},
			items: []state.Item{left("README", migrate.ReasonUnsupportedType, 7), left("a.XYZ", migrate.ReasonUnsupportedType, 2), left("b.d/c.xyz", migrate.ReasonUnsupportedType, 2)},
			want: Finding{ID: "unsupported_type", Severity: Stop, Objects: 3, Bytes: 11, Examples: []string{"README", "a.XYZ", "b.d/c.xyz"},
				Parts: []Part{{"xyz", 2, 4}, {"(none)", 1, 7}}}},
		{name: "extensions that are left out",
			items: []state.Item{left(".hidden", migrate.ReasonUnsupportedType, 7)},
			want:  Finding{ID: "unsupported_type", Severity: Loss, Objects: 1, Bytes: 7, Examples: []string{".hidden"}, Parts: []Part{{"(none)", 1, 7}}}},
		{name: "extensions that no category can be made for",
			items: []state.Item{left("a.muchtoolong", migrate.ReasonNoCategoryPossible, 7)},
			want: Finding{ID: "no_category_possible", Severity: Loss, Objects: 1, Bytes: 7, Examples: []string{"a.muchtoolong"},
				Parts: []Part{{"muchtoolong", 1, 7}}}},
		{name: "too large", limits: Limits{MaxFileSize: 5e9},
			items: []state.Item{left("a", migrate.ReasonTooLarge, 6e9)}, title: "larger than the service allows (5.0 GB)",
			want: Finding{ID: "too_large", Severity: Loss, Objects: 1, Bytes: 6e9, Examples: []string{"a"}}},
		{name: "names too long", items: []state.Item{left("a", migrate.ReasonNameTooLong, 1)},
			want: Finding{ID: "name_too_long", Severity: Loss, Objects: 1, Bytes: 1, Examples: []string{"a"}}},
		{name: "impossible keys", items: []state.Item{left("a//b", migrate.ReasonInvalidKey, 1)},
			want: Finding{ID: "invalid_key", Severity: Loss, Objects: 1, Bytes: 1, Examples: []string{"a//b"}}},
		{name: "another object has the same name", items: []state.Item{left("a", migrate.ReasonNameCollision, 1)},
			want: Finding{ID: "name_collision", Severity: Loss, Objects: 1, Bytes: 1, Examples: []string{"a"}}},
		{name: "another asset has the same name", items: []state.Item{left("a", migrate.ReasonNameExists, 1)},
			want: Finding{ID: "name_exists", Severity: Loss, Objects: 1, Bytes: 1, Examples: []string{"a"}}},
		{name: "sent beside another", options: private,
			items: []state.Item{{Object: sources.Object{Key: "a", Size: 1}, Action: state.Create, State: state.ItemPlanned, Reason: string(migrate.ReasonNameExistsCreated), Category: "p"}},
			want:  Finding{ID: "name_exists_created", Severity: Warning, Objects: 1, Bytes: 1, Examples: []string{"a"}}},
		{name: "taken over by size", items: []state.Item{{Object: sources.Object{Key: "a", Size: 1}, Action: state.Adopt, State: state.ItemPlanned, Reason: string(migrate.ReasonSameNameAndSize), Category: "f"}},
			want: Finding{ID: "same_name_and_size", Severity: Warning, Objects: 1, Bytes: 1, Examples: []string{"a"}}},
		{name: "renamed", options: private,
			items: []state.Item{{Object: sources.Object{Key: "a", Size: 1}, Action: state.Create, State: state.ItemPlanned, Reason: string(migrate.ReasonRenamed), Category: "p"}},
			want:  Finding{ID: "renamed", Severity: Note, Objects: 1, Bytes: 1, Examples: []string{"a"}}},
		{name: "unreadable", items: []state.Item{left("a", migrate.ReasonUnreadable, 0)},
			want: Finding{ID: "unreadable", Severity: Loss, Objects: 1, Examples: []string{"a"}}},
		{name: "unreadable folders",
			items: []state.Item{{Object: sources.Object{Key: "a/", Obstacle: sources.UnreadableDirectory}, Action: state.Skip, State: state.ItemFailed, Reason: string(migrate.ReasonUnreadable)}},
			want:  Finding{ID: "hidden_folders", Severity: Loss, Unit: "folder", Objects: 1, Examples: []string{"a/"}}},
		{name: "missing", items: []state.Item{left("a", migrate.ReasonMissingAtSource, 0)},
			want: Finding{ID: "missing_at_source", Severity: Loss, Objects: 1, Examples: []string{"a"}}},
		{name: "archived", items: []state.Item{left("a", migrate.ReasonArchived, 3)},
			want: Finding{ID: "archived", Severity: Loss, Objects: 1, Bytes: 3, Examples: []string{"a"}}},
		{name: "retries_exhausted", items: []state.Item{{Object: sources.Object{Key: "a", Size: 3}, Action: state.Create, State: state.ItemRetriesExhausted, Reason: string(migrate.ReasonRetriesExhausted), Category: "f"}},
			want: Finding{ID: "retries_exhausted", Severity: Loss, Objects: 1, Bytes: 3, Examples: []string{"a"}}},
		{name: "unconfirmed", items: []state.Item{{Object: sources.Object{Key: "a", Size: 3}, Action: state.Create, State: state.ItemRetriesExhausted, Reason: string(migrate.ReasonUnconfirmed), Category: "f"}},
			want: Finding{ID: "unconfirmed", Severity: Loss, Objects: 1, Bytes: 3, Examples: []string{"a"}}},
		{name: "empty", options: private, items: []state.Item{sent("a.txt", "p", 0)},
			want: Finding{ID: "empty", Severity: Warning, Objects: 1, Examples: []string{"a.txt"}}},
		{name: "drawings", options: private, items: []state.Item{sent("a.SVG", "p", 1), sent("b.svgz", "p", 1)},
			want: Finding{ID: "active_svg", Severity: Warning, Objects: 2, Bytes: 2, Examples: []string{"a.SVG", "b.svgz"}}},
		{name: "pages", options: private, items: []state.Item{sent("a.html", "p", 1), sent("b.xml", "p", 1)},
			want: Finding{ID: "active_pages", Severity: Warning, Objects: 2, Bytes: 2, Examples: []string{"a.html", "b.xml"}}},
		{name: "macros", options: private, items: []state.Item{sent("a.docm", "p", 1)},
			want: Finding{ID: "active_macros", Severity: Warning, Objects: 1, Bytes: 1, Examples: []string{"a.docm"}}},
		{name: "programs", options: private, items: []state.Item{sent("a.Exe", "p", 1)},
			want: Finding{ID: "active_programs", Severity: Warning, Objects: 1, Bytes: 1, Examples: []string{"a.Exe"}}},
		{name: "public", options: private,
			items: []state.Item{sent("a/1", "i", 4), sent("a/b/1", "i", 2), sent("b/1", "p", 9), sent("c/1", "new:Other files", 1), sent("d", "i", 3), sent("e", "i", 5)},
			title: "(Images, Other files)",
			want: Finding{ID: "public", Severity: Warning, Objects: 5, Bytes: 15, Examples: []string{"a/1", "a/b/1", "c/1", "d", "e"},
				Parts: []Part{{"(top level)", 2, 8}, {"a/", 2, 6}, {"c/", 1, 1}}}},
		{name: "folders that are split", options: in(map[string]state.Category{"p": {Name: "Papers", Private: true}, "q": {Name: "Prints", Private: true}}),
			items: []state.Item{sent("a/b/c/1", "p", 1), sent("a/b/x", "q", 1), sent("a/b/y", "q", 1), sent("a/b/z", "p", 1), sent("a/z", "p", 9), sent("b", "p", 2), sent("c", "q", 2)},
			want:  Finding{ID: "split_folders", Severity: Note, Unit: "folder", Objects: 2, Bytes: 7, Examples: []string{"a/b: 2 Prints, 1 Papers", "(top level): 1 Papers, 1 Prints"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.options.Category == nil {
				test.options = in(nil)
			}
			all := collect(test.options, test.limits, test.items...)
			if len(all) != 1 {
				t.Fatalf("got %d findings, want 1: %v", len(all), all)
			}
			got := all[0]
			if got.Title == "" || got.Remedy == "" || !strings.Contains(got.Title, test.title) {
				t.Errorf("title %q, remedy %q", got.Title, got.Remedy)
			}
			got.Title, got.Remedy = "", ""
			if test.want.Unit == "" {
				test.want.Unit = "object"
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNothingFound verifies that items which are not uploaded cause no findings about uploads.
func TestNothingFound(t *testing.T) {
	o := in(categories())
	for _, i := range []state.Item{
		sent("photo.jpg", "p", 1),
		left("page.html", migrate.ReasonSystemFile, 0),
		{Object: sources.Object{Key: "run.exe"}, Action: state.Create, State: state.ItemDone, Category: "f"},
		{Object: sources.Object{Key: "old.svg"}, Action: state.Adopt, State: state.ItemPlanned, Reason: string(migrate.ReasonIdenticalAsset), Category: "f"},
	} {
		if got := collect(o, Limits{}, i); len(got) != 0 {
			t.Errorf("%s: found %v", i.Key, got)
		}
	}
}

// TestHoldsFor verifies that a collector notices a category that became private, or public, after
// its items were added.
func TestHoldsFor(t *testing.T) {
	s := NewCollector(in(categories()))
	for _, i := range []state.Item{sent("a.jpg", "i", 1), sent("b.pdf", "p", 1)} {
		s.Add(&i)
	}
	later := categories()
	later["f"] = state.Category{ID: "f", Private: true} // no item goes there
	if !s.HoldsFor(later) {
		t.Error("a category without items counts")
	}
	later["i"] = state.Category{ID: "i", Private: true}
	if s.HoldsFor(later) {
		t.Error("a category became private, and the findings still hold")
	}
}

// TestMayHaveEqualTags verifies which items may have identical content.
func TestMayHaveEqualTags(t *testing.T) {
	tagged := func(key, tag string, size int64) state.Item {
		i := sent(key, "i", size)
		i.VersionTag = tag
		return i
	}
	one, other := strings.Repeat("0a", 16), strings.Repeat("0b", 16)
	for name, test := range map[string]struct {
		items []state.Item
		want  bool
	}{
		"equal":           {[]state.Item{tagged("a", one, 1), tagged("b", one, 1)}, true},
		"other tag":       {[]state.Item{tagged("a", one, 1), tagged("b", other, 1)}, false},
		"other size":      {[]state.Item{tagged("a", one, 1), tagged("b", one, 2)}, false},
		"empty":           {[]state.Item{tagged("a", one, 0), tagged("b", one, 0)}, false},
		"no checksum":     {[]state.Item{tagged("a", "v1", 1), tagged("b", "v1", 1)}, false},
		"one is not sent": {[]state.Item{tagged("a", one, 1), left("b", migrate.ReasonTooLarge, 1)}, false},
	} {
		s := NewCollector(in(categories()))
		for n := range test.items {
			s.Add(&test.items[n])
		}
		if got := s.MayHaveEqualTags(); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestOrder verifies that findings are ordered by severity, whatever their order in the source.
func TestOrder(t *testing.T) {
	all := collect(in(categories()), Limits{Blocks: true},
		sent("a/1", "p", 0), sent("a/2", "f", 1), left("b", migrate.ReasonTooLarge, 1), left("c", migrate.ReasonUnsupportedType, 1))
	var got []string
	for _, f := range all {
		got = append(got, string(f.Severity)+" "+f.ID)
	}
	want := []string{"blocking unsupported_type", "not_uploaded too_large", "warning public", "warning empty", "note split_folders"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBounded verifies that a finding about many objects lists only a few, and that its counts are
// exact.
func TestBounded(t *testing.T) {
	var items []state.Item
	for n := range 3 * manyParts {
		items = append(items, left(fmt.Sprintf("%05d/a.%05d", n, n), migrate.ReasonUnsupportedType, 1))
	}
	for n := range 9 {
		for range n + 1 {
			items = append(items, sent(fmt.Sprintf("x%d/%d", n, len(items)), "f", 1))
		}
	}
	all := collect(in(nil), Limits{}, items...)
	unmatched, public := all[0], all[1]
	if unmatched.Objects != 3*manyParts || len(unmatched.Examples) != shown || len(unmatched.Parts) != shown ||
		unmatched.Parts[0] != (Part{otherParts, 2 * manyParts, 2 * manyParts}) {
		t.Errorf("extensions: %+v", unmatched)
	}
	want := []Part{{"x8/", 9, 9}, {"x7/", 8, 8}, {"x6/", 7, 7}, {"x5/", 6, 6}, {"x4/", 5, 5}}
	if diff := cmp.Diff(want, public.Parts); diff != "" {
		t.Error(diff)
	}
}

func TestMessage(t *testing.T) {
	for want, f := range map[string]Finding{
		"1 object, 4 B: empty":       {Unit: "object", Objects: 1, Bytes: 4, Title: "empty"},
		"1,234 folders: unreadable":  {Unit: "folder", Objects: 1234, Title: "unreadable"},
		"2 objects, 1.2 kB: strange": {Unit: "object", Objects: 2, Bytes: 1234, Title: "strange"},
	} {
		if got := f.Message(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestCovers verifies which reasons have a finding. The table of a plan omits these.
func TestCovers(t *testing.T) {
	for reason, want := range map[migrate.Reason]bool{migrate.ReasonNew: false, migrate.ReasonTooLarge: true, migrate.ReasonRenamed: true, migrate.ReasonSystemFile: false} {
		if got := Covers(string(reason)); got != want {
			t.Errorf("%s: got %v", reason, got)
		}
	}
}

// BenchmarkCollector shows that the memory of a collector does not grow with the number of objects.
func BenchmarkCollector(b *testing.B) {
	const objects = 1_000_000
	items := make([]state.Item, objects)
	for n := range items {
		extension := []string{"jpg", "png", "svg", "exe", "txt"}[n%5]
		items[n] = sent(fmt.Sprintf("%02d/%04d/photo-%07d.%s", n/10000, n/100, n, extension), []string{"i", "f"}[n%2], int64(n))
	}
	b.ReportAllocs()
	for b.Loop() {
		s := NewCollector(in(categories()))
		for n := range items {
			s.Add(&items[n])
		}
		if found := s.Findings(Limits{}); len(found) != 5 {
			b.Fatal(found)
		}
	}
	b.ReportMetric(float64(objects)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
}
