package enrich

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/state"
	"assetferry/state/enrichment"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// A world is a destination and an AI content service in memory, with a state database. A fault
// can be set for the n-th request of the engine.
type world struct {
	testing.TB
	store *enrichment.Store

	mu      sync.Mutex
	assets  map[string]*assets.Asset
	files   map[string][]byte
	talks   map[string]*talk
	billed  int
	asked   map[string]int // questions with a picture, by its name
	answers func(prompt string) string
	updates int
	private bool     // the category
	given   []string // the contexts of each call that was billed

	calls int
	fault fault
	ends  error // of the writing that is being carried out
}

// A talk is a conversation at the service.
type talk struct {
	files     map[string]string // names by id
	questions int
	reply     string
}

// A fault affects one request. Lost is an answer that did not arrive although the request was
// executed. After a kill nothing happens any more.
type fault struct {
	at         int // from 1; 0: never
	lost, kill bool
	err        error
	struck     bool
}

var errKilled = errors.New("killed")

const library = "environment/workspace"

// newWorld returns a destination with n assets without descriptions.
func newWorld(tb testing.TB, n int) *world {
	tb.Helper()
	store, err := state.Open(tb.Context(), filepath.Join(tb.TempDir(), "journal.db"))
	must(tb, err)
	tb.Cleanup(func() { must(tb, store.Close()) })
	w := &world{TB: tb, store: enrichment.In(store), assets: map[string]*assets.Asset{}, files: map[string][]byte{}, talks: map[string]*talk{}, asked: map[string]int{}}
	store.SetHook(w.hook)
	w.answers = func(string) string {
		return `{"alt": "A made-up picture", "tags": ["one", "two"], "decorative": false}`
	}
	for i := range n {
		w.add(fmt.Sprintf("asset%02d", i), "")
	}
	return w
}

// add adds an asset with its own image.
func (w *world) add(id, description string) *assets.Asset {
	w.Helper()
	var b bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, 4, 4))
	m.Set(0, 0, color.Gray{uint8(len(w.assets))})
	must(w, png.Encode(&b, m))
	a := &assets.Asset{ID: id, Name: "IMG_" + id, Extension: "png", CategoryID: "images", URL: "https://files.example.com/" + id, Size: int64(b.Len()), Tags: []string{"old"}}
	a.Metadata.Description, a.Metadata.Width, a.Metadata.Height = description, 4, 4
	a.Metadata.CustomAttributes = assets.Attributes{"id": json.Number("12345678901234567890")}
	w.assets[id], w.files[a.URL] = a, b.Bytes()
	return a
}

func (w *world) engine() *Engine {
	return New(Deps{Store: w.store, Library: w, Writer: w, Service: w, Host: "ai.example.com", Destination: library, Concurrency: 1, ConfirmTimeout: time.Nanosecond})
}

// ask runs an audit and a request, which change can modify.
func (w *world) ask(e *Engine, change func(*Request)) (Result, error) {
	w.Helper()
	must(w, New(Deps{Store: w.store, Library: w.unfailing(), Destination: library}).Audit(w.Context(), "en"))
	r := Request{Kind: enrichment.KindDescribe, Language: "en", Model: Model{ID: "agent-1"}}
	if change != nil {
		change(&r)
	}
	return e.Ask(w.Context(), r)
}

// unfailing returns the destination without faults.
func (w *world) unfailing() Library {
	return &world{TB: w.TB, assets: w.assets, files: w.files}
}

// accept accepts all proposals.
func (w *world) accept() {
	w.Helper()
	var nums []int64
	for c, err := range w.store.Enrichments(w.Context(), library, enrichment.Filter{States: []enrichment.State{enrichment.Proposed}}) {
		must(w, err)
		nums = append(nums, c.Enrichment.Num)
	}
	refused, err := w.engine().Accept(w.Context(), nums...)
	must(w, err)
	if len(refused) > 0 {
		w.Errorf("refused to accept %v", refused)
	}
}

func (w *world) enrichments() (all []enrichment.Enrichment) {
	w.Helper()
	for c, err := range w.store.Enrichments(w.Context(), library, enrichment.Filter{}) {
		must(w, err)
		all = append(all, *c.Enrichment)
	}
	return all
}

func (w *world) states() map[enrichment.State]int {
	w.Helper()
	counts := map[enrichment.State]int{}
	for _, e := range w.enrichments() {
		counts[e.State]++
	}
	return counts
}

// call counts a request and lets it fail at the chosen point, before or after its execution.
func (w *world) call(carryOut func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	begins, ends := w.strike()
	if begins != nil {
		return begins
	}
	if err := carryOut(); err != nil {
		return err
	}
	return ends
}

// hook lets the storage of requests and changes fail.
func (w *world) hook(op string, done bool) error {
	if !slices.Contains([]string{"begin run", "note questions", "record answers", "abandon questions", "forget conversation",
		"finish run", "note change", "record change", "note undo", "record undo", "mark decorative"}, op) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if done {
		return w.ends
	}
	begins, ends := w.strike()
	w.ends = ends
	return begins
}

// strike counts a request and returns its errors before and after execution.
func (w *world) strike() (begins, ends error) {
	w.calls++
	f := &w.fault
	if !(f.at > 0 && w.calls == f.at || f.kill && f.struck) {
		return nil, nil
	}
	first := !f.struck
	f.struck = true
	err := f.err
	if f.kill {
		err = errKilled
	}
	if first && f.lost {
		return nil, err
	}
	return err, nil
}

// again removes the fault, like a new process.
func (w *world) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls, w.fault = 0, fault{}
}

func (w *world) Categories(context.Context) iter.Seq2[assets.Category, error] {
	return func(yield func(assets.Category, error) bool) {
		yield(assets.Category{ID: "images", Name: "Images", Private: w.private}, nil)
	}
}

func (w *world) Folders(context.Context) ([]assets.Folder, error) { return nil, nil }

func (w *world) Folder(context.Context, string, int) (assets.Folder, error) {
	return assets.Folder{}, fs.ErrNotExist
}

func (w *world) List(_ context.Context, o assets.ListOptions) iter.Seq2[assets.Asset, error] {
	return func(yield func(assets.Asset, error) bool) {
		for _, id := range slices.Sorted(maps.Keys(w.assets)) {
			if !yield(*w.assets[id], nil) {
				return
			}
		}
	}
}

func (w *world) Asset(_ context.Context, id string) (a assets.Asset, err error) {
	err = w.call(func() error {
		found, ok := w.assets[id]
		if !ok {
			return &statusError{"not found", retry.Permanent, fs.ErrNotExist}
		}
		a = *found
		return nil
	})
	return a, err
}

func (w *world) Download(_ context.Context, url string, _ int64) (body io.ReadCloser, _ int64, err error) {
	err = w.call(func() error {
		content, ok := w.files[url]
		if !ok {
			return &statusError{"not found", retry.Permanent, fs.ErrNotExist}
		}
		body = io.NopCloser(bytes.NewReader(content))
		return nil
	})
	return body, -1, err
}

func (w *world) Update(_ context.Context, id string, c assets.Changes) (a assets.Asset, err error) {
	err = w.call(func() error {
		found := w.assets[id]
		w.updates++
		if c.Description != nil {
			found.Metadata.Description = *c.Description
		}
		if c.Tags != nil {
			found.Tags = slices.Clone(*c.Tags)
		}
		if c.CustomAttributes != nil {
			found.Metadata.CustomAttributes = maps.Clone(c.CustomAttributes)
		}
		a = *found
		return nil
	})
	return a, err
}

func (w *world) Converse(_ context.Context, id string) error {
	return w.call(func() error {
		if w.talks[id] != nil {
			return fs.ErrExist
		}
		w.talks[id] = &talk{files: map[string]string{}}
		return nil
	})
}

func (w *world) Attach(_ context.Context, id string, a Attachment) (file string, err error) {
	err = w.call(func() error {
		t := w.talks[id]
		if t == nil {
			return fs.ErrNotExist
		}
		file = fmt.Sprint("file", len(t.files))
		t.files[file] = a.Name
		return nil
	})
	return file, err
}

// Ask answers. The reply is stored even if the answer is lost.
func (w *world) Ask(_ context.Context, id string, q Question) (reply string, err error) {
	asked := false
	err = w.call(func() error {
		t := w.talks[id]
		if t == nil {
			return fs.ErrNotExist
		}
		asked = true
		w.given = append(w.given, fmt.Sprint(q.Contexts))
		for _, file := range q.Files {
			w.asked[t.files[file]]++
		}
		w.billed++
		t.questions++
		t.reply = w.answers(q.Prompt)
		reply = t.reply
		return nil
	})
	if asked && err != nil {
		return "", fmt.Errorf("%w: %w", ErrAsked, err)
	}
	return reply, err
}

func (w *world) Exchange(_ context.Context, id string) (said Exchange, err error) {
	err = w.call(func() error {
		t := w.talks[id]
		if t == nil {
			return fs.ErrNotExist
		}
		said = Exchange{t.questions, t.reply}
		return nil
	})
	return said, err
}

func (w *world) Forget(_ context.Context, id string) error {
	return w.call(func() error {
		delete(w.talks, id)
		return nil
	})
}

func (w *world) Review(_ context.Context, _, text string, contexts []ai.ContextRef) (changed map[string]string, err error) {
	err = w.call(func() error {
		w.given = append(w.given, fmt.Sprint(contexts))
		w.billed++
		changed = map[string]string{}
		for n, one := range elements(text) {
			if strings.Contains(one, "teh") {
				changed[fmt.Sprint(n)] = "<p>" + html.EscapeString(strings.ReplaceAll(one, "teh", "the")) + "</p>"
			}
		}
		return nil
	})
	return changed, err
}

func (w *world) Translate(_ context.Context, html, language string, contexts []ai.ContextRef) (translated string, err error) {
	err = w.call(func() error {
		w.given = append(w.given, fmt.Sprint(contexts))
		w.billed++
		translated = strings.ReplaceAll(html, ">A ", ">["+language+"] Ein ")
		return nil
	})
	return translated, err
}

func (w *world) Credits(context.Context, time.Time) (credits float64, err error) {
	err = w.call(func() error {
		credits = float64(w.billed) / 2
		return nil
	})
	return credits, err
}

// A statusError is an error of the service.
type statusError struct {
	text  string
	class retry.Class
	err   error
}

func (e *statusError) Error() string      { return e.text }
func (e *statusError) Class() retry.Class { return e.class }
func (e *statusError) Unwrap() error      { return e.err }
