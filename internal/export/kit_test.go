package export

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/token"
	"assetferry/sources/ckbox"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// A world is a stand-in with a library in it, and a directory to export to.
type world struct {
	testing.TB
	running sandboxtest.Running
	client  *assets.Client
	dir     string
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	var calls atomic.Int64
	start := time.Now()
	s := sandboxtest.Run(tb, sandbox.Options{Now: func() time.Time { // all times differ
		return start.Add(time.Duration(calls.Add(1)) * time.Millisecond)
	}})
	minter, err := token.NewMinter(token.NewSecret(string(s.Environment.AccessKey)), token.Claims{Environment: s.Environment.ID})
	must(tb, err)
	c, err := assets.New(assets.Options{BaseURL: s.URL, Tokens: minter})
	must(tb, err)
	tb.Cleanup(c.CloseIdleConnections)
	for category, err := range c.Categories(tb.Context()) {
		must(tb, err)
		must(tb, c.DeleteCategory(tb.Context(), category.ID))
	}
	return &world{tb, s, c, filepath.Join(tb.TempDir(), "export")}
}

func (w *world) category(name string, private bool) string {
	w.Helper()
	id, err := w.client.CreateCategory(w.Context(), assets.NewCategory{Name: name, Extensions: []string{"txt", "json", "png", "xmp"}, Private: private})
	must(w, err)
	return id
}

// configure changes the settings of a category but not its extensions.
func (w *world) configure(name string, as assets.NewCategory) {
	w.Helper()
	for c, err := range w.client.Categories(w.Context()) {
		must(w, err)
		if c.Name == name {
			as.Extensions = c.Extensions
			_, err := w.client.ConfigureCategory(w.Context(), c.ID, as)
			must(w, err)
		}
	}
}

// categoryNamed returns the ID of a category.
func (w *world) categoryNamed(name string) (id string) {
	w.Helper()
	for c, err := range w.client.Categories(w.Context()) {
		must(w, err)
		if c.Name == name {
			id = c.ID
		}
	}
	return id
}

func (w *world) folder(category, parent, name string) string {
	w.Helper()
	id, err := w.client.CreateFolder(w.Context(), assets.NewFolder{CategoryID: category, ParentID: parent, Name: name})
	must(w, err)
	return id
}

func (w *world) upload(category, folder, name, content string) string {
	w.Helper()
	a, err := w.client.Upload(w.Context(), assets.Upload{CategoryID: category, FolderID: folder, Filename: name, Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }})
	must(w, err)
	return a.ID
}

func (w *world) source() *ckbox.Source {
	id := w.running.Environment.ID
	return ckbox.New(w.client, ckbox.Options{Environment: id, Workspace: id, Attribute: "assetferry"})
}

// A recorder records the events of an export.
type recorder struct {
	mu       sync.Mutex
	outcomes map[string]Outcome // by key

	staysPrivate []string
}

func (r *recorder) add(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[string(o.Key)] = o
}

// actions counts the outcomes by action.
func (r *recorder) actions() map[Action]int {
	n := map[Action]int{}
	for _, o := range r.outcomes {
		if o.Err != nil {
			n["failed"]++
		} else {
			n[o.Action]++
		}
	}
	return n
}

// export exports into the directory, or another store.
func (w *world) export(change ...func(*Exporter)) (*recorder, error) {
	w.Helper()
	d := OpenDirectory(w.dir)
	r := &recorder{outcomes: map[string]Outcome{}}
	e := Exporter{Library: w.source(), Store: d, Now: time.Now, Concurrency: 3, Outcome: r.add, Progress: func(int64) {},
		StaysPrivate: func(category string) { r.staysPrivate = append(r.staysPrivate, category) }}
	for _, c := range change {
		c(&e)
	}
	err := e.Run(w.Context())
	return r, errors.Join(err, d.Close())
}

// files returns everything in the directory by its path.
func (w *world) files() map[string]string {
	w.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(w.dir, path)
		found[filepath.ToSlash(name)] = string(data)
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		must(w, err)
	}
	return found
}

func picture(tb testing.TB) string {
	tb.Helper()
	var b bytes.Buffer
	must(tb, png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))))
	return b.String()
}
