package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"assetferry/sources"
)

// A ghostReader reads the names in a directory and some that are not there.
type ghostReader struct {
	nameReader
	ghosts []string
}

func (r *ghostReader) Readdirnames(n int) ([]string, error) {
	names, err := r.nameReader.Readdirnames(n)
	if err == io.EOF && len(r.ghosts) > 0 {
		names, r.ghosts = r.ghosts, nil
		return names, nil
	}
	return names, err
}

// ghosts lists names in "dir" that do not exist, at each read, and counts the reads.
func ghosts(reads *int, at func(read int) ([]string, error)) func(*os.Root, bool) (nameReader, error) {
	return func(root *os.Root, top bool) (nameReader, error) {
		r, err := readDirectory(root)
		if top || err != nil {
			return r, err
		}
		*reads++
		names, err := at(*reads)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return &ghostReader{r, names}, nil
	}
}

// TestListedAndNotFound verifies that a name which the directory lists again is not taken for
// deleted, even if no file is found under it; it may be a directory. A name that the directory no
// longer lists is deleted.
func TestListedAndNotFound(t *testing.T) {
	var (
		a = sources.Object{Key: "dir/a"}
		b = sources.Object{Key: "dir/b"}
		c = sources.Object{Key: "dir/c"}
		z = sources.Object{Key: "z"}
	)
	lost := func(name string) []sources.Object {
		return []sources.Object{{Key: sources.Key(name), Obstacle: sources.Unreadable}, {Key: sources.Key(name + "/"), Obstacle: sources.UnreadableDirectory}}
	}
	for name, test := range map[string]struct {
		first, again []string
		err          error // of the second read
		want         []sources.Object
		fail         bool
	}{
		"still listed":    {[]string{"b."}, []string{"b."}, nil, slices.Concat([]sources.Object{a, b}, lost("dir/b."), []sources.Object{c, z}), false},
		"several":         {[]string{"b.", "aa"}, []string{"aa", "b."}, nil, slices.Concat([]sources.Object{a}, lost("dir/aa"), []sources.Object{b}, lost("dir/b."), []sources.Object{c, z}), false},
		"removed":         {[]string{"b."}, nil, nil, []sources.Object{a, b, c, z}, false},
		"one of them":     {[]string{"b.", "aa"}, []string{"b."}, nil, slices.Concat([]sources.Object{a, b}, lost("dir/b."), []sources.Object{c, z}), false},
		"nobody can tell": {[]string{"b."}, nil, syscall.EIO, slices.Concat([]sources.Object{a, b}, lost("dir/b."), []sources.Object{c, z}), false},
		"all removed":     {[]string{"b."}, nil, fs.ErrNotExist, []sources.Object{a, b, c, z}, false},
		"our own trouble": {[]string{"b."}, nil, syscall.EMFILE, []sources.Object{a, b}, true},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			got, err := listWith(t, ghosts(&reads, func(read int) ([]string, error) {
				if read == 1 {
					return slices.Clone(test.first), nil
				}
				return slices.Clone(test.again), test.err
			}))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if test.fail != errors.Is(err, syscall.EMFILE) || !test.fail && err != nil {
				t.Errorf("error is %v", err)
			}
			if reads < 2 || reads > 1+maxGhosts {
				t.Errorf("the directory was read %d times", reads)
			}
		})
	}
}

// TestManyNotFound verifies that the directory is not read again for each of many names that are
// not found, be they ghosts or deleted files.
func TestManyNotFound(t *testing.T) {
	var many []string
	for n := range 100 {
		many = append(many, fmt.Sprintf("b%02d", n))
	}
	for name, test := range map[string]struct {
		again       []string
		reads, want int
	}{"listed": {many, 1 + maxGhosts, 4 + 2*len(many)}, "removed": {nil, 2, 4}} {
		reads := 0
		got, err := listWith(t, ghosts(&reads, func(read int) ([]string, error) {
			if read == 1 {
				return slices.Clone(many), nil
			}
			return slices.Clone(test.again), nil
		}))
		if err != nil || len(got) != test.want || reads != test.reads {
			t.Errorf("%s: %d objects and %d reads (%v), want %d and %d", name, len(got), reads, err, test.want, test.reads)
		}
	}
}

// TestNotFoundAndThereAgain verifies that a file which appears while its directory is read again is
// listed with its type.
func TestNotFoundAndThereAgain(t *testing.T) {
	reads := 0
	var dir string
	read := ghosts(&reads, func(read int) ([]string, error) {
		if read == 1 {
			return []string{"bb"}, nil
		}
		return nil, os.WriteFile(filepath.Join(dir, "bb"), nil, 0o644)
	})
	got, err := listWith(t, func(root *os.Root, top bool) (nameReader, error) {
		dir = root.Name()
		return read(root, top)
	})
	want := []sources.Object{{Key: "dir/a"}, {Key: "dir/b"}, {Key: "dir/bb"}, {Key: "dir/c"}, {Key: "z"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
