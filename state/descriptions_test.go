package state

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		got, err := j.Description(t.Context(), j.pair.ID, key)
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

// undoLatest undoes the last migrations: what is verified, approvals, the index of names, the types of contents, and the enrichments.
var undoLatest = []string{`ALTER TABLE receipts DROP COLUMN content_run`, `ALTER TABLE receipts DROP COLUMN content_at`, `DROP TABLE content_checks`, `DROP INDEX differences_asset`,
	`ALTER TABLE runs DROP COLUMN started_by`, `ALTER TABLE runs DROP COLUMN approval_stated_by`, `ALTER TABLE runs DROP COLUMN approval_key`,
	`DROP INDEX receipts_names`, `ALTER TABLE items DROP COLUMN content_type`, `ALTER TABLE aliases DROP COLUMN content_type`, `ALTER TABLE receipts DROP COLUMN content_type`,
	`DROP TABLE enrichment_changes`, `DROP TABLE conversations`, `DROP TABLE enrichments`,
	`DROP TABLE enrichment_runs`, `DROP TABLE decorative`, `DROP TABLE surveys`, `DROP TABLE surveyed`, `DROP TABLE namesakes`}

// age makes a journal one of the first version.
func age(t *testing.T, path string) {
	t.Helper()
	execute(t, path, undoLatest...)
	execute(t, path, `DROP TABLE given_addresses`, `DROP TABLE sidecars`, `DROP TABLE former_keys`, `DROP TABLE aliases`, `DROP TABLE fields`, `ALTER TABLE items DROP COLUMN origin`, `DROP TABLE former`, `DROP TABLE orphans`, `DROP TABLE described`,
		`ALTER TABLE failures DROP COLUMN since`, `ALTER TABLE pairs DROP COLUMN drift_cursor`, `ALTER TABLE runs DROP COLUMN stopped`, `ALTER TABLE runs DROP COLUMN drift_cursor`, `ALTER TABLE runs DROP COLUMN pruned_at`)
	execute(t, path, `UPDATE items SET category = (SELECT category FROM bases WHERE id = base), name = key WHERE base IS NOT NULL`, `DROP TABLE tallies`, `ALTER TABLE items DROP COLUMN base`, `ALTER TABLE receipts DROP COLUMN base`, `DROP TABLE bases`, `ALTER TABLE runs DROP COLUMN tallied`, `ALTER TABLE pairs DROP COLUMN objects`, `ALTER TABLE pairs DROP COLUMN bytes`,
		`CREATE INDEX receipts_slot ON receipts (pair, slot)`, `DROP TABLE descriptions`, `ALTER TABLE receipts DROP COLUMN images`, `DROP TABLE contents`, `DROP TABLE differences`, `DROP TABLE throughput`,
		`DROP TABLE categories`, `ALTER TABLE runs DROP COLUMN approved_by`, `ALTER TABLE runs DROP COLUMN approved_at`,
		`ALTER TABLE runs DROP COLUMN undoes`, `ALTER TABLE receipts DROP COLUMN modified`,
		`ALTER TABLE pairs DROP COLUMN rehearsal`, `PRAGMA user_version = 2`)
}

// Who only wants to read a journal of an earlier version brings it up to date.
func TestReadEarlierVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	s, err := Open(t.Context(), path)
	must(t, err)
	pair, err := s.Pair(t.Context(), "/photos", "env/ws", "https://example.com")
	must(t, err)
	must(t, s.Close())
	age(t, path)
	if s, err = OpenReadOnly(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if all, err := s.Pairs(t.Context()); err != nil || len(all) != 1 || all[0] != pair {
		t.Errorf("%+v (%v)", all, err)
	}
	if _, err := s.Categories(t.Context(), pair.Destination); err != nil {
		t.Error(err)
	}
}

// A journal of the first version is brought up to date with all that is in it, and goes
// through backup and takeover after it.
func TestUpgrade(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	j.take(1)
	must(t, j.record(done("a")))
	path := filepath.Join(t.TempDir(), "journal.db")
	backup, err := j.Backup(t.Context())
	must(t, err)
	copyFile(t, backup, path)
	age(t, path)

	if _, err := OpenReadOnly(t.Context(), path); !errors.Is(err, ErrDistrust) {
		t.Errorf("a copy of an earlier version: got %v, want the refusal of Open", err)
	}
	must(t, Takeover(t.Context(), path)) // it came from elsewhere
	s := open(t, path)
	j.Store = s
	if diff := cmp.Diff(schema, schemaOf(t, s.r)); diff != "" {
		t.Errorf("another schema (-want +got):\n%s", diff)
	}
	if i, err := s.Item(t.Context(), j.run.Num, "b"); err != nil || i.Category != "category" || i.Name != "b" {
		t.Errorf("the item that is left: %+v (%v)", i, err)
	}
	var kept bool
	must(t, s.r.QueryRowContext(t.Context(), `SELECT tallied FROM runs`).Scan(&kept))
	tallies, err := s.Tallies(t.Context(), j.run.Num)
	must(t, err)
	if diff := cmp.Diff(j.counted(), tallies); diff != "" || !kept {
		t.Errorf("tallies are kept: %t (-counted +tallied):\n%s", kept, diff)
	}
	if sum, err := s.SumReceipts(t.Context(), j.pair.ID); err != nil || sum != (ReceiptSum{1, 10}) {
		t.Errorf("%d receipts with %d bytes (%v)", sum.Objects, sum.Bytes, err)
	}
	j.take(1)
	must(t, j.record(described("b", typical)))
	if r, err := s.Receipt(t.Context(), j.pair.ID, "a"); err != nil || r.Asset != "asset of a" {
		t.Errorf("after: %+v (%v)", r, err)
	}
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("check: %v (%v)", problems, err)
	}
	backup, err = s.Backup(t.Context())
	must(t, err)
	copied, err := OpenReadOnly(t.Context(), backup)
	must(t, err)
	defer copied.Close()
	if d, err := copied.Description(t.Context(), j.pair.ID, "b"); err != nil || !cmp.Equal(d, typical) {
		t.Errorf("in the backup: %+v (%v)", d, err)
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
