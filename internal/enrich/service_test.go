package enrich_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/ai"
	"assetferry/internal/assets"
	"assetferry/internal/enrich"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/token"
	"assetferry/state"
	"assetferry/state/enrichment"
)

var imagesFlag = flag.Int("images", 40, "how many images TestBadServices describes")

const destination = "environment/workspace"

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// policy has the shortest waits. The tests of the clients cover real waits.
func policy() retry.Policy {
	return retry.Policy{Attempts: 4, First: time.Nanosecond, Max: time.Millisecond}
}

func assetsClient(tb testing.TB, s sandboxtest.Running) *assets.Client {
	tb.Helper()
	minter, err := token.NewMinter(token.NewSecret(string(s.Environment.AccessKey)), token.Claims{Environment: s.Environment.ID})
	must(tb, err)
	c, err := assets.New(assets.Options{BaseURL: s.URL, Tokens: minter, Retry: policy()})
	must(tb, err)
	tb.Cleanup(c.CloseIdleConnections)
	return c
}

func aiClient(tb testing.TB, s aiservicetest.Running) *ai.Client {
	tb.Helper()
	minter, err := token.NewMinter(token.NewSecret(string(s.Environment.AccessKey)), token.Claims{Environment: s.Environment.ID, Service: "ai", Permissions: []string{"ai:admin"}})
	must(tb, err)
	c, err := ai.New(ai.Options{BaseURL: s.URL, Tokens: minter, Retry: policy()})
	must(tb, err)
	tb.Cleanup(c.CloseIdleConnections)
	return c
}

// A library is a destination in the sandbox, with an AI content service beside it.
type library struct {
	testing.TB
	assets *assets.Client
	ai     *ai.Client
	talks  aiservicetest.Running
	store  *enrichment.Store
}

func newLibrary(tb testing.TB, assetFaults, aiFaults []string) *library {
	tb.Helper()
	var files sandbox.Options
	for _, text := range assetFaults {
		f, err := fault.Parse(text)
		must(tb, err)
		files.Faults = append(files.Faults, f)
	}
	var talks aiservice.Options
	for _, text := range aiFaults {
		f, err := fault.Parse(text)
		must(tb, err)
		talks.Faults = append(talks.Faults, f)
	}
	store, err := state.Open(tb.Context(), filepath.Join(tb.TempDir(), "journal.db"))
	must(tb, err)
	tb.Cleanup(func() { must(tb, store.Close()) })
	l := &library{TB: tb, store: enrichment.In(store), talks: aiservicetest.Run(tb, talks)}
	l.assets, l.ai = assetsClient(tb, sandboxtest.Run(tb, files)), aiClient(tb, l.talks)
	return l
}

// fill uploads n different images.
func (l *library) fill(n int) {
	l.Helper()
	category, err := l.assets.CreateCategory(l.Context(), assets.NewCategory{Name: "Pictures", Extensions: []string{"png"}})
	must(l, err)
	g, ctx := errgroup.WithContext(l.Context())
	g.SetLimit(8)
	for i := range n {
		g.Go(func() error {
			content := tiny(i)
			_, err := l.assets.Upload(ctx, assets.Upload{CategoryID: category, Filename: fmt.Sprintf("IMG_%04d.png", i), Size: int64(len(content)),
				Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }})
			return err
		})
	}
	must(l, g.Wait())
}

func tiny(n int) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 3, 3))
	for i := range 9 {
		m.Set(i%3, i/3, color.RGBA{uint8(n * 37), uint8(n >> 3), uint8(n*91 + i*20), 255})
	}
	var b bytes.Buffer
	_ = png.Encode(&b, m) // into memory
	return b.Bytes()
}

func (l *library) engine() *enrich.Engine {
	return enrich.New(enrich.Deps{Store: l.store, Library: l.assets, Writer: l.assets, Service: enrich.Over(l.ai), Host: "ai.example.com",
		Destination: destination, Concurrency: 6, ConfirmTimeout: time.Second})
}

func (l *library) counts() map[enrichment.State]int64 {
	l.Helper()
	counts := map[enrichment.State]int64{}
	for c, err := range l.store.Enrichments(l.Context(), destination, enrichment.Filter{Kind: enrichment.KindDescribe}) {
		must(l, err)
		counts[c.Enrichment.State]++
	}
	return counts
}

// The whole process runs against both sandbox services.
func TestServices(t *testing.T) {
	l := newLibrary(t, nil, nil)
	l.fill(5)
	e := l.engine()
	must(t, e.Audit(t.Context(), "de"))
	describe := enrich.Request{Kind: enrichment.KindDescribe, Language: "de", Model: enrich.Model{ID: "agent-1"}}
	got, err := e.Ask(t.Context(), describe)
	if err != nil || got.States[enrichment.Proposed] != 5 || got.Run.Calls != 5 || got.Run.Credits == nil || *got.Run.Credits <= 0 || got.Left != 0 {
		t.Fatalf("got %+v (%v)", got, err)
	}
	var nums []int64
	for c, err := range e.Proposals(t.Context(), enrichment.Filter{States: []enrichment.State{enrichment.Proposed}}) {
		must(t, err)
		if p := c.Enrichment.Proposal; !strings.HasPrefix(p.Text, "[de] ") || len(p.Tags) == 0 || c.Name == "" {
			t.Errorf("got %+v", p)
		}
		nums = append(nums, c.Enrichment.Num)
	}
	_, err = e.Accept(t.Context(), nums...)
	must(t, err)
	applied, err := e.Apply(t.Context())
	if err != nil || applied.States[enrichment.Applied] != 5 {
		t.Fatalf("got %+v (%v)", applied, err)
	}
	must(t, e.Audit(t.Context(), ""))
	for _, r := range []enrich.Request{{Kind: enrichment.KindReview, Review: "correctness"}, {Kind: enrichment.KindTranslate, Language: "fr"}} {
		if got, err := e.Ask(t.Context(), r); err != nil || got.Run.Calls != 1 || got.States[enrichment.Failed] != 0 {
			t.Errorf("%s: got %+v (%v)", r.Kind, got, err)
		}
	}
	if _, err := e.Ask(t.Context(), enrich.Request{Kind: enrichment.KindReview, Review: "no-such-review", Again: true}); err == nil || l.failed() != nil {
		t.Errorf("a review that the service does not know: got %v, and %v failed", err, l.failed())
	}
	undone, err := e.Undo(t.Context(), applied.Run.ID)
	if err != nil || undone.States[enrichment.Undone] != 5 {
		t.Errorf("got %+v (%v)", undone, err)
	}
	if stats := l.talks.Stats(t); stats.BilledRequests != 7 || stats.Conversations != 0 {
		t.Errorf("got %+v", stats)
	}
}

// The contexts of a request take effect, whatever its kind.
func TestServicesHeedContexts(t *testing.T) {
	for _, kind := range []enrichment.Kind{enrichment.KindDescribe, enrichment.KindReview, enrichment.KindTranslate} {
		t.Run(string(kind), func(t *testing.T) {
			l := newLibrary(t, nil, nil)
			l.fill(1)
			style, err := l.ai.CreateContext(t.Context(), ai.Context{Name: "House style"})
			must(t, err)
			_, err = l.ai.CreatePrompt(t.Context(), style, ai.Prompt{Name: "Begin", Prompt: `Begin every text with "HOUSE:".`})
			must(t, err)
			e := l.engine()
			must(t, e.Audit(t.Context(), "en"))
			if kind != enrichment.KindDescribe {
				for a, err := range l.store.Assets(t.Context(), destination) {
					must(t, err)
					text := "A dog on teh beach"
					_, err = l.assets.Update(t.Context(), a.Asset, assets.Changes{Description: &text})
					must(t, err)
				}
				must(t, e.Audit(t.Context(), "en"))
			}
			got, err := e.Ask(t.Context(), enrich.Request{Kind: kind, Language: "en", Review: "correctness", Model: enrich.Model{ID: "agent-1"}, Contexts: []ai.ContextRef{{ID: style}}})
			if err != nil || got.States[enrichment.Proposed] != 1 {
				t.Fatalf("got %+v (%v)", got, err)
			}
			for c, err := range e.Proposals(t.Context(), enrichment.Filter{}) {
				must(t, err)
				if text := c.Enrichment.Proposal.Text; !strings.Contains(text, "HOUSE:") {
					t.Errorf("it proposes %q", text)
				}
			}
		})
	}
}

// Nearly a third of all requests to either service fails, in every possible way. After some
// runs each image has its proposal, no conversation is left, and the state database counts
// every billed request.
func TestBadServices(t *testing.T) {
	const message = "POST /v1.1/conversations/{conversationId}/messages "
	l := newLibrary(t, []string{
		"GET /assets/{id} status=503 rate=0.1 seed=1", "GET /assets/{id} drop=before rate=0.1 seed=2", "GET /assets/{id} status=429 rate=0.1 retry-after=0 seed=3",
		"GET /{workspaceId}/assets/{id}/file drop=before rate=0.15 seed=4", "GET /{workspaceId}/assets/{id}/file status=502 rate=0.15 seed=5",
		"GET /{workspaceId}/assets/{id}/images/{size} drop=before rate=0.15 seed=6", "GET /{workspaceId}/assets/{id}/images/{size} status=502 rate=0.15 seed=7",
		"GET /assets status=503 rate=0.2 seed=8",
	}, []string{
		message + "stream=error rate=0.05 seed=11", message + "stream=cut rate=0.05 seed=12", message + "stream=garbled rate=0.04 seed=13",
		message + "stream=fenced rate=0.04 seed=14", message + "stream=empty rate=0.04 seed=15", message + "stream=nodone rate=0.04 seed=16",
		message + "stream=envelope rate=0.04 seed=17", message + "status=429 rate=0.05 seed=18", message + "drop=after rate=0.05 seed=19",
		message + "drop=before rate=0.05 seed=20", message + "status=503 rate=0.05 seed=21",
		"GET /v1/conversations/{conversationId}/messages status=503 rate=0.3 seed=22", "POST /v1/conversations status=503 rate=0.1 seed=23",
		"POST /v1/conversations drop=after rate=0.2 seed=24", "POST /v1/conversations/{conversationId}/files status=503 rate=0.3 seed=25",
		"DELETE /v1/conversations/{conversationId} drop=after rate=0.15 seed=26", "DELETE /v1/conversations/{conversationId} status=503 rate=0.15 seed=27",
	})
	l.fill(*imagesFlag)
	want := int64(*imagesFlag)
	runs := 0
	for ; runs < 40; runs++ {
		l.run(enrich.Request{})
		if failed := l.failed(); len(failed) > 0 { // some of them failed too often
			l.run(enrich.Request{Again: true, Assets: failed})
		}
		if left := l.left(); l.counts()[enrichment.Proposed] == want && left == 0 {
			break
		}
	}
	if got := l.counts(); got[enrichment.Proposed] != want || len(got) != 1 {
		t.Errorf("after %d runs there are %v, want %d proposals", runs, got, want)
	}
	calls := 0
	for c, err := range l.store.Enrichments(t.Context(), destination, enrichment.Filter{}) {
		must(t, err)
		calls += c.Enrichment.Calls
	}
	if stats := l.talks.Stats(t); stats.BilledRequests != calls || stats.Conversations != 0 {
		t.Errorf("the service billed %d calls and keeps %d conversations; the journal knows of %d calls", stats.BilledRequests, stats.Conversations, calls)
	}
	t.Logf("%d pictures took %d runs and %d calls", want, runs+1, calls)
}

// run repeats the audit until it succeeds, and requests proposals.
func (l *library) run(r enrich.Request) {
	l.Helper()
	e := l.engine()
	for e.Audit(l.Context(), "en") != nil {
		if l.Context().Err() != nil {
			l.Fatal("no audit is complete")
		}
	}
	r.Kind, r.Language, r.Model = enrichment.KindDescribe, "en", enrich.Model{ID: "agent-1"}
	_, err := e.Ask(l.Context(), r)
	if _, broke := errors.AsType[*enrich.BreakerError](err); err != nil && !broke {
		l.Fatal(err)
	}
}

// failed returns the IDs of failed assets.
func (l *library) failed() (ids []string) {
	l.Helper()
	for c, err := range l.store.Enrichments(l.Context(), destination, enrichment.Filter{States: []enrichment.State{enrichment.Failed}}) {
		must(l, err)
		ids = append(ids, c.Asset)
	}
	return ids
}

// left counts the conversations that are not known to be deleted.
func (l *library) left() (n int) {
	l.Helper()
	for _, err := range l.store.Conversations(l.Context(), "ai.example.com") {
		must(l, err)
		n++
	}
	return n
}
