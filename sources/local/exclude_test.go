package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"assetferry/sources/local"
)

func TestExcludedEntriesLeaveNoTrace(t *testing.T) {
	tree := newTree(t)
	tree.write("state/journal.db", []byte("j"))
	tree.write("state/photo", nil)
	tree.write("sandbox/a", nil)
	tree.write("sandbox/b/c", nil)
	tree.write("sandboxes", nil)
	must(t, os.Link(tree.path("state/journal.db"), tree.path("hardlink")))
	tree.link("state", "alias")
	alias := filepath.Join(t.TempDir(), "elsewhere")
	must(t, os.Symlink(tree.root, alias))
	exclude := []string{
		filepath.Join(alias, "state", "journal.db"), // the same file by another path
		tree.path("state/journal.db-wal"),           // not there yet
		tree.path("sandbox"),
		filepath.Join(t.TempDir(), "unrelated"),
	}

	src := tree.source(local.Options{Exclude: exclude})
	tree.write("state/journal.db-wal", []byte("w"))
	wantListing(t, src, [2]string{"alias", link}, [2]string{"sandboxes", ok}, [2]string{"state/photo", ok})

	src = tree.source(local.Options{Exclude: exclude, Symlinks: local.Follow})
	wantListing(t, src, [2]string{"alias/photo", ok}, [2]string{"sandboxes", ok}, [2]string{"state/photo", ok})
}

// TestExcludedFileAppearsDuringTheListing verifies that a write-ahead log that appears during a
// listing is excluded.
func TestExcludedFileAppearsDuringTheListing(t *testing.T) {
	tree := newTree(t)
	tree.write("a", nil)
	tree.write("b/c", nil)
	src := tree.source(local.Options{Exclude: []string{tree.path("b/log")}})
	for o, err := range src.Objects(t.Context(), "") {
		must(t, err)
		if o.Key == "a" {
			tree.write("b/log", nil)
		}
		if o.Key == "b/log" {
			t.Error("the excluded file is listed")
		}
	}
}
