package migrate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/sources"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		glob, key string
		want      bool
	}{
		{"*.psd", "a.psd", true},
		{"*.psd", "deep/down/a.psd", true},
		{"*.psd", "a.psd.zip", false},
		{"*.psd", "folder.psd/a.jpg", true}, // a matching folder includes its contents
		{"*.PSD", "a.psd", false},
		{"drafts", "drafts/a.jpg", true},
		{"drafts", "x/drafts/a.jpg", true},
		{"drafts/", "x/drafts/a.jpg", true},
		{"drafts", "drafts.jpg", false},
		{"/drafts", "drafts/a.jpg", true},
		{"/drafts", "x/drafts/a.jpg", false},
		{"a/b", "a/b", true},
		{"a/b", "a/b/c", true},
		{"a/b", "x/a/b", false},
		{"a/*", "a/b/c", true},
		{"a/*.jpg", "a/b/c.jpg", false},
		{"a/**/*.jpg", "a/c.jpg", true},
		{"a/**/*.jpg", "a/b/d/c.jpg", true},
		{"a/**/*.jpg", "b/c.jpg", false},
		{"**/x", "x", true},
		{"**/x", "a/b/x/y", true},
		{"**", "anything/at/all", true},
		{"a/**", "a", true}, // so that a directory that cannot be read is skipped with all that it contains
		{"a/**", "a/b", true},
		{"a/**", "ab", false},
		{"?.jpg", "ä.jpg", true},
		{"[a-c].jpg", "b.jpg", true},
		{"[^a-c].jpg", "b.jpg", false},
		{`\*.jpg`, "*.jpg", true},
		{`\*.jpg`, "a.jpg", false},
		{"closed", "closed/", true},
		{"x/closed", "x/closed/", true},
	} {
		if got := Match(tc.glob, sources.Key(tc.key)); got != tc.want {
			t.Errorf("Match(%q, %q) = %v, want %v", tc.glob, tc.key, got, tc.want)
		}
	}
}

func TestCheckGlob(t *testing.T) {
	for glob, ok := range map[string]bool{
		"*.jpg": true, "a/**/b": true, "[a-z]/*": true, "": false, "/": false, "//": false, "[a": false, "a/[": false, `a\`: false,
	} {
		if err := CheckGlob(glob); (err == nil) != ok {
			t.Errorf("CheckGlob(%q) = %v", glob, err)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"*.jpg", "a/**/b", "[", "**/**/**/x", "a//b", "/"} {
		f.Add(s, "a/b/c.jpg")
	}
	f.Fuzz(func(t *testing.T, glob, key string) {
		got := Match(glob, sources.Key(key))
		if CheckGlob(glob) != nil {
			return
		}
		// Objects in a matching folder match, too.
		if got && key != "" && !Match(glob, sources.Key(strings.TrimSuffix(key, "/")+"/below")) {
			t.Errorf("%q matches %q and not what is in it", glob, key)
		}
	})
}

func TestMatchIsNotExponential(t *testing.T) {
	glob := strings.Repeat("**/", 200) + "x"
	key := sources.Key(strings.Repeat("a/", 200) + "y")
	if Match(glob, key) { // or the search would not end
		t.Error("matched")
	}
}

func TestJunk(t *testing.T) {
	for key, want := range map[string]bool{
		".DS_Store": true, "a/.DS_Store": true, ".ds_store": false, "Thumbs.db": true, "a/thumbs.DB": true, "Desktop.INI": true,
		"._a.jpg": true, "a/._b/c.jpg": true, "~$doc.docx": true, "@eaDir/a.jpg": true, "x/@eaDir/a/b.jpg": true,
		"__MACOSX/a.jpg": true, ".git/config": true, "x/.assetferry-revisions/a/a.jpg/1.jpg": true, "a.jpg.part": true, "a.PART": true,
		"a.jpg": false, "department/a.jpg": false, ".gitignore": false, "a.git/x.jpg": false, "x.part/a.jpg": false, "__macosx": false,
	} {
		if got := IsJunk(sources.Key(key)); got != want {
			t.Errorf("isJunk(%q) = %v", key, got)
		}
	}
}

func TestSkipReason(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name string
		r    Rules
		o    sources.Object
		want Reason
	}{
		{"taken", Rules{}, sources.Object{Key: "a.jpg"}, ""},
		{"symlink", Rules{}, sources.Object{Key: "a.jpg", Obstacle: sources.Symlink}, ReasonSymlink},
		{"special", Rules{}, sources.Object{Key: "a.jpg", Obstacle: sources.Special}, ReasonNotRegularFile},
		{"archived", Rules{}, sources.Object{Key: "a.jpg", Obstacle: sources.Archived}, ReasonArchived},
		{"folder marker", Rules{}, sources.Object{Key: "a/", Obstacle: sources.FolderMarker}, ReasonFolderMarker},
		{"without a size", Rules{}, sources.Object{Key: "a.gdoc", Obstacle: sources.Unsized}, ReasonNoSize},
		{"ambiguous", Rules{}, sources.Object{Key: "a.jpg", Obstacle: sources.Ambiguous}, ""},
		{"unreadable", Rules{}, sources.Object{Key: "a.jpg", Obstacle: sources.Unreadable}, ""},
		{"unreadable and excluded", Rules{Exclude: []string{"a*"}}, sources.Object{Key: "a.jpg", Obstacle: sources.Unreadable}, ReasonExcluded},
		{"unreadable and not included", Rules{Include: []string{"b*"}}, sources.Object{Key: "a.jpg", Obstacle: sources.Unreadable}, ReasonExcluded},
		{"hides what is included", Rules{Include: []string{"*.jpg"}}, sources.Object{Key: "a/", Obstacle: sources.UnreadableDirectory}, ""},
		{"young", Rules{MinAge: time.Hour}, sources.Object{Key: "a.jpg", Time: now.Add(-59 * time.Minute)}, ReasonTooYoung},
		{"of age", Rules{MinAge: time.Hour}, sources.Object{Key: "a.jpg", Time: now.Add(-time.Hour)}, ""},
		{"from the future", Rules{MinAge: time.Hour}, sources.Object{Key: "a.jpg", Time: now.Add(time.Hour)}, ReasonTooYoung},
		{"of unknown age", Rules{MinAge: time.Hour}, sources.Object{Key: "a.jpg"}, ""},
	} {
		if got := tc.r.SkipReason(tc.o, now); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestKeyList(t *testing.T) {
	a, b := NewKeyList([]sources.Key{"x", "y", "x"}), NewKeyList([]sources.Key{"y", "x"})
	if a.Checksum != b.Checksum {
		t.Error("order or repetition make a difference")
	}
	for _, other := range [][]sources.Key{{"xy"}, {"x"}, {"x", "y", "z"}, {"1:x", "y"}} {
		if NewKeyList(other).Checksum == a.Checksum {
			t.Errorf("%q has the same checksum", other)
		}
	}
}

func TestKeyListCovers(t *testing.T) {
	l := NewKeyList([]sources.Key{"d/x", "b/", "d!", "a"})
	for _, tc := range []struct {
		key             string
		obstacle        sources.Obstacle
		covers, hasDirs bool
	}{
		{"a", "", true, false},
		{"d", "", false, false},
		{"d/", "", false, false}, // a readable folder hides nothing
		{"d/", sources.UnreadableDirectory, true, false},
		{"c/", sources.UnreadableDirectory, false, false},
		{"e/", sources.UnreadableDirectory, false, false}, // behind all of them
		{"b/c/d", "", false, true},
		{"d/x/y", "", false, false},
	} {
		covers, hasDirs := l.Covers(sources.Object{Key: sources.Key(tc.key), Obstacle: tc.obstacle}), l.HasParentOf(sources.Key(tc.key))
		if covers != tc.covers || hasDirs != tc.hasDirs {
			t.Errorf("%s %s: covered %v, in a folder %v", tc.key, tc.obstacle, covers, hasDirs)
		}
	}
	if (&KeyList{}).Covers(sources.Object{Key: "a/", Obstacle: sources.UnreadableDirectory}) {
		t.Error("a list of nothing covers something")
	}
}

func TestDifferences(t *testing.T) {
	r := DefaultRules()
	stored, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff, err := r.Differences(stored); err != nil || len(diff) > 0 {
		t.Errorf("got %q (%v), want none", diff, err)
	}
	r.OnCollision, r.Exclude, r.FilesFrom = "keep", []string{"*.psd"}, NewKeyList([]sources.Key{"one-of-millions.jpg"})
	diff, err := r.Differences(stored)
	if err != nil || len(diff) != 3 || !slices.Contains(diff, `--on-collision was "rename", is "keep"`) || strings.Contains(fmt.Sprint(diff), "one-of-millions") {
		t.Errorf("got %q (%v)", diff, err)
	}
	if _, err := r.Differences([]byte("no JSON")); err == nil {
		t.Error("rules that cannot be read are no reason to go on")
	}
}
