package report_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/report"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/migrate/verify"
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

// A world is a source in memory, a sandbox behind HTTP, and a state database that the engine
// itself fills. It has a public category for jpg and png, and a private one
// for txt.
type world struct {
	testing.TB
	source  *memory.Source
	url     string
	client  *assets.Client
	store   *state.Store
	path    string
	pair    state.Pair
	workers int // concurrent workers; with one, objects are sent in key order
	says    migrate.Describer

	gateMu   sync.Mutex
	gate     func(n int) // called before each request with its number
	requests int         // since the gate was set
	rest     func()      // waits until the sandbox has processed all requests of an interrupted run
	shut     []func() error
}

func newWorld(tb testing.TB, faults ...string) *world {
	tb.Helper()
	made := tokens.NewCredentials()
	o := sandbox.Options{Environments: []tokens.Environment{{ID: made.EnvironmentID, AccessKey: made.AccessKey}}}
	for _, rule := range faults {
		f, err := fault.Parse(rule)
		must(tb, err)
		o.Faults = append(o.Faults, f)
	}
	server, err := sandbox.New(o)
	must(tb, err)
	listener := httptest.NewUnstartedServer(server)
	conns := sandboxtest.KeepConnections(listener)
	listener.Start()
	tokens, err := token.NewMinter(token.NewSecret(string(made.AccessKey)), token.Claims{Environment: made.EnvironmentID})
	must(tb, err)
	w := &world{TB: tb, source: &memory.Source{}, url: listener.URL, workers: 1}
	w.client, err = assets.New(assets.Options{
		BaseURL: w.url, Tokens: tokens, Transport: gated{assets.NewTransport(nil), w.pass},
		Retry: retry.Policy{Attempts: 3, First: time.Millisecond, Max: time.Millisecond},
	})
	must(tb, err)
	w.rest = func() {
		w.client.CloseIdleConnections()
		conns.Rest(tb)
	}
	w.path = filepath.Join(tb.TempDir(), "state.db")
	w.store, err = state.Open(tb.Context(), w.path)
	must(tb, err)
	w.pair, err = w.store.Pair(tb.Context(), "/photos", made.EnvironmentID+"/"+made.EnvironmentID, w.url)
	must(tb, err)
	w.shut = []func() error{w.store.Close, func() error {
		w.client.CloseIdleConnections()
		listener.CloseClientConnections()
		listener.Close()
		return server.Close()
	}}
	tb.Cleanup(w.close)
	for c, err := range w.client.Categories(tb.Context()) {
		must(tb, err)
		w.delete(tokens, c.ID)
	}
	for _, c := range []assets.NewCategory{
		{Name: "Images", Extensions: []string{"jpg", "png"}},
		{Name: "Contracts", Extensions: []string{"txt"}, Private: true},
	} {
		_, err := w.client.CreateCategory(tb.Context(), c)
		must(tb, err)
	}
	return w
}

// setGate has every request go through a gate; nil is none.
func (w *world) setGate(gate func(n int)) {
	w.gateMu.Lock()
	defer w.gateMu.Unlock()
	w.gate, w.requests = gate, 0
}

func (w *world) pass() {
	w.gateMu.Lock()
	defer w.gateMu.Unlock()
	if w.requests++; w.gate != nil {
		w.gate(w.requests)
	}
}

// gated is a transport that sees every request before it is made.
type gated struct {
	http.RoundTripper
	pass func()
}

func (g gated) RoundTrip(r *http.Request) (*http.Response, error) {
	g.pass()
	return g.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections closes those of the wrapped transport.
func (g gated) CloseIdleConnections() {
	(&http.Client{Transport: g.RoundTripper}).CloseIdleConnections()
}

// close ends the world before the end of the test, for tests with many worlds.
func (w *world) close() {
	for _, shut := range w.shut {
		must(w, shut())
	}
	w.shut = nil
}

// delete removes a category; our client has no such request.
func (w *world) delete(tokens *token.Minter, category string) {
	w.Helper()
	secret, err := tokens.Token(w.Context())
	must(w, err)
	req, err := http.NewRequestWithContext(w.Context(), http.MethodDelete, w.url+"/admin/categories/"+category, nil)
	must(w, err)
	req.Header.Set("Authorization", secret.Reveal())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	must(w, err)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		w.Fatalf("delete category: %s", resp.Status)
	}
}

func (w *world) put(keysAndContents ...string) {
	for n := 0; n < len(keysAndContents); n += 2 {
		w.source.Put(sources.Key(keysAndContents[n]), []byte(keysAndContents[n+1]))
	}
}

func (w *world) deps(s sources.Source) migrate.Deps {
	return migrate.Deps{Source: s, Dest: w.client, State: w.store, Describer: w.says}
}

// run resumes the unfinished run, or begins one.
func (w *world) run(ctx context.Context, s sources.Source, command string, r migrate.Rules) (state.Run, error) {
	w.Helper()
	rules, err := json.Marshal(r)
	must(w, err)
	run, err := w.store.Unfinished(w.Context(), w.pair)
	if errors.Is(err, state.ErrNotFound) || err == nil && run.Undoes != 0 {
		run, err = w.store.Begin(w.Context(), w.pair, command, rules)
	}
	must(w, err)
	planner := plan.New(w.deps(s), r)
	planner.SafetyChecks.AcceptRules, planner.SafetyChecks.AcceptDeletes = true, 1
	plan, err := planner.Plan(ctx, run)
	if err != nil || plan.Blocked(r) || len(plan.FailedChecks) > 0 || command == "plan" {
		return w.again(run), err
	}
	a := apply.New(w.deps(s), w.client)
	const short = 5 * time.Millisecond
	a.Concurrency, a.ConfirmTimeout, a.ResponseTimeout, a.Wait, a.RetryPauses = w.workers, short, short, 0, []time.Duration{short}
	err = a.Apply(ctx, plan.Run)
	w.rest()
	return w.again(run), err
}

// again returns the present state of a run.
func (w *world) again(run state.Run) state.Run {
	w.Helper()
	run, err := w.store.Run(w.Context(), run.ID)
	must(w, err)
	return run
}

// migrate executes a complete run.
func (w *world) migrate(r migrate.Rules) state.Run {
	w.Helper()
	run, err := w.run(w.Context(), w.source, "migrate", r)
	must(w, err)
	if run.State != state.Finished {
		w.Fatalf("the run is %s", run.State)
	}
	return run
}

func (w *world) verify(level string, sample int) {
	w.Helper()
	_, err := verify.New(w.deps(w.source), level, sample).Verify(w.Context(), w.pair)
	must(w, err)
}

func (w *world) read(run state.Run) report.Report {
	w.Helper()
	r, err := report.Read(w.Context(), w.store, run)
	must(w, err)
	return r
}
