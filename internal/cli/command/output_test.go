package command

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test verifies that a file name may be as long as the file system allows, although the name of
// its draft is longer.
func TestWriteNewLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("é", 125)+".jpg")
	if err := WriteNew(path, false, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Error(err)
	}
}

// The test verifies that after a failure the existing file is unchanged, and that no draft is left.
func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	cut := errors.New("cut")
	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, werr := io.WriteString(w, s)
			return errors.Join(werr, err)
		}
	}
	for _, step := range []struct {
		write func(io.Writer) error
		force bool
		fails bool
		want  string // content at the end; empty: no file
	}{
		{text("half", cut), false, true, ""},
		{text("one", nil), false, false, "one"},
		{text("two", nil), false, true, "one"},
		{text("half", cut), true, true, "one"},
		{text("two", nil), true, false, "two"},
	} {
		err := WriteNew(path, step.force, step.write)
		got, _ := os.ReadFile(path)
		if (err != nil) != step.fails || string(got) != step.want {
			t.Errorf("got %v and %q, want %q", err, got, step.want)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "x" {
			t.Errorf("in the folder: %v (%v)", entries, err)
		}
	}
	// Another process may create the file first.
	late := filepath.Join(dir, "late")
	err := WriteNew(late, false, func(io.Writer) error { return os.WriteFile(late, []byte("theirs"), 0o600) })
	if got, _ := os.ReadFile(late); err == nil || string(got) != "theirs" {
		t.Errorf("got %v and %q", err, got)
	}
}
