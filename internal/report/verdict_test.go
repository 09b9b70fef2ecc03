package report

import (
	"strings"
	"testing"
	"time"

	"assetferry/migrate"
	"assetferry/state"
)

// The first thing that is wrong is the verdict, and nothing that is wrong looks like a
// success.
func TestVerdict(t *testing.T) {
	arrived := []Part{part(created, 100, 1000), part(skipped, 7, 70)}
	for _, tc := range []struct {
		what   string
		change func(*Report)
		kind   Kind
		says   string
	}{
		{"proved by content", func(*Report) {}, Proved, "Everything arrived and was proved by content: 100 assets."},
		{"proved by sample", func(r *Report) { r.Proof.Level, r.Proof.ByContent = "sample", 10 }, Proved, "10 of 100 assets were read back"},
		{"proved by listing", func(r *Report) { r.Proof.Level, r.Proof.ByContent = "listing", 0 }, Proved, "lists it by name and size: 100 assets"},
		{"never verified", func(r *Report) { r.Proof = Proof{Level: "none"} }, Complete, "never verified"},
		{"verified too early", func(r *Report) { r.Proof.Covers, r.Proof.Verified, r.Proof.NotVerified = false, 0, 100 }, Complete, "not verified since"},
		{"some uploaded since", func(r *Report) { r.Proof.Covers, r.Proof.Verified, r.Proof.NotVerified = false, 97, 3 }, Complete,
			"Everything arrived by its receipts. 97 assets verified on 2025-11-21, 3 not verified yet."},
		{"nothing there", func(r *Report) { r.Destination = Amount{}; r.Sum = closing() }, Complete, "Nothing was to be taken over."},
		{"left out on purpose", func(r *Report) { r.LeftOut = []LeftOut{{Reason: "junk", Amount: Amount{7, 70}}} }, Proved, "Everything arrived"},
		{"left out and missed", func(r *Report) { r.LeftOut = []LeftOut{{Reason: "limit", Amount: Amount{7, 70}, Missed: true}} }, Partial,
			"Not everything was taken over: 7 objects were left out that somebody may look for. Everything else arrived"},
		{"failed", func(r *Report) { r.Sum = closing(append(arrived, part(failed, 1, 1))...) }, Incomplete, "1 object did not come through: 1 failed."},
		{"each of these", func(r *Report) {
			r.Sum = closing(part(failed, 1, 1), part(parked, 2, 2), part(changed, 3, 3), part(conflict, 4, 4))
		}, Incomplete, "10 objects did not come through: 1 failed, 2 parked, 3 changed, 4 in conflict."},
		{"hidden", func(r *Report) { r.Sum = closing(append(arrived, part(failed, 2, 0))...); r.Unlistable = 2 }, Incomplete,
			"The source could not be listed to its end: 2 folders could not be read"},
		{"differences", func(r *Report) { r.Proof.Differences = 3 }, Different, "A verification found 3 differences"},
		{"failed and differs", func(r *Report) { r.Proof.Differences = 3; r.Sum = closing(part(failed, 1, 1)) }, Incomplete, "1 failed"},
		{"at work", func(r *Report) {
			r.Run.FinishedAt, r.Run.State = nil, "applying"
			r.Sum = closing(part(created, 5, 5), part(waiting, 1, 1), part(unconfirmed, 2, 2), part(planned, 10, 10))
		}, Unfinished, "The run is not finished: 5 arrived, 11 are still to be done, and of 2 nobody knows whether they arrived."},
		{"at work now", func(r *Report) { r.Run.FinishedAt, r.Run.AtWork = nil, true }, Unfinished, "The run is not finished"},
		{"being listed", func(r *Report) { r.Run.ListedAll, r.Run.FinishedAt, r.Sum.Closes = false, nil, false }, Unfinished,
			"The source was not listed to its end: 107 objects so far"},
		{"given up", func(r *Report) { r.Run.GivenUp = true }, Unfinished, "The run was given up before it was finished"},
		{"plan", func(r *Report) { r.Run.Command, r.Run.State, r.Run.FinishedAt = "plan", "planned", nil }, PlanOnly, "nothing has been sent"},
		{"undone", func(r *Report) { r.Undo.By = []UndoneBy{{Run: "x", Trashed: Amount{100, 1000}}} }, Undone, "100 assets that it had created went to the trash"},
		{"undone in part", func(r *Report) {
			r.Undo = Undo{Created: Amount{1, 1}, By: []UndoneBy{{Run: "x", Trashed: Amount{9, 9}}, {Run: "y", Trashed: Amount{90, 90}}}}
		}, Undone, "99 assets that it had created went to the trash, and 1 did not"},
		{"a night undone in part", func(r *Report) {
			r.Undo = Undo{Changed: Amount{2, 2}, By: []UndoneBy{{Run: "x", Trashed: Amount{1, 1}, PutBack: Amount{3, 3}}}}
		}, Undone, "The run was undone in part: 3 assets were put back as they were; 1 asset that it had created went to the trash, and 2 did not."},
		{"an undo that trashed nothing", func(r *Report) { r.Undo.By = []UndoneBy{{Run: "x"}} }, Proved, "Everything arrived"},
		{"undo", func(r *Report) { r.Undo.Undoes, r.Sum = "x", closing(part(trashed, 3, 3), part(skipped, 1, 1)) }, Undone, "Run x was undone: 3 assets"},
		{"undo with conflicts", func(r *Report) { r.Undo.Undoes, r.Sum = "x", closing(part(trashed, 3, 3), part(conflict, 2, 2)) }, Incomplete,
			"Run x was undone in part: 3 assets went to the trash, and 2 did not."},
		{"undo at work", func(r *Report) {
			r.Undo.Undoes, r.Run.FinishedAt, r.Sum = "x", nil, closing(part(trashed, 3, 3), part(planned, 4, 4))
		}, Unfinished, "The undo of run x is not finished: 3 assets went to the trash, and 4 did not."},
		{"undo given up", func(r *Report) { r.Undo.Undoes, r.Run.GivenUp, r.Sum = "x", true, closing(part(trashed, 3, 3)) }, Unfinished, "was given up; 3 assets"},
		{"plan of an undo", func(r *Report) { r.Undo.Undoes, r.Run.Command, r.Run.State = "x", "plan", "planned" }, PlanOnly, "nothing has been sent"},
		{"does not close", func(r *Report) { r.Sum.Closes = false }, Incomplete, "The sum does not close"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			r := proved().Report
			at := noon.Add(time.Hour)
			r.Sum, r.Destination, r.LeftOut = closing(arrived...), Amount{100, 1000}, nil
			r.Proof = Proof{Level: "content", At: &at, Receipts: 100, ReadBack: 100, Verified: 100, ByContent: 100, Covers: true}
			tc.change(&r)
			v := judge(r)
			if v.Kind != tc.kind || !strings.Contains(v.Sentence, tc.says) {
				t.Errorf("got %s: %s\nwant %s: …%s…", v.Kind, v.Sentence, tc.kind, tc.says)
			}
			if follow := v.Next == followIt; follow != r.Run.AtWork {
				t.Errorf("at work: %v, and next: %s", r.Run.AtWork, v.Next)
			}
			if everything := strings.HasPrefix(v.Sentence, "Everything"); everything != ((v.Kind == Proved || v.Kind == Complete) && r.Destination.Objects > 0) {
				t.Errorf("%s begins with %q", v.Kind, v.Sentence)
			}
			if done := v.Kind == Proved && r.Proof.Level == "content" || r.Destination.Objects == 0; v.Next == "" && !done {
				t.Error("there is no next step")
			}
		})
	}
}

// What a rule of the user's own skips makes no verdict bad once it was seen; what no rule
// decides does.
func TestRulesSkipOnce(t *testing.T) {
	unmatched := func(n, fresh int64) LeftOut {
		return LeftOut{Reason: string(migrate.ReasonUnsupportedType), Amount: Amount{n, n}, Missed: true, ByRule: true, New: fresh}
	}
	outdated := LeftOut{Reason: string(migrate.ReasonNeedsSync), Amount: Amount{2, 2}, Missed: true}
	for _, tc := range []struct {
		what string
		left []LeftOut
		kind Kind
		says string
	}{
		{"for the first time", []LeftOut{unmatched(42, 42)}, Partial, "42 objects were left out that somebody may look for. Everything else"},
		{"as before", []LeftOut{unmatched(42, 0)}, Proved, "Complete: 42 objects skipped by your rules. Everything else arrived"},
		{"one more", []LeftOut{unmatched(42, 1)}, Partial, "1 object was left out that somebody may look for, besides 41 skipped by your rules as before."},
		{"no rule", []LeftOut{outdated}, Partial, "2 objects were left out"},
		{"no rule, and rules", []LeftOut{outdated, unmatched(42, 0)}, Partial, "2 objects were left out that somebody may look for, besides 42 skipped"},
	} {
		r := proved().Report
		r.LeftOut, r.Night = tc.left, nil
		if v := judge(r); v.Kind != tc.kind || !strings.Contains(v.Sentence, tc.says) {
			t.Errorf("%s: got %s: %s\nwant %s: …%s…", tc.what, v.Kind, v.Sentence, tc.kind, tc.says)
		}
	}
}

// closing is a sum that closes.
func closing(all ...Part) Sum { return reportOf(state.Production, Verdict{}, all...).Sum }
