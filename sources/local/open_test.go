package local_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"
	"time"

	"assetferry/sources"
	"assetferry/sources/local"
)

// TestChangesDuringReading verifies that reading a file fails if it grows, shrinks or is written to
// meanwhile, even if all bytes were read.
func TestChangesDuringReading(t *testing.T) {
	for name, change := range map[string]func(*tree){
		"grows":            func(t *tree) { appendTo(t, "file", "more") },
		"shrinks":          func(t *tree) { must(t.tb, os.Truncate(t.path("file"), 1)) },
		"is emptied":       func(t *tree) { must(t.tb, os.Truncate(t.path("file"), 0)) },
		"is written over":  func(t *tree) { t.write("file", []byte("CONTENT")) },
		"has another time": func(t *tree) { must(t.tb, os.Chtimes(t.path("file"), time.Time{}, time.Unix(1, 0))) },
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			tree.write("file", []byte("content"))
			r := open(t, tree.source(local.Options{}))
			if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			change(tree)
			if _, err := io.ReadAll(r); !errors.Is(err, sources.ErrChanged) {
				t.Errorf("got %v, want %v", err, sources.ErrChanged)
			}
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, sources.ErrChanged) {
				t.Errorf("read again: got %v, want %v", err, sources.ErrChanged)
			}
		})
	}
}

func appendTo(t *tree, key, content string) {
	f, err := os.OpenFile(t.path(key), os.O_APPEND|os.O_WRONLY, 0)
	must(t.tb, err)
	_, err = f.WriteString(content)
	must(t.tb, errors.Join(err, f.Close()))
}

// TestChangesBeforeReading verifies that a file which changed after the listing is not opened.
func TestChangesBeforeReading(t *testing.T) {
	for name, change := range map[string]func(*tree){
		"grows":           func(t *tree) { appendTo(t, "file", "more") },
		"shrinks":         func(t *tree) { must(t.tb, os.Truncate(t.path("file"), 1)) },
		"is emptied":      func(t *tree) { must(t.tb, os.Truncate(t.path("file"), 0)) },
		"is written over": func(t *tree) { t.write("file", []byte("CONTENT")) },
		"is another file": func(t *tree) {
			t.write("other", []byte("another"))
			must(t.tb, os.Rename(t.path("other"), t.path("file")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t)
			tree.write("file", []byte("content"))
			src := tree.source(local.Options{})
			o := only(t, src)
			change(tree)
			r, err := src.Open(t.Context(), o, 0)
			if !errors.Is(err, sources.ErrChanged) {
				t.Errorf("got %v, want %v", err, sources.ErrChanged)
			}
			if err == nil {
				must(t, r.Close())
			}
		})
	}
}

// TestContentThatChangesInSecret shows the limit of detection: content of the same size, with the
// time reset.
func TestContentThatChangesInSecret(t *testing.T) {
	tree := newTree(t)
	tree.write("file", []byte("content"))
	src := tree.source(local.Options{})
	o := only(t, src)
	tree.now = tree.now.Add(-time.Second) // so that the next write has the same time
	tree.write("file", []byte("CONTENT"))
	r, err := src.Open(t.Context(), o, 0)
	must(t, err)
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "CONTENT" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestReplacedDuringReading verifies that a file which is replaced by another one is read to its
// end unchanged.
func TestReplacedDuringReading(t *testing.T) {
	tree := newTree(t)
	tree.write("file", []byte("content"))
	r := open(t, tree.source(local.Options{}))
	tree.write("other", []byte("another"))
	if err := os.Rename(tree.path("other"), tree.path("file")); err != nil {
		t.Skip("a file in use cannot be replaced here:", err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "content" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCancelledReading(t *testing.T) {
	tree := newTree(t)
	tree.write("file", []byte("content"))
	src := tree.source(local.Options{})
	o := only(t, src)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := src.Open(ctx, o, 0)
	must(t, err)
	defer r.Close()
	cancel(cause)
	if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, cause) {
		t.Errorf("Read: %d, %v, want %v", n, err, cause)
	}
	if _, err := src.Open(ctx, o, 0); !errors.Is(err, cause) {
		t.Errorf("Open: %v, want %v", err, cause)
	}
}

func TestOffsetsOutOfRange(t *testing.T) {
	tree := newTree(t)
	tree.write("file", []byte("content"))
	src := tree.source(local.Options{})
	for _, offset := range []int64{-1, 8} {
		if _, err := src.Open(t.Context(), only(t, src), offset); err == nil {
			t.Errorf("offset %d opens", offset)
		}
	}
}

func TestErrorsReportWhatAndWhere(t *testing.T) {
	tree := newTree(t)
	tree.write("dir/file", []byte("content"))
	src := tree.source(local.Options{})
	o := only(t, src)
	must(t, os.RemoveAll(tree.path("dir")))
	tree.write("dir", nil) // a file now
	_, err := src.Open(t.Context(), o, 0)
	e, isError := errors.AsType[*sources.Error](err)
	if !isError || e.Op != "open" || e.Source != tree.root || e.Key != o.Key || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %#v", err)
	}
}

func open(tb testing.TB, src sources.Source) io.ReadCloser {
	tb.Helper()
	r, err := src.Open(tb.Context(), only(tb, src), 0)
	must(tb, err)
	tb.Cleanup(func() { r.Close() })
	return r
}

// TestFind verifies that a file is found as the listing has it, and that nothing else is an object.
func TestFind(t *testing.T) {
	tree := newTree(t)
	tree.write("dir/file", []byte("content"))
	src := tree.source(local.Options{})
	o, err := src.Find(t.Context(), "dir/file")
	must(t, err)
	if want := only(t, src); o != want {
		t.Errorf("found %+v, listed %+v", o, want)
	}
	for _, key := range []sources.Key{"dir/none", "none/file", "dir/file/below"} {
		if _, err := src.Find(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if o, err := src.Find(t.Context(), "dir"); err != nil || o.Obstacle != sources.Special {
		t.Errorf("a directory: %+v, %v", o, err)
	}
	for _, key := range []sources.Key{"../" + sources.Key(tree.path("dir/file")), "", "/dir/file", "dir/../dir/file"} {
		if o, err := src.Find(t.Context(), key); err == nil {
			t.Errorf("%s is %+v", key, o)
		}
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := src.Find(ctx, "dir/file"); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}
