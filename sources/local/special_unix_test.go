//go:build unix

package local_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"assetferry/sources"
	"assetferry/sources/local"
)

// TestSpecialFilesAreNotOpened verifies that a pipe is not opened: that would wait for a writer
// forever.
func TestSpecialFilesAreNotOpened(t *testing.T) {
	mayNotHang(t)
	const special = string(sources.Special)
	tree := newTree(t)
	tree.write("file", nil)
	must(t, syscall.Mkfifo(tree.path("pipe"), 0o644))
	tree.link("pipe", "to-pipe")
	listenUnix(t, tree.path("socket"))

	src := tree.source(local.Options{})
	wantListing(t, src, [2]string{"file", ok}, [2]string{"pipe", special}, [2]string{"socket", special}, [2]string{"to-pipe", link})
	src = tree.source(local.Options{Symlinks: local.Follow})
	wantListing(t, src, [2]string{"file", ok}, [2]string{"pipe", special}, [2]string{"socket", special}, [2]string{"to-pipe", special})

	for _, key := range []sources.Key{"pipe", "to-pipe", "socket"} {
		if _, err := src.Open(t.Context(), sources.Object{Key: key}, 0); !errors.Is(err, sources.ErrChanged) {
			t.Errorf("Open(%q): got %v, want %v", key, err, sources.ErrChanged)
		}
	}
}

// TestSomethingElseInThePlaceOfAFile verifies that Open fails if another kind of file has replaced
// the listed one. Opening a pipe would wait for a writer.
func TestSomethingElseInThePlaceOfAFile(t *testing.T) {
	mayNotHang(t)
	for name, put := range map[string]func(*tree){
		"pipe":   func(t *tree) { must(t.tb, syscall.Mkfifo(t.path("file"), 0o644)) },
		"socket": func(t *tree) { listenUnix(t.tb.(*testing.T), t.path("file")) },
		"loop":   func(t *tree) { t.link("file", "file") },
		"link to a pipe": func(t *tree) {
			must(t.tb, syscall.Mkfifo(t.path("pipe"), 0o644))
			t.link("pipe", "file")
		},
	} {
		for _, o := range []local.Options{{}, {Symlinks: local.Follow}} {
			t.Run(name, func(t *testing.T) {
				tree := newTree(t)
				tree.write("file", []byte("content"))
				src := tree.source(o)
				listed := only(t, src)
				must(t, os.Remove(tree.path("file")))
				put(tree)
				if _, err := src.Open(t.Context(), listed, 0); !errors.Is(err, sources.ErrChanged) {
					t.Errorf("got %v, want %v", err, sources.ErrChanged)
				}
			})
		}
	}
}

func TestPipeInThePlaceOfADirectory(t *testing.T) {
	mayNotHang(t)
	tree := newTree(t)
	src := tree.source(local.Options{})
	must(t, os.Remove(tree.root))
	must(t, syscall.Mkfifo(tree.root, 0o644))
	for _, err := range src.Objects(t.Context(), "") {
		if err == nil {
			t.Error("a pipe is listed as a directory")
		}
	}
}

// mayNotHang ends the test process if a test takes very long, because nothing else interrupts a
// blocked open.
func mayNotHang(t *testing.T) {
	timer := time.AfterFunc(time.Minute, func() { panic(t.Name() + " hangs") })
	t.Cleanup(func() { timer.Stop() })
}

// listenUnix creates a socket. It uses a relative name, because names of sockets must be short.
func listenUnix(t *testing.T, path string) {
	t.Helper()
	t.Chdir(filepath.Dir(path))
	l, err := net.Listen("unix", filepath.Base(path))
	must(t, err)
	t.Cleanup(func() { l.Close() })
}

// TestNamesThatAreNoText verifies that a name which is not valid text is listed and opened
// unchanged, if the file system accepts it.
func TestNamesThatAreNoText(t *testing.T) {
	tree := newTree(t)
	must(t, os.MkdirAll(tree.root, 0o755))
	name := "caf\xe9/\xff.jpg"
	if err := os.Mkdir(tree.path("caf\xe9"), 0o755); err != nil {
		t.Skip("this file system wants UTF-8:", err)
	}
	tree.write(name, []byte("latin-1"))
	wantListing(t, tree.source(local.Options{}), [2]string{name, ok})
}
