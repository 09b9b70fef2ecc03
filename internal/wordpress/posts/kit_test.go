package posts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/event"
	"assetferry/internal/outbound"
	"assetferry/internal/rewrite"
	"assetferry/internal/wordpress"
	"assetferry/internal/wordpress/blocks"
)

const (
	oldImage = "https://blog.example.com/wp-content/uploads/a.jpg"
	newImage = "https://assets.example.com/env/assets/p1/file"
)

// errDead is the error of each request after the process would have died.
var errDead = errors.New("the process is dead")

// A fakeSite is a site in memory.
type fakeSite struct {
	types    map[string]map[string]any
	posts    map[string]map[string]any // by route
	account  wordpress.Account
	site     wordpress.Site
	answers  map[string]any // of other routes
	clock    int
	saved    func(route string, p map[string]any) // changes a post that is saved
	before   func(method, route string)           // is called before each request
	requests int
	lives    int  // requests until the process dies; 0 means never
	dieAfter bool // the last request is done, but its response is lost
	writes   []string
	large    map[string]bool // routes whose content does not fit into a response
}

func newSite(contents ...string) *fakeSite {
	f := &fakeSite{
		types:   map[string]map[string]any{"post": {"rest_base": "posts"}, "attachment": {"rest_base": "media"}, "nav_menu_item": {"rest_base": "menu-items"}},
		posts:   map[string]map[string]any{},
		account: wordpress.Account{Name: "Jo", Capabilities: map[string]bool{unfiltered: true, wordpress.EditOthers: true}},
		answers: map[string]any{},
	}
	for n, text := range contents {
		f.add("posts", n+1, text)
	}
	return f
}

func (f *fakeSite) add(base string, id any, text string) map[string]any {
	p := map[string]any{
		"id": id, "status": "publish", "date": "2024-01-02T03:04:05", "modified_gmt": "2024-01-02T03:04:05", "title": map[string]any{"raw": "T", "rendered": "<b>T</b>"},
		"author": 1, "categories": []int{1, 2}, "content": map[string]any{"raw": text, "rendered": "<p>" + text + "</p>"},
		"_links": map[string]any{"wp:action-publish": []int{}, "wp:action-unfiltered-html": []int{}},
	}
	f.posts[fmt.Sprintf("/wp/v2/%s/%v", base, id)] = p
	return p
}

func (f *fakeSite) content(route string) string {
	return f.posts[route]["content"].(map[string]any)["raw"].(string)
}

func (f *fakeSite) contents() map[string]string {
	all := map[string]string{}
	for route := range f.posts {
		all[route] = f.content(route)
	}
	return all
}

// request counts a request, and reports whether its response is lost.
func (f *fakeSite) request(method, route string) (isLost bool, err error) {
	if f.before != nil {
		f.before(method, route)
	}
	f.requests++
	switch {
	case f.lives == 0 || f.requests < f.lives:
		return false, nil
	case f.requests == f.lives && f.dieAfter:
		return true, nil
	}
	return false, errDead
}

// give converts a value to another type by its JSON, as a transfer does.
func give(value, into any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (f *fakeSite) Get(_ context.Context, path string, _ url.Values, into any) error {
	if lost, err := f.request("GET", path); lost || err != nil {
		return errDead
	}
	switch p, ok := f.posts[path]; {
	case f.large[path]:
		return &outbound.TooLargeError{}
	case ok:
		return give(p, into)
	case path == "/wp/v2/types":
		return give(f.types, into)
	case f.answers[path] != nil:
		return give(f.answers[path], into)
	}
	return nil
}

func (f *fakeSite) Post(_ context.Context, path string, body, _ any) error {
	lost, err := f.request("POST", path)
	if err != nil {
		return err
	}
	p := f.posts[path]
	p["content"].(map[string]any)["raw"] = body.(map[string]string)["content"]
	f.clock++
	p["modified_gmt"] = fmt.Sprintf("2024-02-01T00:00:%02d", f.clock)
	f.writes = append(f.writes, path)
	if f.saved != nil {
		f.saved(path, p)
	}
	if lost {
		return errDead
	}
	return nil
}

func (f *fakeSite) List(_ context.Context, path string, query url.Values) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if lost, err := f.request("LIST", path); lost || err != nil {
			yield(nil, errDead)
			return
		}
		for _, route := range slices.Sorted(maps.Keys(f.posts)) {
			if !strings.HasPrefix(route, path+"/") {
				continue
			}
			if f.large[route] && query.Get("_fields") != "id" {
				yield(nil, &outbound.TooLargeError{})
				return
			}
			text, err := json.Marshal(f.posts[route])
			if !yield(text, err) {
				return
			}
		}
	}
}

func (f *fakeSite) Site(context.Context) (wordpress.Site, error) { return f.site, nil }

func (f *fakeSite) Account(context.Context) (wordpress.Account, error) { return f.account, nil }

// A watch records events.
type watch struct{ lines []string }

func (w *watch) log(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *watch) Skipped(rewrite.File, bool)      {}
func (w *watch) Failed(path string, err error)   { w.log("failed %s: %v", path, err) }
func (w *watch) Replaced(path, _ string)         { w.log("replaced %s", path) }
func (w *watch) Spot(string, rewrite.Spot)       {}
func (w *watch) Done(string, int64)              {}
func (w *watch) Restored(path string)            { w.log("restored %s", path) }
func (w *watch) Kept(name string, l blocks.Left) { w.log("kept %s %s", name, l.Why) }
func (w *watch) Unreached(name, kind string)     { w.log("unreached %s %s", name, kind) }
func (w *watch) Hunk(name string, h rewrite.Hunk) error {
	w.log("%s:%d -%s +%s", name, h.Line, h.Old, h.New)
	return nil
}

// newSession returns a session with one migrated image. It writes if there is a folder for backups.
func newSession(t *testing.T, site *fakeSite, backups string) (*Session, *watch) {
	t.Helper()
	m := filepath.Join(t.TempDir(), "map.tsv")
	must(t, os.WriteFile(m, []byte(oldImage+"\t"+newImage+"\n"), 0o600))
	redirects, err := rewrite.OpenMapFile(m)
	must(t, err)
	t.Cleanup(func() { must(t, redirects.Close()) })
	sizes := rewrite.WithSizes(t.Context(), redirects, nil)
	r, err := rewrite.New(sizes, redirects.Old(), redirects.Assets().Current())
	must(t, err)
	w := &watch{}
	texts := rewrite.NewSession(r, &event.Rewritten{Kept: event.Counts{}}, w)
	texts.Excerpts = true
	if backups != "" {
		texts.Backup, err = rewrite.NewBackup(backups, time.Now())
		must(t, err)
	}
	return New(site, "wordpress+https://blog.example.com", texts, sizes, w), w
}

// originals returns the originals in all backups below a folder, by name.
func originals(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := filepath.Glob(filepath.Join(root, "*", "*"+contentEnding))
	must(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		must(t, err)
		if was, again := all[filepath.Base(name)]; again && was != string(text) {
			t.Errorf("%s: two originals differ", name)
		}
		all[filepath.Base(name)] = string(text)
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// image returns the content of a post with an image.
func image(url string) string {
	return `<p>` + strings.Repeat("я", 3) + `</p>` + "\n" + `<a href="` + url + `">x</a>`
}

func has(lines []string, part string) bool {
	return bytes.Contains([]byte(strings.Join(lines, "\n")), []byte(part))
}
