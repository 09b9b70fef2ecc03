package report_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"assetferry/internal/report"
	"assetferry/sources"
	"assetferry/state"
)

// benchObjects is the number of objects in benchmarks of reports.
const benchObjects = 50_000

// bigRun creates a state database with a finished run of many objects in a thousand folders. One in
// ten of them is skipped.
func bigRun(b testing.TB, objects int) (*state.Store, state.Run) {
	b.Helper()
	ctx := b.Context()
	store, err := state.Open(ctx, filepath.Join(b.TempDir(), "state.db"))
	must(b, err)
	b.Cleanup(func() { must(b, store.Close()) })
	pair, err := store.Pair(ctx, "/photos", "e/e", "https://example.com")
	must(b, err)
	run, err := store.Begin(ctx, pair, "migrate", json.RawMessage("{}"))
	must(b, err)
	items := make([]state.Item, objects)
	for n := range items {
		i := state.Item{Object: sources.Object{Key: sources.Key(fmt.Sprintf("folder-%04d/picture-%07d.jpg", n*1000/objects, n)), Size: int64(n % 5_000_000), Time: time.Unix(1e9, 0)}}
		i.Action, i.Reason, i.State = state.Create, "new", state.ItemPlanned
		if n%10 == 0 {
			i.Action, i.Reason, i.State = state.Skip, "unsupported_type", state.ItemSkipped
		}
		i.Category, i.Folder, i.Name, i.Slot = "category", "folder", fmt.Sprintf("picture-%07d.jpg", n), int64(n)
		items[n] = i
	}
	must(b, store.Stage(ctx, run.Num, state.Page{Items: items, Cursor: items[objects-1].Key, Done: true}))
	must(b, store.Decided(ctx, run.Num, items))
	items = nil
	must(b, store.FinishPlan(ctx, run.Num, "hash", json.RawMessage("[]")))
	must(b, store.SetRunState(ctx, run.Num, state.Planned, state.Applying))
	for after := ""; ; {
		taken, err := store.Take(ctx, run.Num, state.Next{After: sources.Key(after), N: 5000, Time: time.Now()})
		must(b, err)
		if len(taken) == 0 {
			break
		}
		var done []state.Outcome
		for _, i := range taken {
			asset := fmt.Sprintf("asset-%d", i.Slot)
			done = append(done, state.Outcome{Key: i.Key, State: state.ItemDone, Receipt: &state.Receipt{
				Object: i.Object, Checksum: make([]byte, 32), Asset: asset, Name: i.Name, Extension: "jpg",
				Category: "category", Folder: "id", URL: "https://example.com/assets/" + asset, Slot: i.Slot}})
			after = string(i.Key)
		}
		must(b, store.Record(ctx, run.Num, pair.ID, done))
	}
	must(b, store.FinishRun(ctx, run.Num))
	run, err = store.Run(ctx, run.ID)
	must(b, err)
	return store, run
}

// A report and its lists need the same memory for any number of objects.
func TestMemoryStaysFlat(t *testing.T) {
	const objects, room = 30_000, 8 << 20 // of its items alone
	store, run := bigRun(t, objects)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	r, err := report.Read(t.Context(), store, run)
	must(t, err)
	if r.Results.Listed.Objects != objects || !r.Results.Accounted {
		t.Fatalf("the results are %+v", r.Results)
	}
	lines, most := 0, before
	for _, err := range r.Lines(t.Context()) {
		must(t, err)
		if lines++; lines%10_000 == 0 {
			most = max(most, heap())
		}
	}
	if held := most - before; lines != objects || held > room {
		t.Errorf("%d lines, and %d bytes held meanwhile, more than %d", lines, held, room)
	}
}

// BenchmarkReport measures the objects reported per second.
func BenchmarkReport(b *testing.B) {
	store, run := bigRun(b, benchObjects)
	all, err := report.ParseChoice("")
	must(b, err)
	list := func(format string) func(report.Report) error {
		return func(r report.Report) error { return r.WriteList(b.Context(), io.Discard, format, all, nil) }
	}
	type reader = func(context.Context, *state.Store, state.Run) (report.Report, error)
	for _, c := range []struct {
		name  string
		read  reader
		write func(report.Report) error
	}{
		{"text", report.Read, func(r report.Report) error { return r.WriteText(io.Discard, time.UTC) }},
		{"html", report.Read, func(r report.Report) error { return r.WriteHTML(b.Context(), io.Discard, time.UTC) }},
		{"folders", report.Read, func(r report.Report) error { return r.WriteFolders(b.Context(), io.Discard, "json", nil) }},
		{"list of csv", report.ReadForList, list("csv")},
		{"list of json", report.ReadForList, list("json")},
		{"list of keys", report.ReadForList, list("keys")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := c.read(b.Context(), store, run)
				must(b, err)
				must(b, c.write(r))
			}
			b.ReportMetric(float64(benchObjects)*float64(b.N)/b.Elapsed().Seconds(), "objects/s")
		})
	}
}
