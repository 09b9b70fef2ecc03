// Package rehearsal compares simulated runs with runs of the engine at a sandbox with the same
// profile. The engine runs in a bubble, so that only intended waits take time.
package rehearsal

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"assetferry/internal/assets"
	"assetferry/internal/ratelimit"
	"assetferry/internal/rehearsal"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/test/longtest"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

func TestMain(m *testing.M) {
	longtest.Parallel(4)
	goleak.VerifyTestMain(m)
}

const workers = 16

// profiles are services with different limits.
var profiles = map[string]string{
	"near":            "latency: 8ms\nextensions: exact",
	"usual":           "latency: 40ms\nlatency_p95: 90ms\nupload_latency: 120ms\nupload_latency_p95: 300ms",
	"far":             "latency: 250ms\nupload_latency: 400ms",
	"moody":           "latency: 60ms\nlatency_p95: 150ms",
	"limited":         "latency: 30ms\nrate: 50\nmax_name: 12",
	"limited harder":  "latency: 60ms\nrate: 10\nretry_after: \"1\"",
	"quick limit":     "latency: 5ms\nrate: 300",
	"narrow":          "latency: 30ms\nextensions: exact\nmax_name: 20\nupload_bandwidth: 2000000\nupload_bandwidth_total: 4000000",
	"wide":            "latency: 20ms\nupload_bandwidth: 5000000\nupload_bandwidth_total: 60000000",
	"narrow, limited": "latency: 50ms\nlatency_p95: 120ms\nrate: 30\nupload_bandwidth: 1000000\nupload_bandwidth_total: 8000000",
}

// endings of names, some of which some services refuse.
var endings = []string{".jpg", ".jpg", ".JPG", " in the evening.jpg", ".jpg", ".png", " with a long name that goes on.jpg"}

// libraries return keys and sizes.
var libraries = map[string]func() iter.Seq2[string, int]{
	"small files in one folder": func() iter.Seq2[string, int] {
		return func(yield func(string, int) bool) {
			for n := range 2000 {
				if !yield(fmt.Sprintf("%04d%s", n, endings[n%len(endings)]), 500+n%3000) {
					return
				}
			}
		}
	},
	"folders": func() iter.Seq2[string, int] {
		return func(yield func(string, int) bool) {
			for n := range 2000 {
				if !yield(fmt.Sprintf("year %d/event %02d/%04d%s", 2000+n/500, n/20, n, endings[n%len(endings)]), 20_000) {
					return
				}
			}
		}
	},
	"some large files": func() iter.Seq2[string, int] {
		return func(yield func(string, int) bool) {
			for n := range 1200 {
				size := 50_000
				if n%20 == 7 {
					size = 1_000_000
				}
				if !yield(fmt.Sprintf("%04d.jpg", n), size) {
					return
				}
			}
		}
	},
}

// A simulated run takes the time of a real one.
func TestDuration(t *testing.T) {
	random := rand.New(rand.NewPCG(rand.Uint64(), 1))
	for library, files := range libraries {
		for name, text := range profiles {
			t.Run(library+" "+name, func(t *testing.T) {
				if !longtest.Takes(random, longtest.Fewer(6, 30)) {
					return
				}
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { compare(t, files(), text) })
			})
		}
	}
}

func compare(t *testing.T, files iter.Seq2[string, int], text string) {
	p, err := profile.Read("profile.yaml", strings.NewReader("version: 1\n"+text))
	must(t, err)
	took, requests, items, refused := real(t, files, p)
	got, err := rehearsal.Predict(service(p), rehearsal.Run{Workers: workers, Seed: 1}, func() iter.Seq2[rehearsal.Item, error] { return all(items) })
	must(t, err)
	result := fmt.Sprintf("simulated %v (%v to %v), real %v, %d and %d requests", got.Took, got.Low, got.High, took, got.Requests-got.Throttled, requests)
	t.Log(result)
	// The last upload of a run may be an extremely slow one.
	margin := got.Took/10 + 9*max(p.LatencyP95-p.Latency, p.UploadLatencyP95-p.UploadLatency)
	if (got.Took-took).Abs() > margin || took < got.Low || took > got.High {
		t.Error(result)
	}
	if got.Failed != refused {
		t.Errorf("%d refused, really %d", got.Failed, refused)
	}
	if off := float64(got.Requests-got.Throttled)/float64(requests) - 1; math.Abs(off) > 0.02 {
		t.Errorf("requests: %+.1f%%", 100*off)
	}
}

// limits are those that the names of assets meet.
func limits(p profile.Profile) rehearsal.Limits {
	return rehearsal.Limits{MaxName: p.MaxName, ExactExtensions: p.Extensions == "exact"}
}

func all(items []rehearsal.Item) iter.Seq2[rehearsal.Item, error] {
	return func(yield func(rehearsal.Item, error) bool) {
		for _, i := range items {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func service(p profile.Profile) rehearsal.Service {
	s := rehearsal.Service{
		Latency: p.Latency, LatencyP95: p.LatencyP95, UploadLatency: p.UploadLatency, UploadLatencyP95: p.UploadLatencyP95,
		UploadBandwidth: p.UploadBandwidth, UploadBandwidthTotal: p.UploadBandwidthTotal, Rate: p.Rate,
	}
	if p.RetryAfter == "1" {
		s.RetryAfter = time.Second
	}
	return s
}

// real returns the duration of a real run, its requests that were not refused for their rate, its items, and how many failed. It fails the
// test unless those that failed are those that a simulation refuses.
func real(t *testing.T, files iter.Seq2[string, int], p profile.Profile) (time.Duration, int64, []rehearsal.Item, int64) {
	e := sandboxtest.Environment()
	box, err := sandbox.New(sandbox.Options{Environments: []tokens.Environment{e}, Profile: p})
	must(t, err)
	defer func() { must(t, box.Close()) }()
	m, err := token.NewMinter(token.NewSecret(string(e.AccessKey)), token.Claims{Environment: e.ID})
	must(t, err)
	limiter := ratelimit.New(ratelimit.Options{Max: workers})
	client, err := assets.New(assets.Options{BaseURL: "http://localhost", Tokens: m, Transport: sandboxtest.Transport(box), Limiter: limiter})
	must(t, err)
	source := &memory.Source{}
	for key, size := range files {
		source.Put(sources.Key(key), make([]byte, size))
	}
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	must(t, err)
	defer func() { must(t, store.Close()) }()
	pair, err := store.Pair(t.Context(), "memory", "environment", "http://localhost")
	must(t, err)
	rules := migrate.DefaultRules()
	stored, err := json.Marshal(rules)
	must(t, err)
	run, err := store.Begin(t.Context(), pair, "migrate", stored)
	must(t, err)
	deps := migrate.Deps{Source: source, Dest: client, State: store}
	planned, err := plan.New(deps, rules).Plan(t.Context(), run)
	must(t, err)
	accepted := map[string][]string{}
	for c, err := range client.Categories(t.Context()) {
		must(t, err)
		accepted[c.ID] = c.Extensions
	}
	var items []rehearsal.Item
	expected := map[sources.Key]bool{}
	known := map[string]bool{"": true}
	for i, err := range store.Items(t.Context(), planned.Run.Num) {
		must(t, err)
		base, extension := migrate.SplitName(i.Name)
		expected[i.Key] = limits(p).Refuses(i.Folder, base, extension, accepted[i.Category]) != ""
		items = append(items, rehearsal.Item{Size: i.Size, Before: newFolders(known, i.Folder), Failed: expected[i.Key]})
	}
	a := apply.New(deps, client)
	a.Concurrency = workers
	began, before := time.Now(), limiter.Begun()
	must(t, a.Apply(t.Context(), planned.Run))
	took, requests := time.Since(began), limiter.Begun()-before-limiter.Throttling().Refused
	failed := int64(0)
	for i, err := range store.Items(t.Context(), planned.Run.Num) {
		must(t, err)
		if isRefused := i.State == state.ItemFailed; isRefused != expected[i.Key] {
			t.Errorf("%s: %s (%s)", i.Key, i.State, i.Error)
		} else if isRefused {
			failed++
		}
	}
	return took, requests, items, failed
}

// newFolders returns the number of new folders of an item. Each is created with one request.
func newFolders(known map[string]bool, folder string) (n int) {
	for !known[folder] {
		known[folder] = true
		n++
		folder, _, _ = cutLast(folder)
	}
	return n
}

func cutLast(folder string) (parent, name string, ok bool) {
	n := strings.LastIndexByte(folder, '/')
	if n < 0 {
		return "", folder, false
	}
	return folder[:n], folder[n+1:], true
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
