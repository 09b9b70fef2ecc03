//go:build unix

package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"assetferry/internal/test/usertest"
	"assetferry/sources"
	"assetferry/sources/local"
)

const (
	unreadable = string(sources.Unreadable)
	hidden     = string(sources.UnreadableDirectory)
)

// lockedTree is the tree of the tests below; the user that lists it may not read all of it.
func lockedTree(t *testing.T, root string) *tree {
	t.Helper()
	tree := &tree{tb: t, root: root}
	for _, key := range []string{"a", "closed/x", "closed!", "locked", "names/x", "names/y/z", "no-search/x", "z"} {
		tree.write(key, nil)
	}
	tree.link("closed/x", "to-closed")
	for key, mode := range map[string]fs.FileMode{"closed": 0, "locked": 0, "no-search": 0o400, "names/y": 0} {
		must(t, os.Chmod(tree.path(key), mode))
	}
	return tree
}

func TestWhatMayNotBeRead(t *testing.T) { usertest.Run(t, whatMayNotBeRead) }

func whatMayNotBeRead(t *testing.T, root string) {
	tree := lockedTree(t, filepath.Join(root, "tree"))
	defer unlock(tree)

	src := tree.source(local.Options{})
	wantLocked(t, src,
		[2]string{"a", ok},
		[2]string{"closed!", ok},
		[2]string{"closed/", hidden},
		[2]string{"locked", ok},
		[2]string{"names/x", ok},
		[2]string{"names/y/", hidden},
		[2]string{"no-search/", hidden},
		[2]string{"to-closed", link},
		[2]string{"z", ok},
	)
	if got := listing(t, src, "closed/"); got[0] != [2]string{"locked", ok} {
		t.Errorf("after the obstacle comes %v", got[0])
	}

	// A link may lead to a file or to a directory, so the listing may assume neither.
	wantLocked(t, tree.source(local.Options{Symlinks: local.Follow}),
		[2]string{"a", ok},
		[2]string{"closed!", ok},
		[2]string{"closed/", hidden},
		[2]string{"locked", ok},
		[2]string{"names/x", ok},
		[2]string{"names/y/", hidden},
		[2]string{"no-search/", hidden},
		[2]string{"to-closed", unreadable},
		[2]string{"to-closed/", hidden},
		[2]string{"z", ok},
	)

	for o, err := range src.Objects(t.Context(), "closed/") {
		must(t, err)
		_, err := src.Open(t.Context(), o, 0)
		e, _ := errors.AsType[*sources.Error](err)
		if !errors.Is(err, fs.ErrPermission) || e == nil || e.Hint == "" {
			t.Errorf("Open(%q): got %v, want %v with a hint", o.Key, err, fs.ErrPermission)
		}
		break
	}
}

// wantLocked is wantListing without reading the files, which is what fails here.
func wantLocked(t *testing.T, src sources.Source, want ...[2]string) {
	t.Helper()
	got := listing(t, src, "")
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
		rest := listing(t, src, sources.Key(want[i][0]))
		if len(rest) != len(want)-i-1 {
			t.Errorf("after %q: got %v", want[i][0], rest)
		}
	}
}

func TestRootMayNotBeRead(t *testing.T) { usertest.Run(t, rootMayNotBeRead) }

func rootMayNotBeRead(t *testing.T, root string) {
	for name, mode := range map[string]fs.FileMode{"nothing": 0, "names only": 0o400, "no names": 0o100} {
		tree := &tree{tb: t, root: filepath.Join(root, name)}
		tree.write("a", nil)
		src := tree.source(local.Options{})
		must(t, os.Chmod(tree.root, mode))
		var last error
		for o, err := range src.Objects(t.Context(), "") {
			if last = err; err == nil {
				t.Errorf("%s: %v is listed", name, o)
			}
		}
		if !errors.Is(last, fs.ErrPermission) {
			t.Errorf("%s: got %v, want %v", name, last, fs.ErrPermission)
		}
		unlock(tree)
	}
}

func unlock(t *tree) {
	filepath.WalkDir(t.root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.Type()&fs.ModeSymlink == 0 {
			os.Chmod(path, 0o700)
		}
		return nil
	})
}
