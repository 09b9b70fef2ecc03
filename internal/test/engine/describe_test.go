package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assetferry/internal/assets"
	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/state"
)

// A said returns metadata of objects by key.
type said struct {
	mu  sync.Mutex
	of  map[string]metadata.Metadata
	err error
}

func (*said) AsksForChecksums() bool { return false }

func (s *said) Describe(o metadata.Identity) (metadata.Fields, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.of[o.Key]
	return asFields(m), ok, s.err
}

// asFields returns metadata as fields, with custom attributes under their own names.
func asFields(m metadata.Metadata) metadata.Fields {
	f := metadata.Fields{"description": {m.Description}, "tags": m.Tags}
	for name, value := range m.Attributes {
		f[name] = []string{value}
	}
	return f.Normal()
}

func (s *said) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// says returns a describer; its arguments are pairs of a key and a description.
func says(keysAndDescriptions ...string) *said {
	s := &said{of: map[string]metadata.Metadata{}}
	for n := 0; n < len(keysAndDescriptions); n += 2 {
		s.of[keysAndDescriptions[n]] = metadata.Metadata{Description: keysAndDescriptions[n+1]}
	}
	return s
}

// syncRules returns the rules of a sync with a policy for changes at the destination.
func syncRules(policy string) migrate.Rules {
	r := migrate.DefaultRules()
	r.Sync = migrate.DefaultSyncRules()
	r.Sync.OnDestinationChange = policy
	return r
}

// describing returns w.deps with a describer.
func (w *world) describing(s migrate.Describer) migrate.Deps {
	d := w.deps()
	d.Describer = s
	return d
}

// silent returns w.deps without any metadata source.
func (w *world) silent() migrate.Deps {
	d := w.deps()
	d.Mapping = mapping.New(nil, mapping.Options{Precedence: []metadata.Source{}})
	return d
}

// sync plans and applies with a describer, and fails the test unless the run completes.
func (w *world) sync(s migrate.Describer, r migrate.Rules, changes ...change) migrate.Plan {
	w.Helper()
	return w.syncWith(w.describing(s), r, changes...)
}

func (w *world) syncWith(d migrate.Deps, r migrate.Rules, changes ...change) migrate.Plan {
	w.Helper()
	plan, err := w.tryWith(w.Context(), d, r, changes...)
	must(w, err)
	if run, err := w.store.Run(w.Context(), plan.Run.ID); err != nil || run.State != state.Finished {
		w.Fatalf("the run is %s (%v), want finished", run.State, err)
	}
	return plan
}

// edit changes the asset of an object as a user does.
func (w *world) edit(key string, c assets.Changes) {
	w.Helper()
	_, err := w.other.Update(w.Context(), w.assetOf(key).ID, c)
	must(w, err)
}

func TestWhatIsCreatedIsDescribed(t *testing.T) {
	for provenance, marked := range map[string]bool{"always": true, "auto": true, "never": false} {
		w := newWorld(t)
		w.put("a.jpg", "a", "b.jpg", "b")
		s := says()
		s.of["a.jpg"] = metadata.Metadata{Description: "A quay", Tags: []string{"quay", "sea"}, Attributes: map[string]string{"place": "Oslo"}}
		var plan migrate.Plan
		asked := w.during(func() {
			plan = w.sync(s, migrate.DefaultRules(), func(a *apply.Applier) { a.Provenance = provenance })
		})
		patches := 1
		if provenance == "always" {
			patches = 2
		}
		if asked["PATCH /assets/{id}"] != patches || asked["GET /assets/{id}"] != 0 || asked["POST /assets"] != 2 {
			t.Errorf("%s: it asked %v", provenance, asked)
		}
		a := w.assetOf("a.jpg")
		if a.Metadata.Description != "A quay" || !slices.Equal(a.Tags, []string{"quay", "sea"}) || a.Metadata.CustomAttributes["place"] != "Oslo" {
			t.Errorf("%s: the asset is %+v", provenance, a)
		}
		if _, has := a.Metadata.CustomAttributes["assetferry"]; has != marked {
			t.Errorf("%s: where it comes from is in the asset: %v", provenance, has)
		}
		if kept, err := w.store.DescribedAs(t.Context(), w.pair.ID, "a.jpg"); err != nil || kept.Metadata != s.of["a.jpg"].Encode() {
			t.Errorf("%s: the state database has %q (%v)", provenance, kept, err)
		}
		if kept, err := w.store.DescribedAs(t.Context(), w.pair.ID, "b.jpg"); err != nil || kept.Metadata != "" {
			t.Errorf("%s: the state database has %q (%v) of what nobody described", provenance, kept, err)
		}
		if r, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg"); err != nil || r.MetadataPending || !r.Modified.Equal(a.LastModifiedAt) {
			t.Errorf("%s: the receipt is %+v (%v)", provenance, r, err)
		}
		if i := w.item(plan, "a.jpg"); i.State != state.ItemDone || i.Error != "" {
			t.Errorf("%s: the item is %+v", provenance, i)
		}
		w.close()
	}
}

// A countingSource counts the objects that are opened.
type countingSource struct {
	sources.Source
	opened atomic.Int64
}

func (s *countingSource) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	s.opened.Add(1)
	return s.Source.Open(ctx, o, offset)
}

// TestOnlyMetadataChanged verifies that a run in which only metadata changed sends one write
// request for each asset, and reads no content.
func TestOnlyMetadataChanged(t *testing.T) {
	t.Parallel()
	n := 10_000
	if slowdown > 1 {
		n = 500
	}
	w := newWorld(t)
	s := says()
	for n := range n {
		key := fmt.Sprintf("%05d.jpg", n)
		w.put(key, key)
		s.of[key] = metadata.Metadata{Description: "Number " + key, Attributes: map[string]string{"place": "Oslo"}}
	}
	w.sync(s, syncRules("keep"))
	w.quiet(s)
	for key, m := range s.of {
		m.Tags = []string{"quay"}
		s.of[key] = m
	}
	d, source := w.describing(s), &countingSource{Source: w.source}
	d.Source = source
	var plan migrate.Plan
	asked := w.during(func() { plan = w.syncWith(d, syncRules("keep")) })
	if count, _ := w.states(plan); !maps.Equal(count, map[string]int64{"update_metadata done": int64(n)}) {
		t.Errorf("the plan is %v", count)
	}
	if sent := writes(asked); !maps.Equal(sent, map[string]int{"PATCH /assets/{id}": n}) {
		t.Errorf("it wrote %v", sent)
	}
	if opened := source.opened.Load(); opened != 0 || asked["GET /{workspaceId}/assets/{id}/file"] != 0 {
		t.Errorf("content was read: %d objects, %v", opened, asked)
	}
	if reason := w.item(plan, "00000.jpg").Reason; reason != string(migrate.ReasonMetadataChanged) {
		t.Errorf("the reason is %q", reason)
	}
	if a := w.assetOf("00007.jpg"); a.Metadata.Description != "Number 00007.jpg" || !slices.Equal(a.Tags, []string{"quay"}) {
		t.Errorf("the asset is %+v", a)
	}
	w.quiet(s)
}

// quiet runs a sync without changes, and verifies that it requests no asset from the destination.
func (w *world) quiet(s *said) {
	w.Helper()
	var plan migrate.Plan
	asked := w.during(func() { plan = w.sync(s, syncRules("keep")) })
	if count, listed := w.states(plan); count["unchanged skipped"] != listed || asked["PATCH /assets/{id}"]+asked["GET /assets/{id}"] > 0 {
		w.Errorf("a night without news: %v, and it asked %v", count, asked)
	}
}

func TestPeoplesEditsStay(t *testing.T) {
	for _, test := range []struct {
		policy, description, place string
		tags                       []string
		remark                     string
	}{
		{"keep", "by people", "Bergen", []string{"people", "new"}, "edits at the destination are kept: description"},
		{"overwrite", "from the source", "Bergen", []string{"people", "new", "old"}, ""},
	} {
		w := newWorld(t)
		w.put("a.jpg", "a")
		s := says()
		s.of["a.jpg"] = metadata.Metadata{Description: "before", Tags: []string{"old"}, Attributes: map[string]string{"place": "Oslo"}}
		w.sync(s, syncRules(test.policy))
		text := "by people"
		w.edit("a.jpg", assets.Changes{Description: &text, Tags: &[]string{"people"}, CustomAttributes: map[string]any{"place": "Oslo", "rights": json.Number("9007199254740993")}})
		s.of["a.jpg"] = metadata.Metadata{Description: "from the source", Tags: []string{"new", "old"}, Attributes: map[string]string{"place": "Bergen"}}
		plan := w.sync(s, syncRules(test.policy))
		a := w.assetOf("a.jpg")
		if a.Metadata.Description != test.description || !slices.Equal(a.Tags, test.tags) || a.Metadata.CustomAttributes["place"] != test.place || a.Metadata.CustomAttributes["rights"] != json.Number("9007199254740993") {
			t.Errorf("%s: the asset is %+v", test.policy, a)
		}
		if i := w.item(plan, "a.jpg"); i.State != state.ItemDone || i.Error != test.remark {
			t.Errorf("%s: the item is %+v", test.policy, i)
		}
		w.quiet(s)
		w.close()
	}
}

// TestAnEmptySourceErasesNothing verifies that an object keeps its metadata if the source no longer
// has it, or has less than before, and that no run reports it as a change.
func TestAnEmptySourceErasesNothing(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	s := says("b.jpg", "B")
	s.of["a.jpg"] = metadata.Metadata{Description: "A quay", Tags: []string{"quay"}, Attributes: map[string]string{"place": "Oslo"}}
	w.sync(s, syncRules("overwrite"))
	s.of = map[string]metadata.Metadata{"a.jpg": {Tags: []string{"quay"}}}
	w.quiet(s)
	s.of["a.jpg"] = metadata.Metadata{Description: "A quay in Oslo"}
	w.sync(s, syncRules("keep"))
	a := w.assetOf("a.jpg")
	if a.Metadata.Description != "A quay in Oslo" || !slices.Equal(a.Tags, []string{"quay"}) || a.Metadata.CustomAttributes["place"] != "Oslo" {
		t.Errorf("the asset is %+v", a)
	}
	if b := w.assetOf("b.jpg"); b.Metadata.Description != "B" {
		t.Errorf("the other asset is %+v", b)
	}
}

// TestALibraryIsDescribedLater verifies that the first sync with a metadata table updates a library
// that was migrated without one, and keeps the metadata that users wrote meanwhile.
func TestALibraryIsDescribedLater(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	w.migrate(migrate.DefaultRules())
	text := "by people"
	w.edit("b.jpg", assets.Changes{Description: &text})
	plan := w.sync(says("a.jpg", "A", "b.jpg", "B"), syncRules("keep"))
	if a, b := w.assetOf("a.jpg"), w.assetOf("b.jpg"); a.Metadata.Description != "A" || b.Metadata.Description != "by people" {
		t.Errorf("the assets are %+v and %+v", a, b)
	}
	if i := w.item(plan, "b.jpg"); !strings.HasPrefix(i.Error, migrate.RemarkEditsKept) {
		t.Errorf("the item is %+v", i)
	}
}

// TestMigrateDescribesOnlyWhatIsNew verifies that migrate does not update assets of earlier runs.
func TestMigrateDescribesOnlyWhatIsNew(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	w.sync(says("a.jpg", "before"), migrate.DefaultRules())
	w.put("b.jpg", "b")
	w.sync(says("a.jpg", "after", "b.jpg", "B"), migrate.DefaultRules())
	if a, b := w.assetOf("a.jpg"), w.assetOf("b.jpg"); a.Metadata.Description != "before" || b.Metadata.Description != "B" {
		t.Errorf("the assets are %+v and %+v", a, b)
	}
}

// TestAnAssetIsDeletedBeforeItIsDescribed verifies that a run does not fail if an asset is deleted
// before its metadata update.
func TestAnAssetIsDeletedBeforeItIsDescribed(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	w.sync(says("a.jpg", "before"), syncRules("keep"))
	id := w.assetOf("a.jpg").ID
	asked := 0 // the first request is the plan's, the second the applier's
	w.gate.on(func(_ int, r *http.Request) error {
		if r.Method != http.MethodGet || r.URL.Path != "/assets/"+id {
			return nil
		}
		if asked++; asked == 2 {
			return w.other.Trash(context.WithoutCancel(r.Context()), id)
		}
		return nil
	})
	plan := w.sync(says("a.jpg", "after"), syncRules("keep"))
	if i := w.item(plan, "a.jpg"); i.State != state.ItemDone && i.State != state.ItemSkipped || !strings.Contains(i.Error+i.Reason, string(migrate.ReasonAssetDeleted)) {
		t.Errorf("the item is %+v", i)
	}
}

// TestDescribingIsRepeated verifies that a run that ends after a metadata update and before its
// record writes no metadata twice.
func TestDescribingIsRepeated(t *testing.T) {
	w := newWorld(t)
	w.putMany(20)
	s := says()
	for n := range 20 {
		s.of[fmt.Sprintf("%03d.jpg", n)] = metadata.Metadata{Description: "before"}
	}
	w.sync(s, syncRules("keep"))
	for n := range 20 {
		s.of[fmt.Sprintf("%03d.jpg", n)] = metadata.Metadata{Description: "after", Tags: []string{"quay"}}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	patched := 0
	var mu sync.Mutex
	w.gate.on(func(_ int, r *http.Request) error {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != http.MethodPatch {
			return nil
		}
		if patched++; patched == 7 { // its answer is lost
			cancel(errKilled)
		}
		return nil
	})
	asked := w.during(func() {
		if _, err := w.tryWith(ctx, w.describing(s), syncRules("keep")); !errors.Is(err, errKilled) {
			t.Fatalf("got %v", err)
		}
		w.gate.on(nil)
		w.openState(w.path)
		w.sync(s, syncRules("keep"))
	})
	for n := range 20 {
		if a := w.assetOf(fmt.Sprintf("%03d.jpg", n)); a.Metadata.Description != "after" || !slices.Equal(a.Tags, []string{"quay"}) {
			t.Errorf("the asset is %+v", a)
		}
	}
	if sent := asked["PATCH /assets/{id}"]; sent < 20 || sent > 24 {
		t.Errorf("%d requests wrote into 20 assets", sent)
	}
	w.quiet(s)
}

var errKilled = errors.New("killed")

// TestWhatWasNotDescribedIsDescribedLater verifies that the next run repeats a failed metadata
// update, with the present metadata of the source.
func TestWhatWasNotDescribedIsDescribedLater(t *testing.T) {
	w := newWorld(t, faults(t, "PATCH /assets/{id} status=400 once=1"))
	w.put("a.jpg", "a")
	plan, err := w.tryWith(t.Context(), w.describing(says("a.jpg", "before")), migrate.DefaultRules())
	must(t, err)
	if i := w.item(plan, "a.jpg"); i.State != state.ItemFailed || !strings.Contains(i.Error, "its metadata is not written") {
		t.Fatalf("the item is %+v", i)
	}
	plan = w.sync(says("a.jpg", "after"), migrate.DefaultRules())
	if i := w.item(plan, "a.jpg"); i.Reason != string(migrate.ReasonMetadataMissing) || w.assetOf("a.jpg").Metadata.Description != "after" {
		t.Errorf("the item is %+v", i)
	}
}

// TestMetadataThatCannotBeReadStopsTheRun verifies that unreadable metadata stops the run: a
// library with half of its metadata is worse than a stopped run with a reason.
func TestMetadataThatCannotBeReadStopsTheRun(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	s, broken := says("a.jpg", "before"), errors.New("the table is broken")
	w.sync(s, syncRules("keep"))
	s.of["a.jpg"] = metadata.Metadata{Description: "after"}
	s.fail(broken)
	if _, err := w.tryWith(t.Context(), w.describing(s), syncRules("keep")); !errors.Is(err, broken) {
		t.Errorf("while planning: %v", err)
	}
	s.fail(nil)
	breaks := func(a *apply.Applier) { a.Describer = &said{err: broken} }
	if _, err := w.tryWith(t.Context(), w.describing(s), syncRules("keep"), breaks); !errors.Is(err, broken) {
		t.Errorf("while applying: %v", err)
	}
	w.sync(s, syncRules("keep"))
	if a := w.assetOf("a.jpg"); a.Metadata.Description != "after" {
		t.Errorf("the asset is %+v", a)
	}
}

// TestMetadataUpdateCanBeUndone verifies that undo restores the metadata that a run wrote, and
// keeps the edits of users.
func TestMetadataUpdateCanBeUndone(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	s := says()
	for _, key := range []string{"a.jpg", "b.jpg"} {
		s.of[key] = metadata.Metadata{Description: key, Tags: []string{"quay"}, Attributes: map[string]string{"place": "Oslo"}}
	}
	made := w.sync(s, migrate.DefaultRules())
	w.edit("b.jpg", assets.Changes{Tags: &[]string{"quay", "people"}})
	plan, err := w.undoRun(t.Context(), w.deps(), made.Run.ID, false)
	must(t, err)
	if count, _ := w.states(plan); !maps.Equal(count, map[string]int64{"trash done": 1, "conflict conflict": 1}) {
		t.Errorf("the undo is %v", count)
	}
	if i := w.item(plan, "b.jpg"); !strings.Contains(i.Error, "tags") {
		t.Errorf("the item is %+v", i)
	}
	if kept, err := w.store.DescribedAs(t.Context(), w.pair.ID, "a.jpg"); err != nil || kept.Metadata != "" {
		t.Errorf("the state database has %q (%v) of what was taken back", kept, err)
	}
	w.sync(s, migrate.DefaultRules())
	if a := w.assetOf("a.jpg"); a.Metadata.Description != "a.jpg" {
		t.Errorf("brought again, the asset is %+v", a)
	}
}

// TestMetadataConflictNeedsADecision verifies that nothing is written while metadata needs a
// decision, and that each run reports it.
func TestMetadataConflictNeedsADecision(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	s := says("a.jpg", "before", "b.jpg", "before")
	w.sync(s, syncRules("report"))
	text := "by people"
	w.edit("a.jpg", assets.Changes{Description: &text})
	s.of["a.jpg"] = metadata.Metadata{Description: "after", Tags: []string{"quay"}}
	s.of["b.jpg"] = metadata.Metadata{Description: "after"}
	for range 2 {
		plan := w.sync(s, syncRules("report"))
		want := migrate.ReasonAssetMetadataEdited
		if i := w.item(plan, "a.jpg"); i.State != state.ItemConflict || i.Reason != string(want) || i.Error != want.Text()+": description" {
			t.Errorf("the item is %+v", i)
		}
	}
	if a, b := w.assetOf("a.jpg"), w.assetOf("b.jpg"); a.Metadata.Description != text || len(a.Tags) > 0 || b.Metadata.Description != "after" {
		t.Errorf("the assets are %+v and %+v", a, b)
	}
	w.sync(s, syncRules("overwrite"))
	if a := w.assetOf("a.jpg"); a.Metadata.Description != "after" || !slices.Equal(a.Tags, []string{"quay"}) {
		t.Errorf("decided for the source, the asset is %+v", a)
	}
	w.quiet(s)
}

// TestUserEditsMetadataMeanwhile verifies that metadata that users write between the plan and its
// application is kept, and does not count as decided.
func TestUserEditsMetadataMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a")
	s := says("a.jpg", "before")
	w.sync(s, syncRules("report"))
	s.of["a.jpg"] = metadata.Metadata{Description: "after"}
	text, id := "by people", w.assetOf("a.jpg").ID
	asked := 0
	w.gate.on(func(_ int, r *http.Request) error {
		if r.Method != http.MethodGet || r.URL.Path != "/assets/"+id {
			return nil
		}
		if asked++; asked == 2 { // the first request is the plan's
			_, err := w.other.Update(context.WithoutCancel(r.Context()), id, assets.Changes{Description: &text})
			return err
		}
		return nil
	})
	plan := w.sync(s, syncRules("report"))
	if i := w.item(plan, "a.jpg"); i.State != state.ItemDone || !strings.HasPrefix(i.Error, migrate.RemarkEditsKept) {
		t.Errorf("the item is %+v", i)
	}
	if plan = w.sync(s, syncRules("report")); w.item(plan, "a.jpg").State != state.ItemConflict || w.assetOf("a.jpg").Metadata.Description != text {
		t.Errorf("the next run: %+v", w.item(plan, "a.jpg"))
	}
}

// TestContentAndMetadataChange verifies that content and metadata that change together take one
// run. A new asset, for content that the service does not replace, gets its metadata as at its
// first upload.
func TestContentAndMetadataChange(t *testing.T) {
	for _, refused := range []bool{false, true} {
		var options []func(*sandbox.Options)
		rules := syncRules("keep")
		if refused {
			options = append(options, faults(t, "POST /assets/{id} status=501"))
			rules.Sync.OnReplaceRefused = "new-asset"
		}
		w := newWorld(t, options...)
		w.put("a.jpg", "a", "b.jpg", "b")
		s := says("a.jpg", "before", "b.jpg", "the same")
		w.sync(s, rules)
		w.put("a.jpg", "another content", "b.jpg", "another one")
		s.of["a.jpg"] = metadata.Metadata{Description: "after"}
		plan := w.sync(s, rules)
		if count, _ := w.states(plan); !maps.Equal(count, map[string]int64{"replace done": 2}) {
			t.Errorf("refused %v: the plan is %v", refused, count)
		}
		if a, b := w.assetOf("a.jpg"), w.assetOf("b.jpg"); a.Metadata.Description != "after" || b.Metadata.Description != "the same" {
			t.Errorf("refused %v: the assets are %+v and %+v", refused, a, b)
		}
		w.quiet(s)
		w.close()
	}
}

// A flickering source fails once, when an object is opened for the n-th time.
type flickering struct {
	sources.Source
	key   sources.Key
	opens atomic.Int32
	at    int32
	fails func() error
}

func (f *flickering) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if o.Key == f.key && f.opens.Add(1) == f.at {
		if err := f.fails(); err != nil {
			return nil, err
		}
	}
	return f.Source.Open(ctx, o, offset)
}

// captioned returns a TIFF file with a caption.
func captioned(caption string) string {
	return "II*\x00\x08\x00\x00\x00" + "\x01\x00" + "\x0e\x01\x02\x00" + string(rune(len(caption))) + "\x00\x00\x00" + "\x1a\x00\x00\x00" + "\x00\x00\x00\x00" + caption
}

// TestContentIsLookedAtAnotherTime verifies that embedded metadata that the upload did not read is
// read again right after the upload. If that fails for a while, or the run ends, the next run reads
// it.
func TestContentIsLookedAtAnotherTime(t *testing.T) {
	for name, ends := range map[string]bool{"a fault": false, "the end": true} {
		w := newWorld(t)
		w.put("a.png", captioned("A quay at dawn"))
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		d := w.deps()
		d.Source = &flickering{Source: w.source, key: "a.png", at: 2, fails: func() error {
			if ends {
				cancel(errBlocked)
				return context.Cause(ctx)
			}
			return errBroken
		}}
		if _, err := w.tryWith(ctx, d, migrate.DefaultRules()); ends != errors.Is(err, errBlocked) {
			t.Fatalf("%s: got %v", name, err)
		}
		w.migrate(migrate.DefaultRules())
		if a := w.assetOf("a.png"); a.Metadata.CustomAttributes["caption"] != "A quay at dawn" {
			t.Errorf("%s: described as %+v", name, a.Metadata)
		}
	}
}

// TestURLsInColumns verifies that a column that maps to another field may also have old URLs.
func TestURLsInColumns(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", `{"Link": "https://cms.example/7"}`)
	w.syncWith(w.mapped("mapping:\n  columns: {Link: old_url}\n"), migrate.DefaultRules())
	got, err := w.store.OldURLs(t.Context(), w.pair.ID, "a.jpg")
	if want := []string{"https://cms.example/7"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}
