package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
)

// described is the outcome of an object that has something kept with it.
func described(key string, d Description) Outcome {
	o := done(key)
	o.Receipt.Description = &d
	return o
}

// typical is what a photo may have.
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

// An item that fails because its asset stands for another object keeps nothing.
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

// BenchmarkDescriptions records items with and without something kept with them, and
// tells how much larger that makes the journal.
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
			b.ReportMetric(float64(bytes)/(batch*batches), "journal-B/row")
		})
	}
}

// pages is the size of a journal in bytes.
func (j *journey) pages() (n int64) {
	j.Helper()
	must(j, j.w.QueryRowContext(j.Context(), `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&n))
	return n
}
