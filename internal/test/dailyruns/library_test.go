//go:build unix

package dailyruns_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// An object is a file of the source.
type object struct {
	content string
	time    time.Time
	said    metadata // its metadata in the table
	closed  bool     // it is unreadable
	hidden  bool     // it is in an unreadable folder
}

// metadata is a description and sorted tags.
type metadata struct {
	text string
	tags []string
}

func (m metadata) String() string { return fmt.Sprintf("%q %q", m.text, m.tags) }

func (m metadata) equal(other metadata) bool {
	return m.text == other.text && slices.Equal(m.tags, other.tags)
}

// A library is the source: a directory, a table of metadata beside it, and the objects expected in
// them.
type library struct {
	t       *testing.T
	root    string
	table   string
	objects map[string]*object
	removed map[string]object
	hidden  string    // an unreadable folder; empty if there is none
	today   time.Time // the modification time of changed files
	serial  int
}

func newLibrary(t *testing.T, dir string) *library {
	l := &library{t: t, root: filepath.Join(dir, "library"), table: filepath.Join(dir, "table.csv"), objects: map[string]*object{}, removed: map[string]object{}}
	must(t, os.Mkdir(l.root, 0o755))
	return l
}

func (l *library) path(key string) string { return filepath.Join(l.root, filepath.FromSlash(key)) }

func (l *library) keys() []string { return slices.Sorted(maps.Keys(l.objects)) }

// magic returns the first bytes of a file with the type of its extension.
func magic(key string) string {
	switch path.Ext(key) {
	case ".jpg":
		return "\xff\xd8\xff\xe0"
	case ".png":
		return "\x89PNG\r\n\x1a\n"
	case ".pdf":
		return "%PDF-1.7\n"
	}
	return ""
}

// make returns a unique content with length bytes after its beginning.
func (l *library) make(key string, length int) string {
	l.serial++
	return fmt.Sprintf("%s%08d%s", magic(key), l.serial, strings.Repeat(".", length))
}

// put writes a file with the content, time and permissions of an object.
func (l *library) put(key string, o object) {
	l.t.Helper()
	must(l.t, os.MkdirAll(filepath.Dir(l.path(key)), 0o755))
	must(l.t, os.WriteFile(l.path(key), []byte(o.content), 0o644))
	must(l.t, os.Chtimes(l.path(key), o.time, o.time))
	l.objects[key] = &o
}

func (l *library) add(keys ...string) {
	l.t.Helper()
	for _, key := range keys {
		l.put(key, object{content: l.make(key, l.serial%40), time: l.today})
	}
}

// alike adds files in pairs with identical content.
func (l *library) alike(keys ...string) {
	l.t.Helper()
	for n := 0; n < len(keys); n += 2 {
		o := object{content: l.make(keys[n], 20), time: l.today}
		l.put(keys[n], o)
		l.put(keys[n+1], o)
	}
}

// change gives files other content of another size.
func (l *library) change(keys ...string) {
	l.t.Helper()
	for _, key := range keys {
		o := *l.objects[key]
		o.content, o.time = l.make(key, len(o.content)-len(magic(key))-8+1+l.serial%30), l.today
		l.put(key, o)
	}
}

// rewrite gives files other content of the same size.
func (l *library) rewrite(keys ...string) {
	l.t.Helper()
	for _, key := range keys {
		o := *l.objects[key]
		o.content, o.time = l.make(key, len(o.content)-len(magic(key))-8), l.today
		l.put(key, o)
	}
}

// touch changes only the modification times of files.
func (l *library) touch(keys ...string) {
	l.t.Helper()
	for _, key := range keys {
		o := *l.objects[key]
		o.time = l.today
		l.put(key, o)
	}
}

// rename renames a file, and its row in the metadata table.
func (l *library) rename(from, to string) {
	l.t.Helper()
	must(l.t, os.MkdirAll(filepath.Dir(l.path(to)), 0o755))
	must(l.t, os.Rename(l.path(from), l.path(to)))
	l.objects[to] = l.objects[from]
	delete(l.objects, from)
}

// exchange swaps the names of two files.
func (l *library) exchange(one, other string) {
	l.t.Helper()
	aside := one + ".aside"
	l.rename(one, aside)
	l.rename(other, one)
	l.rename(aside, other)
}

// renameFolder renames a folder, given as a prefix of keys that ends in a slash.
func (l *library) renameFolder(from, to string) {
	l.t.Helper()
	for _, key := range l.under(from) {
		l.rename(key, to+strings.TrimPrefix(key, from))
	}
	must(l.t, os.RemoveAll(l.path(from)))
}

func (l *library) under(prefix string) []string {
	return slices.DeleteFunc(l.keys(), func(key string) bool { return !strings.HasPrefix(key, prefix) })
}

func (l *library) remove(keys ...string) {
	l.t.Helper()
	for _, key := range keys {
		must(l.t, os.Remove(l.path(key)))
		l.removed[key] = *l.objects[key]
		delete(l.objects, key)
	}
}

// restore puts removed files back.
func (l *library) restore(keys ...string) {
	l.t.Helper()
	for _, key := range keys {
		l.put(key, l.removed[key])
	}
}

// shut makes files unreadable until they are opened again.
func (l *library) shut(keys ...string) { l.t.Helper(); l.chmod(true, 0, keys) }

func (l *library) open(keys ...string) { l.t.Helper(); l.chmod(false, 0o644, keys) }

func (l *library) chmod(closed bool, mode os.FileMode, keys []string) {
	l.t.Helper()
	for _, key := range keys {
		must(l.t, os.Chmod(l.path(key), mode))
		l.objects[key].closed = closed
	}
}

// hide makes a folder, given as a prefix of keys, unreadable or readable again.
func (l *library) hide(folder string, hidden bool) {
	l.t.Helper()
	mode := os.FileMode(0o755)
	if hidden {
		mode = 0
	}
	must(l.t, os.Chmod(l.path(folder), mode))
	for _, key := range l.under(folder) {
		l.objects[key].hidden = hidden
	}
	if l.hidden = ""; hidden {
		l.hidden = folder
	}
}

// say sets the metadata of an object in the table.
func (l *library) say(key, text string, tags ...string) {
	slices.Sort(tags)
	l.objects[key].said = metadata{text, tags}
}

// writeTable writes the table, which has only objects with metadata.
func (l *library) writeTable() {
	l.t.Helper()
	f, err := os.Create(l.table)
	must(l.t, err)
	defer f.Close()
	w := csv.NewWriter(f)
	must(l.t, w.Write([]string{"key", "description", "tags"}))
	for _, key := range l.keys() {
		if said := l.objects[key].said; said.text != "" || len(said.tags) > 0 {
			must(l.t, w.Write([]string{key, said.text, strings.Join(said.tags, ",")}))
		}
	}
	w.Flush()
	must(l.t, w.Error())
}
