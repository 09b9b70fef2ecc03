package report

import (
	"strings"
	"testing"
	"time"

	"assetferry/migrate"
)

// The most serious problem is the verdict, and no problem looks like a success.
func TestVerdict(t *testing.T) {
	arrived := []Part{part(created, 100, 1000), part(skipped, 7, 70)}
	for _, tc := range []struct {
		what   string
		change func(*Report)
		kind   Kind
		says   string
	}{
		{"verified by checksum", func(*Report) {}, Verified, "Complete and verified. 100 assets verified by checksum."},
		{"verified by sample", func(r *Report) { r.Verification.Level, r.Verification.ByChecksum = "sample", 10 }, Verified, "100 assets verified by name and size, 10 of them by checksum."},
		{"verified by listing", func(r *Report) { r.Verification.Level, r.Verification.ByChecksum = "listing", 0 }, Verified, "100 assets verified by name and size."},
		{"never verified", func(r *Report) { r.Verification = Verification{Level: "none"} }, Complete, "Complete. Not verified yet."},
		{"verified too early", func(r *Report) {
			r.Verification.Covers, r.Verification.Verified, r.Verification.NotVerified = false, 0, 100
		}, Complete, "Not verified since the last upload."},
		{"some uploaded since", func(r *Report) {
			r.Verification.Covers, r.Verification.Verified, r.Verification.NotVerified = false, 97, 3
		}, Complete,
			"Complete. 97 assets verified on 2025-11-21, 3 not verified yet."},
		{"nothing there", func(r *Report) { r.Destination = Amount{}; r.Results = accounted() }, Complete, "Nothing to do. No object had to be uploaded."},
		{"skipped and not missed", func(r *Report) { r.Skipped = []Skipped{{Reason: "junk", Amount: Amount{7, 70}}} }, Verified, "Complete and verified"},
		{"skipped and missed", func(r *Report) { r.Skipped = []Skipped{{Reason: "archived", Amount: Amount{7, 70}, Missed: true}} }, Partial,
			"Complete except for skipped objects. 7 objects that users may expect at the destination were skipped. 100 assets verified"},
		{"failed", func(r *Report) { r.Results = accounted(append(arrived, part(failed, 1, 1))...) }, Incomplete, "Incomplete. 1 failed (108 objects listed)."},
		{"each of these", func(r *Report) {
			r.Results = accounted(part(failed, 1, 1), part(retriesExhausted, 2, 2), part(changed, 3, 3), part(conflict, 4, 4))
		}, Incomplete, "1 failed, 2 " + words(retriesExhausted) + ", 3 changed, 4 in conflict (10 objects listed)."},
		{"hidden", func(r *Report) { r.Results = accounted(append(arrived, part(failed, 2, 0))...); r.Unlistable = 2 }, Incomplete,
			"2 folders of the source could not be read, so the objects inside are unknown."},
		{"differences", func(r *Report) { r.Verification.Differences = 3 }, Different, "The last verification found 3 differences"},
		{"failed and differs", func(r *Report) { r.Verification.Differences = 3; r.Results = accounted(part(failed, 1, 1)) }, Incomplete, "1 failed"},
		{"at work", func(r *Report) {
			r.Run.FinishedAt, r.Run.State = nil, "applying"
			r.Results = accounted(part(created, 5, 5), part(retryScheduled, 1, 1), part(unconfirmed, 2, 2), part(planned, 10, 10))
		}, Unfinished, "Not finished. 5 done, 11 pending, 2 " + words(unconfirmed) + "."},
		{"at work now", func(r *Report) { r.Run.FinishedAt, r.Run.AtWork = nil, true }, Unfinished, "Not finished. 100 done, 0 pending."},
		{"being listed", func(r *Report) { r.Run.ListedAll, r.Run.FinishedAt, r.Results.Accounted = false, nil, false }, Unfinished,
			"Listing not finished. 107 objects listed so far."},
		{"given up", func(r *Report) { r.Run.GivenUp = true }, Unfinished, "Superseded. Another run replaced this run, which had processed 100 objects."},
		{"plan", func(r *Report) { r.Run.Command, r.Run.State, r.Run.FinishedAt = "plan", "planned", nil }, PlanOnly, "Plan only. Nothing was changed"},
		{"undone", func(r *Report) { r.Undo = Undo{By: []UndoneBy{{Run: "x", Trashed: Amount{100, 1000}}}} }, Undone, "Undone. 100 assets trashed."},
		{"undone in part", func(r *Report) {
			r.Undo = Undo{Created: Amount{1, 1}, By: []UndoneBy{{Run: "x", Trashed: Amount{9, 9}}, {Run: "y", Trashed: Amount{90, 90}}}}
		}, Undone, "Partly undone. 99 assets trashed, 1 not undone."},
		{"a sync undone in part", func(r *Report) {
			r.Undo = Undo{Changed: Amount{2, 2}, By: []UndoneBy{{Run: "x", Trashed: Amount{1, 1}, Restored: Amount{3, 3}}}}
		}, Undone, "Partly undone. 1 asset trashed, 3 restored, 2 not undone."},
		{"an undo that trashed nothing", func(r *Report) { r.Undo.By = []UndoneBy{{Run: "x"}} }, Verified, "Complete and verified"},
		{"undo", func(r *Report) { r.Undo.Undoes, r.Results = "x", accounted(part(trashed, 3, 3), part(skipped, 1, 1)) }, Undone, "Undone. Run x: 3 assets trashed."},
		{"undo with conflicts", func(r *Report) { r.Undo.Undoes, r.Results = "x", accounted(part(trashed, 3, 3), part(conflict, 2, 2)) }, Incomplete,
			"Partly undone. Run x: 3 assets trashed, 2 not undone."},
		{"undo at work", func(r *Report) {
			r.Undo.Undoes, r.Run.FinishedAt, r.Results = "x", nil, accounted(part(trashed, 3, 3), part(planned, 4, 4))
		}, Unfinished, "Undo not finished. Run x: 3 assets trashed, 4 not undone."},
		{"undo given up", func(r *Report) { r.Undo.Undoes, r.Run.GivenUp, r.Results = "x", true, accounted(part(trashed, 3, 3)) }, Unfinished, "Undo superseded. Run x: 3 assets trashed."},
		{"plan of an undo", func(r *Report) { r.Undo.Undoes, r.Run.Command, r.Run.State = "x", "plan", "planned" }, PlanOnly, "Plan only. Nothing was changed"},
		{"unaccounted for", func(r *Report) { r.Results.Accounted = false }, Incomplete, "Objects unaccounted for. 107 objects listed, but only"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			r := verifiedSample().Report
			at := noon.Add(time.Hour)
			r.Results, r.Destination, r.Skipped = accounted(arrived...), Amount{100, 1000}, nil
			r.Verification = Verification{Level: "checksum", At: &at, Compared: 100, ComparedByChecksum: 100, Verified: 100, ByChecksum: 100, Covers: true}
			tc.change(&r)
			v := judge(r)
			if v.Kind != tc.kind || !strings.Contains(v.text(), tc.says) {
				t.Errorf("got %s: %s\nwant %s: …%s…", v.Kind, v.text(), tc.kind, tc.says)
			}
			if follow := v.Next == followIt; follow != r.Run.AtWork {
				t.Errorf("at work: %v, and next: %s", r.Run.AtWork, v.Next)
			}
			if done := v.Kind == Verified && r.Verification.Level == "checksum" || r.Destination.Objects == 0; v.Next == "" && !done {
				t.Error("there is no next step")
			}
		})
	}
}

// Objects that rules of the user's own skip are as configured; others that users may miss are not.
func TestSkippedByRules(t *testing.T) {
	unsupported := func(n, fresh int64) Skipped {
		return Skipped{Reason: string(migrate.ReasonUnsupportedType), Amount: Amount{n, n}, Missed: true, ByRule: true, New: fresh}
	}
	outdated := Skipped{Reason: string(migrate.ReasonNeedsSync), Amount: Amount{2, 2}, Missed: true}
	for _, tc := range []struct {
		what    string
		skipped []Skipped
		kind    Kind
		says    string
	}{
		{"for the first time", []Skipped{unsupported(42, 42)}, Verified, "by checksum. 42 objects skipped by your rules."},
		{"as before", []Skipped{unsupported(42, 0)}, Verified, "by checksum. 42 objects skipped by your rules."},
		{"one more", []Skipped{unsupported(42, 1)}, Verified, "by checksum. 42 objects skipped by your rules, 1 for the first time."},
		{"no rule", []Skipped{outdated}, Partial, "2 objects that users may expect at the destination were skipped."},
		{"no rule, and rules", []Skipped{outdated, unsupported(42, 0)}, Partial, "2 objects that users may expect at the destination were skipped. 99,412 assets verified by checksum. 42 objects skipped by your rules."},
	} {
		r := verifiedSample().Report
		r.Skipped, r.Sync = tc.skipped, nil
		if v := judge(r); v.Kind != tc.kind || !strings.Contains(v.text(), tc.says) {
			t.Errorf("%s: got %s: %s\nwant %s: …%s…", tc.what, v.Kind, v.text(), tc.kind, tc.says)
		}
	}
}

// A run that processed only a part of the source does not look complete, unless the rules of the
// user's own select that part.
func TestSelection(t *testing.T) {
	for reason, kind := range map[migrate.Reason]Kind{migrate.ReasonLimit: Selection, migrate.ReasonNotInList: Selection, migrate.ReasonExcluded: Verified} {
		r := verifiedSample().Report
		r.Run.Narrow = true
		r.Skipped = []Skipped{{Reason: string(reason), Amount: Amount{7, 7}, Missed: reason.IsMissed(), ByRule: reason.IsOwnRule()}}
		if v := judge(r); v.Kind != kind {
			t.Errorf("%s: got %s: %s, want %s", reason, v.Kind, v.text(), kind)
		}
	}
	r := verifiedSample().Report
	r.Run.Narrow = true
	r.Skipped = []Skipped{{Reason: string(migrate.ReasonLimit), Amount: Amount{1, 1}, Missed: true}}
	if got, want := judge(r).Message, "1 of 100,000 objects was not selected."; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// accounted returns results whose objects are all accounted for.
func accounted(all ...Part) Results { return reportOf(production, Verdict{}, all...).Results }

// TestCommandsOfVerdicts verifies that the next command has the source of the run and its wave.
func TestCommandsOfVerdicts(t *testing.T) {
	for _, tc := range []struct{ source, wave, verify, migrate string }{
		{"s3://photos/2024", "", "assetferry verify --content", "assetferry migrate s3://photos/2024"},
		{"s3://my photos", "press", "assetferry verify --content --wave press", "assetferry migrate 's3://my photos' --wave press"},
		{"photos", "press", "assetferry verify --content --wave press", "assetferry migrate SOURCE --wave press"},
	} {
		r := verifiedSample().Report
		r.Skipped, r.Sync, r.Run.Source, r.Run.Wave, r.Verification = nil, nil, tc.source, tc.wave, Verification{Level: "none"}
		if got := judge(r).NextStep().Command; got != tc.verify {
			t.Errorf("not verified: %s, want %s", got, tc.verify)
		}
		r.Undo = Undo{By: []UndoneBy{{Run: "x", Trashed: Amount{1, 1}}}}
		if got := judge(r).NextStep().Command; got != tc.migrate {
			t.Errorf("undone: %s, want %s", got, tc.migrate)
		}
	}
}
