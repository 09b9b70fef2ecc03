package memory_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/sources/sourcetest"
)

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(_ testing.TB, files []sourcetest.File) sourcetest.Fixture {
		src := new(memory.Source)
		for _, f := range files {
			src.Put(f.Key, f.Content)
		}
		return sourcetest.Fixture{
			Source: src,
			Put:    func(f sourcetest.File) error { src.Put(f.Key, f.Content); return nil },
			Remove: func(k sources.Key) error { src.Delete(k); return nil },
			Vanish: func() error { src.Vanish(); return nil },

			KeepVersions: func() error { src.Versioned = true; return nil },
			DropVersion:  func(o sources.Object) error { src.DropVersion(o); return nil },
		}
	})
}

func TestPutKeepsWhatItIsGiven(t *testing.T) {
	var src memory.Source
	want := sources.Object{Key: "a", ContentType: "image/png", Time: time.Unix(9, 0).UTC()}
	got := src.PutObject(want, []byte("xyz"))
	want.Size, want.VersionTag = 3, "1"
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestContentIsTheSourcesOwn(t *testing.T) {
	var src memory.Source
	content := []byte("before")
	o := src.Put("a", content)
	copy(content, "after!")
	r, err := src.Open(t.Context(), o, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "before" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReplace(t *testing.T) {
	var src memory.Source
	src.Put("old", nil)
	src.Replace(map[sources.Key][]byte{"new": []byte("n"), "other": nil})
	if err := sourcetest.Check(t.Context(), &src, "new", "other"); err != nil {
		t.Error(err)
	}
}

func TestObstacles(t *testing.T) {
	var src memory.Source
	want := sources.Object{Key: "locked", Obstacle: sources.Unreadable}
	got := src.PutObject(want, nil)
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	_, err := src.Open(t.Context(), got, 0)
	if e, ok := errors.AsType[*sources.Error](err); !ok || e.Key != "locked" {
		t.Errorf("Open: %v, want an error that names the key", err)
	}
}
