// Package engine tests the engine as a whole: it plans, applies, undoes and verifies runs against
// the sandbox, and injects failed calls, killed processes and changes by users. It uses only the
// exported API of package migrate and the packages below it, as commands do. This file has the
// world that the tests use.
package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/openapitest"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/test/longtest"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

// slowdown is the factor by which the longest tests try fewer cases than in their long forms.
var slowdown = longtest.Fewer(longtest.Size(16, 1), 16)

func TestMain(m *testing.M) {
	longtest.Checks(100 / slowdown)
	longtest.Parallel(8)
	goleak.VerifyTestMain(m)
}

// skipped reports, at random, whether a test skips one of many cases. The long forms skip none.
func skipped(random *rand.Rand) bool { return random.IntN(slowdown) > 0 }

// short is the time that tests wait for an effect to become visible. The sandbox shows effects at
// once, and no attempt begins before everything that the previous one sent is done.
const short = 5 * time.Millisecond

// A world is everything that a migration needs, with real components: a source in memory, a sandbox
// in memory behind HTTP, a client, and a state database on disk.
type world struct {
	testing.TB
	source *memory.Source
	url    string
	wire   *http.Transport // of all requests
	rest   func()          // waits until the sandbox has also completed what an interrupted attempt sent
	mint   func() *token.Minter
	tokens *token.Minter
	client *assets.Client // of the engine; its requests pass the gate
	other  *assets.Client // of another user
	gate   *gate
	store  *state.Store
	hooks  []state.Hook // of the state database
	path   string
	pair   state.Pair
	images string // IDs of the initial categories
	texts  string
	watch  *witness
	shut   func()
}

// newWorld returns a world with a category for jpg and png, and one for txt and bin.
func newWorld(tb testing.TB, options ...func(*sandbox.Options)) *world {
	tb.Helper()
	made := tokens.NewCredentials()
	o := sandbox.Options{Environments: []tokens.Environment{{ID: made.EnvironmentID, AccessKey: made.AccessKey}}}
	for _, set := range options {
		set(&o)
	}
	if reflect.ValueOf(o.Profile).IsZero() {
		var err error
		o.Profile, err = sandboxtest.Flagged()
		must(tb, err)
	}
	server, err := sandbox.New(o)
	must(tb, err)
	checked, err := openapitest.Check(server)
	must(tb, err)
	listener := httptest.NewUnstartedServer(checked)
	conns := sandboxtest.KeepConnections(listener)
	listener.Start()
	w := &world{TB: tb, source: &memory.Source{}, wire: assets.NewTransport(nil), watch: &witness{}}
	w.url, w.gate = listener.URL, &gate{next: w.wire}
	w.mint = func() *token.Minter {
		m, err := token.NewMinter(token.NewSecret(string(made.AccessKey)), token.Claims{Environment: made.EnvironmentID})
		must(tb, err)
		return m
	}
	w.tokens = w.mint()
	w.client, w.other = w.newClient(w.gate), w.newClient(w.wire)
	w.rest = func() {
		w.wire.CloseIdleConnections()
		conns.Rest(tb)
	}
	w.shut = func() {
		w.wire.CloseIdleConnections()
		listener.CloseClientConnections()
		listener.Close()
		must(tb, server.Close())
		must(tb, checked.Err())
		if w.store != nil {
			must(tb, w.store.Close())
		}
	}
	tb.Cleanup(w.close)
	for c, err := range w.other.Categories(tb.Context()) {
		must(tb, err)
		w.delete("/admin/categories/" + c.ID)
	}
	w.images = w.category("Images", "jpg", "png")
	w.texts = w.category("Texts", "txt", "bin")
	w.openState(filepath.Join(tb.TempDir(), "state.db"))
	return w
}

// close closes the world before the end of a test that needs many.
func (w *world) close() {
	if w.shut != nil {
		w.shut()
		w.shut = nil
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func faults(tb testing.TB, rules ...string) func(*sandbox.Options) {
	return func(o *sandbox.Options) {
		for _, r := range rules {
			f, err := fault.Parse(r)
			must(tb, err)
			o.Faults = append(o.Faults, f)
		}
	}
}

func (w *world) newClient(transport http.RoundTripper) *assets.Client {
	w.Helper()
	c, err := assets.New(assets.Options{
		BaseURL: w.url, Tokens: w.tokens, Transport: transport,
		Retry: retry.Policy{Attempts: 3, First: time.Millisecond, Max: time.Millisecond},
	})
	must(w, err)
	return c
}

// openState opens a state database and closes the previous one.
func (w *world) openState(path string) {
	w.Helper()
	if w.store != nil {
		must(w, w.store.Close())
	}
	var err error
	w.store, err = state.Open(w.Context(), path)
	must(w, err)
	w.path = path
	w.pair, err = w.store.Pair(w.Context(), "memory", "environment", w.url)
	must(w, err)
}

// loseState switches to an empty state database.
func (w *world) loseState() {
	w.Helper()
	w.openState(filepath.Join(w.TempDir(), "state.db"))
}

// alter executes a statement on the state database through a connection of its own.
func (w *world) alter(statement string) {
	w.Helper()
	db, err := sql.Open("sqlite", w.path)
	must(w, err)
	_, err = db.ExecContext(w.Context(), statement)
	must(w, errors.Join(err, db.Close()))
}

// hook adds a hook to those of the state database, until unhook.
func (w *world) hook(h state.Hook) {
	w.hooks = append(w.hooks, h)
	all := slices.Clone(w.hooks)
	w.store.SetHook(func(op string, done bool) error {
		for _, h := range all {
			if err := h(op, done); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) unhook() {
	w.hooks = nil
	w.store.SetHook(nil)
}

// before calls a function before the state database performs one of some operations. If the
// function returns an error, the operation fails with it.
func (w *world) before(do func() error, ops ...string) {
	w.hook(func(op string, done bool) error {
		if done || !slices.Contains(ops, op) {
			return nil
		}
		return do()
	})
}

// nth returns a function that calls do at its nth call, counting from 0, and does nothing at
// others.
func nth(n int64, do func() error) func() error {
	var calls atomic.Int64
	return func() error {
		if calls.Add(1)-1 != n {
			return nil
		}
		return do()
	}
}

func failing(err error) func() error { return func() error { return err } }

func (w *world) category(name string, extensions ...string) (id string) {
	w.Helper()
	id, err := w.other.CreateCategory(w.Context(), assets.NewCategory{Name: name, Extensions: extensions})
	must(w, err)
	return id
}

func (w *world) folder(category, parent, name string) (id string) {
	w.Helper()
	id, err := w.other.CreateFolder(w.Context(), assets.NewFolder{CategoryID: category, ParentID: parent, Name: name})
	must(w, err)
	return id
}

// upload creates an asset at the destination that is not ours.
func (w *world) upload(category, folder, name, content string) assets.Asset {
	w.Helper()
	u := assets.Upload{CategoryID: category, FolderID: folder, Filename: name, Size: int64(len(content))}
	u.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
	a, err := w.other.Upload(w.Context(), u)
	must(w, err)
	return a
}

// delete deletes an object of the service by its path; our client has no such request.
func (w *world) delete(path string) {
	w.Helper()
	secret, err := w.tokens.Token(w.Context())
	must(w, err)
	req, err := http.NewRequestWithContext(w.Context(), http.MethodDelete, w.url+path, nil)
	must(w, err)
	req.Header.Set("Authorization", secret.Reveal())
	resp, err := w.wire.RoundTrip(req)
	must(w, err)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		w.Fatalf("delete %s: %s", path, resp.Status)
	}
}

// put stores objects; its arguments are pairs of a key and a content.
func (w *world) put(keysAndContents ...string) {
	for n := 0; n < len(keysAndContents); n += 2 {
		w.source.Put(sources.Key(keysAndContents[n]), []byte(keysAndContents[n+1]))
	}
}

// putMany stores n numbered objects; the content of each is its number.
func (w *world) putMany(n int) {
	for n := range n {
		w.put(fmt.Sprintf("%03d.jpg", n), fmt.Sprint(n))
	}
}

func (w *world) deps() migrate.Deps {
	return migrate.Deps{Source: w.source, Dest: w.client, State: w.store, Watch: w.watch}
}

// A change adjusts an applier.
type change func(*apply.Applier)

var errBlocked = errors.New("blocked by a safety check")

// try plans and applies as the command does: it resumes an unfinished run.
func (w *world) try(ctx context.Context, r migrate.Rules, changes ...change) (migrate.Plan, error) {
	return w.tryWith(ctx, w.deps(), r, changes...)
}

func (w *world) tryWith(ctx context.Context, d migrate.Deps, r migrate.Rules, changes ...change) (migrate.Plan, error) {
	rules, err := json.Marshal(r)
	must(w, err)
	run, err := w.store.Unfinished(w.Context(), w.pair)
	if errors.Is(err, state.ErrNotFound) {
		run, err = w.store.Begin(w.Context(), w.pair, "migrate", rules)
	}
	if err != nil {
		return migrate.Plan{}, err
	}
	applier, planner := w.applier(d, changes...), plan.New(d, r)
	planner.SafetyChecks, planner.DriftShare = wide(), 0
	planner.Describes, planner.ResponseTimeout = applier.Provenance == "always", applier.ResponseTimeout
	plan, err := planner.Plan(ctx, run)
	if err != nil {
		return plan, err
	}
	if plan.Blocked(r) {
		return plan, errBlocked
	}
	return plan, applier.Apply(ctx, plan.Run)
}

func (w *world) applier(d migrate.Deps, changes ...change) *apply.Applier {
	w.rest()
	a := apply.New(d, w.client)
	a.Concurrency, a.ConfirmTimeout, a.ResponseTimeout, a.RetryPauses = 4, short, short, []time.Duration{short, short}
	for _, c := range changes {
		c(a)
	}
	return a
}

// migrate plans and applies, and fails the test unless the run completes.
func (w *world) migrate(r migrate.Rules) migrate.Plan {
	w.Helper()
	plan, err := w.try(w.Context(), r)
	must(w, err)
	if run, err := w.store.Run(w.Context(), plan.Run.ID); err != nil || run.State != state.Finished {
		w.Fatalf("the run is %s (%v), want finished", run.State, err)
	}
	return plan
}

// plan only makes a plan, with a client that refuses to write.
func (w *world) plan(r migrate.Rules) migrate.Plan {
	w.Helper()
	plan, err := w.dryRun(r)
	must(w, err)
	return plan
}

func (w *world) dryRun(r migrate.Rules) (migrate.Plan, error) {
	w.Helper()
	return w.dryRunWith(w.deps(), r)
}

func (w *world) dryRunWith(d migrate.Deps, r migrate.Rules) (migrate.Plan, error) {
	w.Helper()
	rules, err := json.Marshal(r)
	must(w, err)
	run, err := w.store.Begin(w.Context(), w.pair, "plan", rules)
	must(w, err)
	return w.planWith(w.Context(), plan.New(d, r), run)
}

// A placed asset is one at the destination, with the properties that users see.
type placed struct{ Category, Folder, Name, Checksum string }

func checksum(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// assetsAt returns all assets at the destination, sorted.
func (w *world) assetsAt() []placed {
	w.Helper()
	var all []placed
	list := func(c assets.Category, path string, o assets.ListOptions) {
		for a, err := range w.other.List(w.Context(), o) {
			must(w, err)
			all = append(all, placed{c.Name, path, a.Filename(), checksum(w.content(a))})
		}
	}
	var walk func(assets.Category, string, assets.Folder)
	walk = func(c assets.Category, path string, f assets.Folder) {
		list(c, path+f.Name, assets.ListOptions{FolderID: f.ID})
		deeper, err := w.other.Folder(w.Context(), f.ID, 1)
		must(w, err)
		for _, sub := range deeper.Folders {
			walk(c, path+f.Name+"/", sub)
		}
	}
	top, err := w.other.Folders(w.Context())
	must(w, err)
	for c, err := range w.other.Categories(w.Context()) {
		must(w, err)
		list(c, "", assets.ListOptions{CategoryID: c.ID})
		for _, f := range top {
			if f.CategoryID == c.ID {
				walk(c, "", f)
			}
		}
	}
	sortPlaced(all)
	return all
}

func comparePlaced(a, b placed) int {
	return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Checksum, b.Checksum))
}

func (w *world) content(a assets.Asset) string {
	w.Helper()
	r, _, err := w.other.Download(w.Context(), a.URL, 0)
	must(w, err)
	content, err := io.ReadAll(r)
	must(w, errors.Join(err, r.Close()))
	return string(content)
}

// folders counts the folders and categories at the destination by path.
func (w *world) folders() map[string]int {
	w.Helper()
	count := map[string]int{}
	var walk func(string, assets.Folder)
	walk = func(path string, f assets.Folder) {
		count[path+f.Name]++
		deeper, err := w.other.Folder(w.Context(), f.ID, 1)
		must(w, err)
		for _, sub := range deeper.Folders {
			walk(path+f.Name+"/", sub)
		}
	}
	names := map[string]string{}
	for c, err := range w.other.Categories(w.Context()) {
		must(w, err)
		names[c.ID] = c.Name
		count[c.Name]++
	}
	top, err := w.other.Folders(w.Context())
	must(w, err)
	for _, f := range top {
		walk(names[f.CategoryID]+"/", f)
	}
	return count
}

// requests returns the number of requests since the start of the sandbox, by method and route.
func (w *world) requests() map[string]int {
	w.Helper()
	resp, err := (&http.Client{Transport: w.wire}).Get(w.url + "/_sandbox/stats")
	must(w, err)
	defer resp.Body.Close()
	var stats struct {
		Requests []struct {
			Method, Route string
			Count         int
		}
	}
	must(w, json.NewDecoder(resp.Body).Decode(&stats))
	count := map[string]int{}
	for _, r := range stats.Requests {
		count[r.Method+" "+r.Route] += r.Count
	}
	return count
}

// during returns the number of requests while f runs, by method and route.
func (w *world) during(f func()) map[string]int {
	w.Helper()
	before := w.requests()
	f()
	after := w.requests()
	for what, n := range before {
		if after[what] -= n; after[what] == 0 {
			delete(after, what)
		}
	}
	return after
}

// writes returns only the requests that change something.
func writes(requests map[string]int) map[string]int {
	unsafe := map[string]int{}
	for what, n := range requests {
		if !strings.HasPrefix(what, "GET ") && !strings.HasPrefix(what, "HEAD ") && what != "POST /assets/namesExist" {
			unsafe[what] = n
		}
	}
	return unsafe
}

// states returns the number of items of a run by action and state; listed is the sum.
func (w *world) states(p migrate.Plan) (count map[string]int64, listed int64) {
	w.Helper()
	tallies, err := w.store.Tallies(w.Context(), p.Run.Num)
	must(w, err)
	count = map[string]int64{}
	for _, t := range tallies {
		count[string(t.Action)+" "+string(t.State)] += t.Objects
		listed += t.Objects
	}
	return count, listed
}

func (w *world) item(p migrate.Plan, key string) state.Item {
	w.Helper()
	i, err := w.store.Item(w.Context(), p.Run.Num, sources.Key(key))
	must(w, err)
	return i
}

// A gate sees every request of the engine before it is sent.
type gate struct {
	next http.RoundTripper
	mu   sync.Mutex
	n    int
	see  func(n int, r *http.Request) error // may be nil; n counts from 1
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	g.mu.Lock()
	g.n++
	n, see := g.n, g.see
	g.mu.Unlock()
	if see != nil {
		if err := see(n, r); err != nil {
			if r.Body != nil {
				r.Body.Close()
			}
			return nil, err
		}
	}
	return g.next.RoundTrip(r)
}

func (g *gate) CloseIdleConnections() {
	if c, ok := g.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// on sets the hook for each request, and restarts the count.
func (g *gate) on(see func(n int, r *http.Request) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n, g.see = 0, see
}

// atUpload returns a hook for the gate that does something at the n-th upload and at all later
// ones.
func atUpload(n int, do func() error) func(int, *http.Request) error {
	var mu sync.Mutex
	return func(_ int, r *http.Request) error {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodPost || r.URL.Path != "/assets" {
			return nil
		}
		if n--; n > 0 {
			return nil
		}
		return do()
	}
}

// atLast calls happen as late as possible: before the first request after a duration, or when the
// returned function is called after all requests.
func (w *world) atLast(late time.Duration, happen func()) (now func()) {
	once, began := sync.OnceFunc(happen), time.Now()
	w.gate.on(func(int, *http.Request) error {
		if time.Since(began) >= late {
			once()
		}
		return nil
	})
	return func() { w.gate.on(nil); once() }
}

// A witness records the events that it receives.
type witness struct {
	migrate.Silent
	mu          sync.Mutex
	items       map[string]state.Outcome
	differences []migrate.Difference
}

func (v *witness) Item(i state.Item, o state.Outcome) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.items == nil {
		v.items = map[string]state.Outcome{}
	}
	v.items[string(i.Key)] = o
}

func (v *witness) Found(d migrate.Difference) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.differences = append(v.differences, d)
}

// found returns the differences, or the notes, as sorted lines.
func (v *witness) found(notes bool) (lines []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, d := range v.differences {
		if d.Note == notes {
			lines = append(lines, d.Key+" "+d.What)
		}
	}
	slices.Sort(lines)
	return lines
}

func sortPlaced(all []placed) { slices.SortFunc(all, comparePlaced) }

type (
	seqOfAssets = iter.Seq2[assets.Asset, error]
	httpRequest = http.Request
)

// wide returns limits that a small library does not reach.
func wide() safety.SafetyChecks {
	return safety.SafetyChecks{MaxDelete: 1000, MaxDeletePercent: 100, MaxChanges: 100_000, MaxChangesPercent: 100}
}

func listOf(category string) assets.ListOptions { return assets.ListOptions{CategoryID: category} }

func targetOf(folder string) assets.Target { return assets.Target{FolderID: folder} }

func transferOf(asset string) assets.Transfer { return assets.Transfer{AssetID: asset} }

func changesOf(name string) assets.Changes { return assets.Changes{Name: &name} }

func replacement(name, content string) assets.Replacement {
	return assets.Replacement{Filename: name, Size: int64(len(content)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}
