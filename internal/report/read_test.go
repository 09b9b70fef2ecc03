package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/internal/report"
	"assetferry/migrate"
	"assetferry/migrate/undo"
	"assetferry/migrate/verify"
)

// A report has the results of a run, its verification, its verdict and its privacy.
func TestRead(t *testing.T) {
	w := newWorld(t)
	w.put("a/1.jpg", "one", "a/2.JPG", "two", "b/contract.txt", "signed", "b/odd.odd", "?", ".DS_Store", "junk")
	r := migrate.DefaultRules()
	r.Unsupported = "skip"
	first := w.migrate(r)
	w.put("a/3.png", "three", "a/1.jpg", "one, later")
	w.verify(verify.LevelChecksum, 0)
	run := w.migrate(r)
	got := w.read(run)

	if !got.Results.Accounted || got.Results.Listed != got.Results.Total {
		t.Errorf("objects are unaccounted for: %+v", got.Results)
	}
	sum := map[string]report.Amount{}
	for _, p := range got.Results.States {
		sum[p.State] = p.Amount
	}
	want := map[string]report.Amount{"created": {1, 5}, "unchanged": {2, 9}, "skipped": {3, 15}}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Error(diff)
	}
	if want := (report.Amount{Objects: 4, Bytes: 17}); got.Destination != want {
		t.Errorf("at the destination: %+v, want %+v", got.Destination, want)
	}
	if got.Verification.Level != "checksum" || got.Verification.Compared != 3 || got.Verification.ComparedByChecksum != 3 || got.Verification.Covers {
		t.Errorf("verification: %+v", got.Verification)
	}
	if got.Verdict.Kind != report.Partial {
		t.Errorf("verdict: %+v", got.Verdict)
	}
	if got.Privacy.Public.Objects != 1 || got.Privacy.Private.Objects != 0 {
		t.Errorf("privacy: %+v", got.Privacy)
	}
	if p := w.read(first).Privacy; p.Public.Objects != 2 || p.Private.Objects != 1 {
		t.Errorf("privacy of the first run: %+v", p)
	}
}

// A run stays undone in its report after its objects were uploaded again.
func TestUndoneAndUploadedAgain(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "one", "b.jpg", "two")
	first := w.migrate(migrate.DefaultRules())
	undoing, err := w.store.BeginUndo(t.Context(), first)
	must(t, err)
	plan, err := undo.NewPlanner(w.deps(w.source)).Plan(t.Context(), undoing, first)
	must(t, err)
	must(t, undo.New(w.deps(w.source), w.client).Apply(t.Context(), plan.Run))
	second := w.migrate(migrate.DefaultRules())

	for run, want := range map[string]bool{first.ID: true, second.ID: false} {
		run, err := w.store.Run(t.Context(), run)
		must(t, err)
		lines := 0
		for l, err := range w.read(run).Lines(t.Context(), "created") {
			must(t, err)
			if lines++; l.Undone != want {
				t.Errorf("%s of %s is undone: %v, want %v", l.Key, run.ID, l.Undone, want)
			}
		}
		if lines != 2 {
			t.Errorf("%d objects were created by %s, want 2", lines, run.ID)
		}
	}
	got, taken := w.read(first), w.read(w.again(undoing))
	if got.Verdict.Kind != report.Undone || len(got.Undo.By) != 1 || got.Undo.By[0].Run != undoing.ID || got.Undo.Created.Objects != 0 {
		t.Errorf("the run that was undone: %+v, %+v", got.Verdict, got.Undo)
	}
	if taken.Verdict.Kind != report.Undone || taken.Undo.Undoes != first.ID || len(taken.Alterations) != 1 || taken.Alterations[0].Objects != 2 {
		t.Errorf("the undo: %+v, %+v, %+v", taken.Verdict, taken.Undo, taken.Alterations)
	}
}

// A fixed describer gives all objects one description.
type fixed string

func (fixed) AsksForChecksums() bool { return false }

func (f fixed) Describe(metadata.Identity) (metadata.Fields, bool, error) {
	return metadata.Fields{"description": {string(f)}}.Normal(), true, nil
}

// Metadata that was edited at the destination and is kept is reported once.
func TestEditsKept(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "one", "b.jpg", "two")
	w.migrate(migrate.DefaultRules())
	r, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg")
	must(t, err)
	text := "by people"
	_, err = w.client.Update(t.Context(), r.Asset, assets.Changes{Description: &text})
	must(t, err)
	rules := migrate.DefaultRules()
	rules.Sync = migrate.DefaultSyncRules()
	w.says = fixed("from a table")
	if m := w.read(w.migrate(rules)).Metadata; m.EditsKept != 1 || m.Pending != 0 {
		t.Errorf("got %+v", m)
	}
	if m := w.read(w.migrate(rules)).Metadata; m.EditsKept != 0 {
		t.Errorf("reported again: %+v", m)
	}
}

// Warnings are in the report of the run that found them, by kind, and can be listed.
func TestWarnings(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "one", "a.jpg.json", `{"tags": `, "b.jpg", "two", "c.jpg", "\xff\xd8\xff\xe1\x00\x10Exif\x00\x00II*\x00\x08\x00\x00\x00\xff\xd9")
	w.says = fixed(strings.Repeat("words ", 300))
	r := w.read(w.migrate(migrate.DefaultRules()))
	got := map[report.RemarkKind]int64{}
	for _, k := range r.Found.Remarks {
		got[k.Kind] = k.Objects
		if int64(len(k.Examples)) != k.Objects || k.Examples[0].Error == "" {
			t.Errorf("examples: %+v", k)
		}
	}
	want := map[report.RemarkKind]int64{report.TooLong: 3, report.BrokenSidecar: 1, report.Embedded: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got)\n%s", diff)
	}
	choice, err := report.ParseChoice("warning")
	must(t, err)
	var list bytes.Buffer
	must(t, r.WriteList(t.Context(), &list, "keys", choice, nil))
	if want := "a.jpg\nb.jpg\nc.jpg\n"; list.String() != want {
		t.Errorf("listed %q, want %q", list.String(), want)
	}
	w.says = nil
	w.put("d.jpg", "four")
	r = w.read(w.migrate(migrate.DefaultRules()))
	if !r.Found.IsZero() {
		t.Errorf("warnings of another run: %+v", r.Found)
	}
	list.Reset()
	must(t, r.WriteList(t.Context(), &list, "keys", choice, nil))
	if list.Len() > 0 {
		t.Errorf("listed %q although there is no warning", list.String())
	}
}

// A warning is shown without the other warnings about the same object.
func TestWarningText(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "one", "a.jpg.json", `{"tags": `)
	w.says = fixed(strings.Repeat("words ", 300))
	for _, k := range w.read(w.migrate(migrate.DefaultRules())).Found.Remarks {
		if text := k.Examples[0].Error; strings.Contains(text, "; ") || text == "" {
			t.Errorf("%s: %q", k.Kind, text)
		}
	}
}
