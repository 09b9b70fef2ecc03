package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"assetferry/sources"
)

func TestMarkedDirectoryIsNoPart(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.jpg", "box/.keep-out", "box/key", "box/deep/b.jpg", "c/d.jpg"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(root, Options{Marker: ".keep-out"})
	if err != nil {
		t.Fatal(err)
	}
	var got []sources.Key
	for o, err := range s.Objects(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Key)
	}
	if len(got) != 2 || got[0] != "a.jpg" || got[1] != "c/d.jpg" {
		t.Errorf("got %q", got)
	}
}

// TestOddTimes verifies unusual file times: archives and reproducible builds set 0, and broken
// clocks anything.
func TestOddTimes(t *testing.T) {
	root := t.TempDir()
	s, err := New(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]time.Time{
		"epoch": time.Unix(0, 0), "future": time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC), "past": time.Date(1901, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		path := filepath.Join(root, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for o, err := range s.Objects(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if o.Key == "epoch" && !o.Time.Equal(time.Unix(0, 0)) { // others may have been bent by the file system
			t.Errorf("%s has time %v", o.Key, o.Time)
		}
		r, err := s.Open(t.Context(), o, 0)
		if err != nil {
			t.Errorf("%s: %v", o.Key, err)
			continue
		}
		r.Close()
	}
}
