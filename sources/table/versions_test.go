package table_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetferry/sources"
	"assetferry/sources/table"
)

// versioned opens a table whose column rev has revisions.
func versioned(m *manager, change ...func(*table.Options)) table.Versioned {
	s := m.source(append(change, func(o *table.Options) { o.Columns = table.Columns{"revision": "rev"} })...)
	return s.WithVersions().(table.Versioned)
}

func olderOf(t *testing.T, s table.Versioned, o sources.Object) (all []sources.Object, err error) {
	t.Helper()
	for v, err := range s.Versions(t.Context(), o) {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// TestOnlyANamedColumnHasRevisions verifies that tables keep their meaning: columns named version and
// revision are a change marker and metadata, and rows with the same key must be identical.
func TestOnlyANamedColumnHasRevisions(t *testing.T) {
	m := newManager(t, "t.csv")
	m.write("key,url,size,version,revision\na,https://x.example/a,1,3,r\nb,https://x.example/b,1,1,1\nb,https://x.example/c,1,2,2\n")
	s := m.source()
	if _, ok := s.WithVersions().(sources.Historian); ok {
		t.Error("it has older versions")
	}
	objects, err := list(t, s)
	must(t, err)
	if objects[0].VersionTag != "3" || objects[1].Obstacle != "error in the table: lines 3 and 4 have this key, but differ" {
		t.Errorf("got %+v", objects)
	}
	d, err := s.Describe(t.Context(), objects[0])
	if err != nil || d.Fields["revision"][0] != "r" {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := s.Open(t.Context(), sources.Object{Key: "a", Size: 1, VersionTag: "3", Version: "1"}, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a version of it: %v", err)
	}
}

// TestNewestRow verifies that the newest row is the object, with its metadata, and that older rows
// cost no request if their sizes are in the table.
func TestNewestRow(t *testing.T) {
	m := newManager(t, "t.csv")
	var rows [][]string
	for n := range 150 {
		rows = append(rows, []string{"a.jpg", m.put(fmt.Sprintf("a-%d.jpg", n), make([]byte, n)), fmt.Sprint(n), fmt.Sprint("1.", n), fmt.Sprint("title ", n)})
	}
	slices.Reverse(rows[20:])
	m.export([]string{"key", "url", "size", "rev", "title"}, append(rows, rows[3], rows[149])...)
	s := versioned(m)
	o := one(t, s)
	if want := (sources.Object{Key: "a.jpg", Size: 149, VersionTag: "1.149; "}); o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
	d, err := s.Describe(t.Context(), o)
	if err != nil || d.Fields["title"][0] != "title 149" || d.Fields["rev"] != nil {
		t.Errorf("got %+v, %v", d, err)
	}
	all, err := olderOf(t, s, o)
	must(t, err)
	for n, v := range all {
		if want := (sources.Object{Key: "a.jpg", Size: int64(148 - n), VersionTag: fmt.Sprint("1.", 148-n, "; "), Version: fmt.Sprint("1.", 148-n)}); v != want {
			t.Fatalf("got %+v, want %+v", v, want)
		}
	}
	objects, older, err := s.CountVersions(t.Context())
	if err != nil || len(all) != 149 || objects != 1 || older != 149 || len(m.asked()) > 0 {
		t.Errorf("%d older versions; counted %d of %d, %v", len(all), older, objects, err)
	}
}

// TestRowsWithoutAnOrder verifies that rows of a key whose order is unclear are errors of its object.
func TestRowsWithoutAnOrder(t *testing.T) {
	m := newManager(t, "t.csv")
	m.write("key,url,size,rev\n" +
		"1 alone,https://x.example/a,1,\n2 alone,https://x.example/a,1,final\n" +
		"3 same,https://x.example/a,1,1\n3 same,https://x.example/a,1,1\n3 same,https://x.example/b,1,2\n" +
		"4 differ,https://x.example/a,1,1\n4 differ,https://x.example/b,1,1.0\n" +
		"5 older differ,https://x.example/a,1,1\n5 older differ,https://x.example/b,1,2\n5 older differ,https://x.example/c,1,1\n" +
		"6 none,https://x.example/a,1,\n6 none,https://x.example/b,1,2\n" +
		"7 odd,https://x.example/a,1,final\n7 odd,https://x.example/b,1,2\n" +
		"8 kinds,https://x.example/a,1,1\n8 kinds,https://x.example/b,1,2024-05-31\n" +
		"9 all odd,https://x.example/a,1,draft\n9 all odd,https://x.example/b,1,final\n9 no,https://x.example/a,1,\n9 no,https://x.example/b,1,\n" +
		"9 wrong,https://x.example/a,1,1\n9 wrong,ftp://x.example/b,1,2\n9 wrong older,ftp://x.example/a,1,1\n9 wrong older,https://x.example/b,1,2\n")
	want := []string{
		"1 alone: ", "2 alone: ", "3 same: ",
		"4 differ: error in the table: lines 7 and 8 have this key and the revision 1, but differ",
		"5 older differ: error in the table: lines 9 and 11 have this key and the revision 1, but differ",
		"6 none: error in the table: line 12 has no revision, but line 13 has the same key",
		`7 odd: error in the table: line 14: the revision "final" is neither a version number nor a date such as 2024-05-31`,
		"8 kinds: error in the table: lines 16 and 17 have this key, but only one of their revisions is a date",
		"9 all odd: error in the table: lines 18 and 19 have this key, but their revisions are neither version numbers nor dates such as 2024-05-31",
		"9 no: error in the table: lines 20 and 21 have this key, but differ",
		"9 wrong: error in the table: line 23: the URL must have the form https://host/path, without a user name or a password",
		"9 wrong older: ",
	}
	s := versioned(m)
	objects, err := list(t, s)
	must(t, err)
	var got []string
	for _, o := range objects {
		got = append(got, fmt.Sprintf("%s: %s", o.Key, o.Obstacle))
		if o.Key == "9 wrong older" {
			all, err := olderOf(t, s, o)
			if err != nil || len(all) != 1 || all[0].Version != "1" || !strings.HasPrefix(string(all[0].Obstacle), "error in the table: line 24: the URL") {
				t.Errorf("got %+v, %v", all, err)
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if objects, older, err := s.CountVersions(t.Context()); err != nil || objects != 4 || older != 4 {
		t.Errorf("%d older versions of %d objects, %v", older, objects, err)
	}
}

func TestTooManyRows(t *testing.T) {
	m := newManager(t, "t.csv")
	var text strings.Builder
	text.WriteString("key,url,size,rev\n")
	for n := range 10_001 {
		fmt.Fprintf(&text, "a,https://x.example/a,1,%d\n", n)
	}
	m.write(text.String())
	if o := one(t, versioned(m)); o.Obstacle != "error in the table: more than 10000 rows have this key" {
		t.Errorf("got %+v", o)
	}
}

// TestFilesOfVersions verifies that an older version is read from its own file, below the root only,
// and that a missing one is an obstacle of this version.
func TestFilesOfVersions(t *testing.T) {
	m := newManager(t, "t.csv")
	root := t.TempDir()
	must(t, os.WriteFile(filepath.Join(root, "1"), []byte("one"), 0o600))
	must(t, os.WriteFile(filepath.Join(root, "3"), []byte("three"), 0o600))
	must(t, os.Symlink(m.table, filepath.Join(root, "out")))
	m.write("key,path,rev\na,out,0\na,1,1\na,2,2\na,3,3\n")
	s := versioned(m, func(o *table.Options) { o.Root = root })
	o := one(t, s)
	all, err := olderOf(t, s, o)
	must(t, err)
	if len(all) != 3 || all[0].Obstacle != "cannot be read: no such file or directory" || all[2].Obstacle != "cannot be read: path escapes from parent" {
		t.Fatalf("got %+v", all)
	}
	content, err := read(t, s, all[1], 1)
	if err != nil || string(content) != "ne" || all[1].Version != "1" {
		t.Errorf("got %q, %v", content, err)
	}
	must(t, os.WriteFile(filepath.Join(root, "1"), []byte("changed"), 0o600))
	if _, err := read(t, s, all[1], 0); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("a changed version: %v", err)
	}
	must(t, os.Remove(filepath.Join(root, "1")))
	if _, err := read(t, s, all[1], 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a deleted version: %v", err)
	}
	m.write("key,path,rev\na,1,1\na,3,4\n")
	if _, err := read(t, s, o, 0); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("the object with another revision: %v", err)
	}
}

// TestServersOfVersions verifies that older versions without a size cost one request each, that a
// missing one is an obstacle, and that a server which does not respond ends the list.
func TestServersOfVersions(t *testing.T) {
	m := newManager(t, "t.csv")
	m.export([]string{"key", "url", "rev"}, []string{"a.jpg", m.put("1.jpg", []byte("one")), "1"}, []string{"a.jpg", m.server.URL + "/gone.jpg", "2"},
		[]string{"a.jpg", m.put("3.jpg", []byte("three")), "3"}, []string{"a.jpg", m.put("4.jpg", []byte("four")), "4"})
	s := versioned(m)
	o := one(t, s)
	if asked := m.asked(); len(asked) != 1 {
		t.Errorf("%d requests for the object", len(asked))
	}
	all, err := olderOf(t, s, o)
	must(t, err)
	if len(all) != 3 || all[0].VersionTag != "3; v1" || all[1].Obstacle != "cannot be read: 127.0.0.1: 404 Not Found" || all[2].Size != 3 {
		t.Errorf("got %+v", all)
	}
	if asked := m.asked(); len(asked) != 4 { // HEAD and GET for the missing one
		t.Errorf("%d requests for its versions", len(asked))
	}
	m.put("3.jpg", []byte("THREE")) // now with another ETag
	if _, err := read(t, s, all[0], 0); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("a changed version: %v", err)
	}
	m.answer(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	})
	all, err = olderOf(t, s, o)
	if e, ok := errors.AsType[*sources.Error](err); !ok || len(all) > 0 || e.Hint == "" || e.Key != "a.jpg" {
		t.Errorf("got %+v, %v", all, err)
	}
	private := versioned(m, func(o *table.Options) { o.AllowPrivate = false })
	if all, err := olderOf(t, private, o); len(all) > 0 || err == nil || !strings.Contains(err.Error(), "in a private network") {
		t.Errorf("got %+v, %v", all, err)
	}
}

// TestIsNewer verifies the order of versions and of the object that an earlier run has read.
func TestIsNewer(t *testing.T) {
	for _, test := range []struct {
		version, tag, than string
		want               bool
	}{
		{"2", "2; b", "1; a", true}, {"2", "2; b", "2; b", false}, {"2", "2; b", "2.0; c", false}, {"2", "2; ", "3; ", false},
		{"2", "2; b", "2024-05-31; a", true}, {"2024-05-30", "2024-05-30; a", "2024-05-31; a", false},
		{"2", "2; b", "a", true}, {"2", "2; b", "b", false}, {"2", "2; ", "", true},
		{"2024-06-01", "2024-06-01; m", "2026-11-27T10:00:00Z", true}, {"2024-05-31", "2024-05-31; m", "1; m", false},
	} {
		version := sources.Object{Key: "a", Version: test.version, VersionTag: test.tag}
		if got := (table.Versioned{}).IsNewer(version, sources.Object{Key: "a", VersionTag: test.than}); got != test.want {
			t.Errorf("%q is newer than %q: %v", test.tag, test.than, got)
		}
	}
}
