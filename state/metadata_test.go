package state

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

// described returns the outcome of an object with storage metadata.
func described(key string, d Description) Outcome {
	o := done(key)
	o.Receipt.Description = &d
	return o
}

// typical is the storage metadata of a usual photo.
var typical = Description{
	ContentType: "image/jpeg", Metadata: map[string]string{"author": "Åse", "title": "Harbour at <dawn> & dusk"}, Tags: map[string]string{"place": "Oslo"},
}

func TestDescriptions(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c", "d")
	j.take(4)
	sent := described("d", typical) // and described at the destination later
	sent.State = ItemSent
	must(t, j.record(described("a", typical), described("b", Description{ContentType: "image/png"}), described("c", Description{}), sent))
	must(t, j.record(Outcome{Key: "d", State: ItemDone}))
	for key, want := range map[string]Description{"a": typical, "b": {ContentType: "image/png", Metadata: map[string]string{}, Tags: map[string]string{}}, "d": typical} {
		got, err := j.Description(t.Context(), j.pair.ID, sources.Key(key))
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if got, err := j.Description(t.Context(), j.pair.ID, "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an object without anything: got %+v (%v)", got, err)
	}
	if problems, err := j.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("check: %v (%v)", problems, err)
	}
	backup, err := j.Backup(t.Context())
	must(t, err)
	copied, err := OpenReadOnly(t.Context(), backup)
	must(t, err)
	defer copied.Close()
	if d, err := copied.Description(t.Context(), j.pair.ID, "a"); err != nil || !cmp.Equal(d, typical) {
		t.Errorf("in the backup: %+v (%v)", d, err)
	}
	execute(t, j.Path(), `PRAGMA foreign_keys = OFF`, `INSERT INTO descriptions VALUES (1, 'nobody', '', '{}', '{}')`)
	if problems, err := j.Check(t.Context()); err != nil || len(problems) != 1 || !strings.Contains(problems[0], "a row of descriptions") {
		t.Errorf("check: %v (%v)", problems, err)
	}
}

// TestDescriptionWithoutReceipt verifies that no metadata is stored for an item which fails because
// its asset belongs to another object.
func TestDescriptionWithoutReceipt(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	j.take(2)
	taken := described("b", typical)
	taken.Receipt.Asset = "asset of a"
	must(t, j.record(described("a", typical), taken))
	if got := j.stateOf("b"); got != ItemFailed {
		t.Fatalf("b is %s", got)
	}
	if _, err := j.Description(t.Context(), j.pair.ID, "b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkDescriptions records items with and without storage metadata, and reports the difference
// in the size of the state database.
func BenchmarkDescriptions(b *testing.B) {
	const batch, batches = 128, 40
	for name, d := range map[string]Description{"none": {}, "type": {ContentType: "image/jpeg"}, "typical": typical} {
		b.Run(name, func(b *testing.B) {
			var bytes int64
			for b.Loop() {
				b.StopTimer()
				j := begin(b)
				j.apply(numbered(batch * batches)...)
				before := j.pages()
				b.StartTimer()
				for range batches {
					var outcomes []Outcome
					for _, key := range j.take(batch) {
						outcomes = append(outcomes, described(key, d))
					}
					must(b, j.record(outcomes...))
				}
				bytes = j.pages() - before
			}
			perSecond(b, batch*batches)
			b.ReportMetric(float64(bytes)/(batch*batches), "state-B/row")
		})
	}
}

// pages returns the size of a state database in bytes.
func (j *journey) pages() (n int64) {
	j.Helper()
	must(j, j.w.QueryRowContext(j.Context(), `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&n))
	return n
}

const aQuay = `{"description":"A quay"}`

// describedAs returns the stored metadata of all objects of the pair, by key.
func (j *journey) describedAs() map[string]string {
	j.Helper()
	all := map[string]string{}
	for _, d := range collect(j, j.Described(j.Context(), j.pair.ID, "")) {
		all[string(d.Key)] = d.Metadata
	}
	return all
}

func (j *journey) wantDescribed(want map[string]string) {
	j.Helper()
	if diff := cmp.Diff(want, j.describedAs()); diff != "" {
		j.Errorf("described (-want +got):\n%s", diff)
	}
}

// TestDescribed verifies that the metadata of a source is stored with the outcome, and only when
// the item is done.
func TestDescribed(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c", "d", "e")
	j.take(5)
	a, b, c, d, e := done("a"), done("b"), done("c"), done("d"), done("e")
	a.Described, b.Described, c.Described, d.Described = aQuay, aQuay, aQuay, aQuay
	b.State = ItemSent
	c.State, c.Class, c.Error = ItemFailed, "permanent", "not described"
	d.Receipt.Asset = a.Receipt.Asset // a receipt of the same asset makes the outcome fail
	must(t, j.record(a, b, c, d, e))
	j.wantDescribed(map[string]string{"a": aQuay})
	must(t, j.record(Outcome{Key: "b", State: ItemDone, Described: `{}`}))
	j.wantDescribed(map[string]string{"a": aQuay, "b": ""})
	for key, want := range map[string]string{"a": aQuay, "b": "", "c": "", "x": ""} {
		if got, err := j.DescribedAs(t.Context(), j.pair.ID, sources.Key(key)); err != nil || got.Metadata != want {
			t.Errorf("%s: got %v (%v), want %q", key, got, err, want)
		}
	}
	if rest := collect(t, j.Described(t.Context(), j.pair.ID, "a")); len(rest) != 1 || rest[0] != (Described{Key: "b"}) {
		t.Errorf("after a: %v", rest)
	}
	if r, err := j.Receipt(t.Context(), j.pair.ID, "b"); err != nil || r.MetadataPending {
		t.Errorf("the receipt is %+v (%v)", r, err)
	}
}

// begin ends the run and begins another one.
func (j *journey) begin(command string) {
	j.Helper()
	must(j, j.FinishRun(j.Context(), j.run.Num))
	var err error
	j.run, err = j.Begin(j.Context(), j.pair, command, json.RawMessage("{}"))
	must(j, err)
}

// carryOut makes the run apply an action to an object, with an outcome.
func (j *journey) carryOut(action Action, key string, o Outcome) {
	j.Helper()
	j.stage(key)
	i := decided(key, action, ItemPlanned)
	i.Asset = "asset of " + key
	must(j, j.Decided(j.Context(), j.run.Num, []Item{i}))
	must(j, j.FinishPlan(j.Context(), j.run.Num, "hash", json.RawMessage("[]")))
	must(j, j.SetRunState(j.Context(), j.run.Num, Planned, Applying))
	j.take(1)
	must(j, j.record(o))
}

// again calls carryOut in a new run.
func (j *journey) again(action Action, key string, o Outcome) {
	j.Helper()
	j.begin("sync")
	j.carryOut(action, key, o)
}

// TestDescribedBelongsToAnAsset verifies that stored metadata belongs to the asset: if the object
// gets another asset, its metadata is forgotten.
func TestDescribedBelongsToAnAsset(t *testing.T) {
	j := begin(t)
	j.apply("a")
	j.take(1)
	a := done("a")
	a.Described = aQuay
	must(t, j.record(a))
	j.again(Replace, "a", Outcome{Key: "a", State: ItemDone, Receipt: receipt("a", "asset of a"), InsteadOf: "a"})
	j.wantDescribed(map[string]string{"a": aQuay})
	j.again(Create, "a", Outcome{Key: "a", State: ItemSent, Receipt: receipt("a", "another asset"), InsteadOf: "a"})
	j.wantDescribed(map[string]string{})
}

// TestDescribedBy verifies that a receipt names the run that updated its asset if that run can be
// undone.
func TestDescribedBy(t *testing.T) {
	j := begin(t)
	j.apply("a")
	j.take(1)
	must(t, j.record(done("a")))
	first := j.run.Num
	j.again(UpdateMetadata, "a", Outcome{Key: "a", State: ItemDone, Described: aQuay, Modified: time.UnixMilli(5)})
	if r, err := j.Receipt(t.Context(), j.pair.ID, "a"); err != nil || r.Run != first || r.Modified.UnixMilli() != 5 {
		t.Errorf("the receipt is %+v (%v), want run %d", r, err, first)
	}
	j.begin("sync")
	must(t, j.SaveFormer(t.Context(), j.run.Num, j.pair.ID, []Former{{Key: "a", Of: "a", Asset: json.RawMessage("{}")}}))
	j.carryOut(UpdateMetadata, "a", Outcome{Key: "a", State: ItemDone})
	if r, err := j.Receipt(t.Context(), j.pair.ID, "a"); err != nil || r.Run != j.run.Num {
		t.Errorf("the receipt is %+v (%v), want run %d", r, err, j.run.Num)
	}
}

// TestDescribedIsForgotten verifies that an undo deletes the stored metadata of what it undoes.
func TestDescribedIsForgotten(t *testing.T) {
	j := begin(t)
	j.apply("deleted", "made")
	j.take(2)
	deleted, made := done("deleted"), done("made")
	deleted.Described, made.Described = aQuay, aQuay
	must(t, j.record(deleted, made))
	must(t, j.FinishRun(t.Context(), j.run.Num))
	u, err := j.BeginUndo(t.Context(), j.run)
	must(t, err)
	must(t, j.stageUndo(u))
	items := collect(t, j.Items(t.Context(), u.Num))
	items[0].Action, items[0].State = Skip, ItemSkipped
	items[1].Action, items[1].State = Trash, ItemPlanned
	must(t, j.Decided(t.Context(), u.Num, items))
	must(t, j.FinishPlan(t.Context(), u.Num, "hash", json.RawMessage("[]")))
	must(t, j.SetRunState(t.Context(), u.Num, Planned, Applying))
	j.run = u
	j.take(1)
	must(t, j.record(Outcome{Key: "made", State: ItemDone, Undone: true}))
	j.wantDescribed(map[string]string{"deleted": aQuay})
	must(t, j.FinishUndo(t.Context(), u))
	j.wantDescribed(map[string]string{})
	j.wantSound()
}
