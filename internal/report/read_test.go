package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/report"
	"assetferry/migrate"
)

// A run is told from the journal with everything that people ask about.
func TestRead(t *testing.T) {
	w := newWorld(t)
	w.put("a/1.jpg", "one", "a/2.JPG", "two", "b/contract.txt", "signed", "b/odd.odd", "?", ".DS_Store", "junk")
	r := migrate.DefaultRules()
	r.Unmatched = "skip"
	first := w.migrate(r)
	w.put("a/3.png", "three", "a/1.jpg", "one, later")
	w.verify(migrate.LevelContent, 0)
	run := w.migrate(r)
	got := w.read(run)

	if !got.Sum.Closes || got.Sum.Listed != got.Sum.Total {
		t.Errorf("the sum does not close: %+v", got.Sum)
	}
	sum := map[string]report.Amount{}
	for _, p := range got.Sum.Parts {
		sum[p.Name] = p.Amount
	}
	want := map[string]report.Amount{"created": {1, 5}, "unchanged": {2, 9}, "skipped": {3, 15}}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Error(diff)
	}
	if want := (report.Amount{Objects: 4, Bytes: 17}); got.Destination != want {
		t.Errorf("at the destination: %+v, want %+v", got.Destination, want)
	}
	if got.Proof.Level != "content" || got.Proof.Receipts != 3 || got.Proof.ReadBack != 3 || got.Proof.Covers {
		t.Errorf("proof: %+v", got.Proof)
	}
	if got.Verdict.Kind != report.Partial || got.Verdict.Kind.IsGood() {
		t.Errorf("verdict: %+v", got.Verdict)
	}
	if got.Privacy.Public.Objects != 1 || got.Privacy.Private.Objects != 0 {
		t.Errorf("privacy: %+v", got.Privacy)
	}
	if p := w.read(first).Privacy; p.Public.Objects != 2 || p.Private.Objects != 1 {
		t.Errorf("privacy of the first run: %+v", p)
	}
}
