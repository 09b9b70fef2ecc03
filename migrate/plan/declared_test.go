package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// A library is a source in memory, a sandbox behind HTTP with a category for images, and a state
// database.
type library struct {
	testing.TB
	source *memory.Source
	client *assets.Client
	store  *state.Store
	pair   state.Pair
	images string
	rest   func() // waits until the sandbox is done
}

func newLibrary(tb testing.TB) *library {
	tb.Helper()
	service := sandboxtest.Run(tb, sandbox.Options{})
	tokens, err := token.NewMinter(token.NewSecret(string(service.Environment.AccessKey)), token.Claims{Environment: service.Environment.ID})
	must(tb, err)
	wire := assets.NewTransport(nil)
	l := &library{TB: tb, source: &memory.Source{}}
	l.client, err = assets.New(assets.Options{BaseURL: service.URL, Tokens: tokens, Transport: wire, Retry: retry.Policy{Attempts: 1}})
	must(tb, err)
	l.store, err = state.Open(tb.Context(), filepath.Join(tb.TempDir(), "state.db"))
	must(tb, err)
	l.rest = func() {
		l.client.CloseIdleConnections()
		wire.CloseIdleConnections()
		service.Connections.Rest(tb)
	}
	tb.Cleanup(func() {
		l.rest()
		must(tb, l.store.Close())
	})
	l.pair, err = l.store.Pair(tb.Context(), "memory", "environment", service.URL)
	must(tb, err)
	l.images, err = l.client.CreateCategory(tb.Context(), assets.NewCategory{Name: "Images of all", Extensions: []string{"jpg"}})
	must(tb, err)
	return l
}

// rules returns rules under which every pass has an effect.
func (l *library) rules() migrate.Rules {
	r := migrate.DefaultRules()
	r.Category, r.Duplicates, r.Sync = "Images of all", oneAsset, migrate.DefaultSyncRules()
	r.Sync.Delete, r.Sync.GracePeriod = "trash", 0
	return r
}

func (l *library) begin() (*Planner, state.Run) {
	l.Helper()
	r := l.rules()
	rules, err := json.Marshal(r)
	must(l, err)
	run, err := l.store.Begin(l.Context(), l.pair, migrate.SyncCommand, rules)
	must(l, err)
	p := New(migrate.Deps{Source: l.source, Dest: l.client, State: l.store}, r)
	p.ResponseTimeout = time.Millisecond
	return p, run
}

func (l *library) sync() {
	l.Helper()
	p, run := l.begin()
	plan, err := p.Plan(l.Context(), run)
	must(l, err)
	l.rest()
	a := apply.New(p.Deps, l.client)
	a.ConfirmTimeout, a.ResponseTimeout, a.Wait, a.RetryPauses = time.Millisecond, time.Millisecond, 0, []time.Duration{time.Millisecond}
	must(l, a.Apply(l.Context(), plan.Run))
	l.rest()
}

func (l *library) put(keysAndContents ...string) {
	for n := 0; n < len(keysAndContents); n += 2 {
		l.source.Put(sources.Key(keysAndContents[n]), []byte(keysAndContents[n+1]))
	}
}

// snapshot returns the present values of the findings in memory.
func (h *handover) snapshot() map[finding]string {
	s := map[finding]string{
		theListing: fmt.Sprint(*h.listing), theDeleted: fmt.Sprint(*h.deleted), theFollowed: fmt.Sprint(h.followed), theUnread: fmt.Sprint(h.unread), theClaimed: fmt.Sprint(h.claimed),
		theHeldDeletes: fmt.Sprint(*h.held), theMissingOwners: fmt.Sprint(h.lost), theCursor: fmt.Sprint(*h.cursor), theDuplicateNames: fmt.Sprint(h.doubled.Load()),
		theViolations: fmt.Sprint(len(h.violated.all)), thePlaces: fmt.Sprint(h.places.containers, h.places.creates, h.places.limits),
	}
	if p := h.places.placer; p != nil {
		s[thePlaces] += fmt.Sprint(*p)
	}
	return s
}

// shut is a source that fails to open one object.
type shut struct{ sources.Source }

func (s shut) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if o.Key == "shut.jpg" {
		return nil, &sources.Error{Op: "open", Source: "memory", Key: o.Key, Err: fs.ErrPermission}
	}
	return s.Source.Open(ctx, o, offset)
}

// TestPassesWriteWhatTheyDeclare verifies that each pass changes only the findings that it declares
// to write. Its library contains every case that a plan handles, so that each declared finding is
// written.
func TestPassesWriteWhatTheyDeclare(t *testing.T) {
	l := newLibrary(t)
	l.put("Case.jpg", "before", "changed.jpg", "former", "drift.jpg", "drift", "gone.jpg", "gone", "move.jpg", "moved", "owner.jpg", "equal")
	l.sync()
	l.source.Delete("gone.jpg")
	l.sync()
	for _, name := range []string{"claimed.jpg", "double.jpg", "double.jpg"} {
		u := assets.Upload{CategoryID: l.images, Filename: name, Size: int64(len(name))}
		u.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(name)), nil }
		_, err := l.client.Upload(t.Context(), u)
		must(t, err)
	}
	for _, key := range []sources.Key{"drift.jpg", "owner.jpg"} {
		r, err := l.store.Receipt(t.Context(), l.pair.ID, key)
		must(t, err)
		must(t, l.client.Trash(t.Context(), r.Asset))
	}
	l.source.Delete("Case.jpg")
	l.source.Delete("move.jpg")
	l.put("case.jpg", "after", "changed.jpg", "now", "claimed.jpg", "claimed.jpg", "moved.jpg", "moved", "shut.jpg", "shut!", "with.jpg", "equal")

	p, run := l.begin()
	p.DriftShare, p.SafetyChecks, p.Source = 0.4, safety.SafetyChecks{}, shut{l.source}
	run, err := l.store.Run(t.Context(), run.ID)
	must(t, err)
	shared := &planning{Planner: p, run: run, started: p.Now()}
	h := newHandover(shared)
	written := map[finding]bool{}
	for _, pass := range shared.passes(h) {
		before := h.snapshot()
		must(t, pass.step.do(t.Context()))
		for f, now := range h.snapshot() {
			if now == before[f] {
				continue
			}
			written[f] = true
			if !slices.Contains(slices.Concat(pass.updates, pass.writes), f) {
				t.Errorf("%q does not declare that it writes %q: %s became %s", pass.name, f, before[f], now)
			}
		}
	}
	for f := range h.snapshot() {
		if !written[f] {
			t.Errorf("no pass has written %q", f)
		}
	}
}
