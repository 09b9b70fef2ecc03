package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/gif"
	_ "image/jpeg"
	_ "image/png"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
	"golang.org/x/text/unicode/norm"
)

// TestMain writes one library for all tests: it takes a while under the race detector.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "demo")
	if err != nil {
		log.Fatal(err)
	}
	shared.dir = filepath.Join(dir, "new", "library")
	if shared.summary, err = WriteLibrary(shared.dir); err != nil {
		log.Fatal(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

var shared struct {
	dir     string
	summary Summary
}

// written returns the files of the library by their names.
func written(t *testing.T) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	root := os.DirFS(shared.dir)
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = fs.ReadFile(root, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestLibrary(t *testing.T) {
	s, files := shared.summary, written(t)
	var size int64
	for _, content := range files {
		size += int64(len(content))
	}
	if s.Files != len(files) || s.Bytes != size {
		t.Errorf("the summary says %d files and %d bytes, there are %d and %d", s.Files, s.Bytes, len(files), size)
	}
	if s.Files < 60 || s.Files > 80 || s.Bytes < 3e6 || s.Bytes > 6e6 {
		t.Errorf("%d files, %d bytes: not the size we promise", s.Files, s.Bytes)
	}
	if missing := len(library()) - s.Files; missing != len(s.Notes) {
		t.Errorf("%d files are missing, notes %q", missing, s.Notes)
	}
	if _, there := files["brand/logos/Logo.png"]; !there && runtime.GOOS == "linux" {
		t.Error("no case variant")
	}

	const nfd = "photos/2024/market/cafe\u0301.jpg"
	for name, content := range files {
		if !norm.NFC.IsNormalString(name) && name != nfd {
			t.Errorf("%q is not in NFC", name)
		}
		if len(content) == 0 && name != "documents/notes/empty.txt" {
			t.Errorf("%s is empty", name)
		}
	}
	for _, name := range []string{nfd, "documents/notes/empty.txt", "documents/models/pier.xyz", "photos/.DS_Store"} {
		if _, ok := files[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	if _, ok := files[norm.NFC.String(nfd)]; ok {
		t.Error("the composed form of the name is there too")
	}
}

func TestLibraryIsTheSameEveryTime(t *testing.T) {
	files := written(t)
	for i, f := range library() {
		if i%5 != 0 && strings.EqualFold(filepath.Ext(f.name), ".jpg") {
			continue // some of the photos will do
		}
		again, err := f.content()
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := files[f.name]; ok && !bytes.Equal(again, before) {
			t.Errorf("%s differs", f.name)
		}
	}
	// The drawing must not depend on the processor either.
	for _, scene := range []struct {
		name   string
		pixels []byte
		want   string
	}{
		{"harbour", harbourScene(160, 107, 1).Pix, "1ffaa008e537705a"},
		{"market", marketScene(160, 107, 1).Pix, "774e6c77db369f88"},
		{"portrait", portraitScene(120, 160, 1).Pix, "14dcad63e421f430"},
	} {
		sum := sha256.Sum256(scene.pixels)
		if got := hex.EncodeToString(sum[:8]); got != scene.want {
			t.Errorf("%s is drawn in another way: %s, want %s", scene.name, got, scene.want)
		}
	}
}

func TestEveryPictureDecodes(t *testing.T) {
	files := written(t)
	formats := make(map[string]int)
	for name, content := range files {
		want := map[string]string{".jpg": "jpeg", ".png": "png", ".gif": "gif", ".tif": "tiff", ".tiff": "tiff", ".webp": "webp"}[strings.ToLower(filepath.Ext(name))]
		if want == "" {
			continue
		}
		m, format, err := image.Decode(bytes.NewReader(content))
		if name == "photos/2025/broken.jpg" {
			if err == nil {
				t.Errorf("%s is a picture, but should be broken", name)
			}
			continue
		}
		if err != nil || format != want {
			t.Errorf("%s: %s, %v", name, format, err)
			continue
		}
		formats[format]++
		if size := m.Bounds().Size(); size.X < 32 || size.Y < 32 || size.X > 1600 {
			t.Errorf("%s is %v", name, size)
		}
	}
	for _, format := range []string{"jpeg", "png", "gif", "tiff", "webp"} {
		if formats[format] < 3 {
			t.Errorf("only %d of %s", formats[format], format)
		}
	}

	animation, err := gif.DecodeAll(bytes.NewReader(files["web/loading.gif"]))
	if err != nil || len(animation.Image) != 12 {
		t.Errorf("animation: %v", err)
	}
	transparent, _, err := image.Decode(bytes.NewReader(files["brand/logos/logo.png"]))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, alpha := transparent.At(0, 0).RGBA(); alpha != 0 {
		t.Errorf("the corner of the logo has alpha %d", alpha)
	}
}

func TestTextIsUTF8(t *testing.T) {
	files := written(t)
	for name, content := range files {
		if slices.Contains([]string{".md", ".txt", ".csv", ".xyz"}, filepath.Ext(name)) && !utf8.Valid(content) {
			t.Errorf("%s is not UTF-8", name)
		}
	}
}

func TestTimesAreFixed(t *testing.T) {
	for _, f := range library() {
		info, err := os.Stat(filepath.Join(shared.dir, filepath.FromSlash(f.name)))
		if err != nil {
			if f.caseVariant {
				continue
			}
			t.Fatal(err)
		}
		if !info.ModTime().Equal(f.time) || f.time.Year() < 2022 || f.time.Year() > 2025 {
			t.Errorf("%s has the time %v, want %v", f.name, info.ModTime(), f.time)
		}
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	files := []file{{name: "a/b.txt"}}
	if _, err := (Library{files, [][]byte{[]byte("1")}}).Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := (Library{files, [][]byte{[]byte("2")}}).Write(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want %v", err, fs.ErrExist)
	}
}

func TestCaseVariantOnAnInsensitiveFileSystem(t *testing.T) {
	// Such a file system reports that the second name exists.
	files := []file{{name: "logo.png"}, {name: "logo.png", caseVariant: true}, {name: "more.png"}}
	s, err := Library{files, [][]byte{{1}, {2}, {3}}}.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"logo.png is not written: this file system ignores case"}
	if !slices.Equal(s.Notes, want) || s.Files != 2 || s.Bytes != 2 {
		t.Errorf("got %+v, want 2 files and the notes %q", s, want)
	}
}
