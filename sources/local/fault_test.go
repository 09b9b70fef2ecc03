package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"assetferry/sources"
)

// A failingReader reads some names and then fails.
type failingReader struct {
	names []string
	err   error
}

func (r *failingReader) Readdirnames(int) ([]string, error) { return r.names, r.err }

func (r *failingReader) Close() error { return nil }

func TestDirectoryThatFailsHalfWay(t *testing.T) {
	var (
		hidden = sources.Object{Key: "dir/", Obstacle: sources.UnreadableDirectory}
		a      = sources.Object{Key: "dir/a"}
		b      = sources.Object{Key: "dir/b"}
		z      = sources.Object{Key: "z"}
	)
	for name, test := range map[string]struct {
		top     bool // the root fails, not "dir"
		removed bool // "dir" is removed
		err     error
		want    []sources.Object
		fail    bool
	}{
		"an entry's trouble": {err: syscall.EIO, want: []sources.Object{hidden, a, b, z}},
		"removed meanwhile":  {removed: true, err: fs.ErrNotExist, want: []sources.Object{z}},
		"not found":          {err: fs.ErrNotExist, want: []sources.Object{hidden, a, b, z}},
		"our own trouble":    {err: syscall.EMFILE, fail: true},
		"at the top":         {top: true, err: syscall.EIO, fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := listWith(t, func(root *os.Root, top bool) (nameReader, error) {
				path := filepath.Clean(root.Name())
				if top != test.top {
					return readDirectory(root)
				}
				names := []string{"b", "a"}
				if test.removed {
					names = nil
					if err := os.RemoveAll(path); err != nil {
						return nil, err
					}
				}
				return &failingReader{names, test.err}, nil
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if test.fail != errors.Is(err, test.err) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// A manyNames reader reads this number of names.
type manyNames int

func (n *manyNames) Readdirnames(max int) (names []string, err error) {
	for ; len(names) < max && *n > 0; *n-- {
		names = append(names, fmt.Sprintf("photo-%08d.jpg", *n))
	}
	if len(names) == 0 {
		err = io.EOF
	}
	return names, err
}

func (n *manyNames) Close() error { return nil }

// TestMemoryForNames verifies that a walk needs little memory for each name, since it holds all
// names of the largest directory.
func TestMemoryForNames(t *testing.T) {
	const n, limit = 100_000, 48 // bytes for each: 24 of the name, 16 for its string header, and room to grow
	reader := manyNames(n)
	w := &walk{ctx: t.Context(), read: func(*os.Root) (nameReader, error) { return &reader, nil }}
	before := heap()
	names, err := w.names(&directory{})
	if err != nil || len(names) != n {
		t.Fatalf("%d names, error %v", len(names), err)
	}
	if got := (heap() - before) / n; got > limit {
		t.Errorf("%d bytes for each name, at most %d expected", got, limit)
	}
	runtime.KeepAlive(names)
}

// heap returns the memory in use in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// listWith walks a tree of "dir/a", "dir/b", "dir/c" and "z" that is read by a function.
func listWith(t *testing.T, read func(root *os.Root, top bool) (nameReader, error)) ([]sources.Object, error) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, key := range []string{"dir/a", "dir/b", "dir/c", "z"} {
		if err := errors.Join(root.MkdirAll(filepath.Dir(key), 0o755), root.WriteFile(key, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	info, err := root.Stat(".")
	if err != nil {
		t.Fatal(err)
	}
	var list []sources.Object
	w := &walk{
		ctx: t.Context(), root: root,
		read: func(r *os.Root) (nameReader, error) { return read(r, r == root) },
		yield: func(o sources.Object) error {
			list = append(list, sources.Object{Key: o.Key, Obstacle: o.Obstacle})
			return nil
		},
	}
	err = w.list(&directory{root: root, info: info})
	return list, err
}
