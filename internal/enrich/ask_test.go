package enrich

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
	"assetferry/state/enrichment"
)

func TestDescribe(t *testing.T) {
	w := newWorld(t, 3)
	w.add("fine", "A person wrote this about the dog")
	got, err := w.ask(w.engine(), nil)
	must(t, err)
	if got.States[enrichment.Proposed] != 3 || got.Run.Calls != 3 || got.Left != 0 || *got.Run.Credits != 1.5 || got.Run.Bytes == 0 {
		t.Errorf("got %+v", got)
	}
	for _, e := range w.enrichments() {
		if e.Proposal.Text != "A made-up picture" || len(e.Proposal.Tags) != 2 || e.Proposal.Model != "agent-1" || e.Calls != 1 {
			t.Errorf("got %+v", e)
		}
	}
	if len(w.talks) != 0 || w.updates != 0 {
		t.Errorf("%d conversations are left, and %d assets were changed", len(w.talks), w.updates)
	}
	if got, err = w.ask(w.engine(), nil); err != nil || w.billed != 3 {
		t.Errorf("a second run billed %d calls: %+v (%v)", w.billed-3, got, err)
	}
	if got, err = w.ask(w.engine(), func(r *Request) { r.Again = true }); err != nil || w.billed != 6 {
		t.Errorf("told to ask again it billed %d calls, want 3: %+v (%v)", w.billed-3, got, err)
	}
}

// TestEveryFault makes the n-th request fail in every possible way, for each n, and repeats the
// run. In the end each asset has its proposal, each image was requested once, no conversation is
// left, and the state database counts every billed request.
func TestEveryFault(t *testing.T) {
	ways := map[string]fault{
		"refused": {err: &statusError{"unavailable", retry.Transient, nil}}, "denied": {err: &statusError{"forbidden", retry.Fatal, nil}},
		"impossible": {err: &statusError{"no", retry.Permanent, nil}}, "lost": {lost: true, err: &statusError{"cut", retry.Transient, nil}},
		"killed before": {kill: true}, "killed after": {kill: true, lost: true},
	}
	random, step := seedtest.Rand(t), longtest.Size(5, 1)
	for name, way := range ways {
		first := 1 + random.IntN(step)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n, struck := first, true; struck; n += step {
				t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
					w := newWorld(t, 2)
					w.fault = way
					w.fault.at = n
					_, _ = w.ask(w.engine(), nil) // the final state shows the result
					struck = w.fault.struck
					w.again()
					if failed := w.failed(); len(failed) > 0 {
						_, err := w.ask(w.engine(), func(r *Request) { r.Again, r.Assets = true, failed })
						must(t, err)
					}
					result, err := w.ask(w.engine(), nil)
					must(t, err)
					w.checkWhole(result, 2)
				})
			}
		})
	}
}

// failed returns the IDs of failed assets.
func (w *world) failed() (ids []string) {
	w.Helper()
	for _, e := range w.enrichments() {
		if e.State == enrichment.Failed {
			ids = append(ids, e.Asset)
		}
	}
	return ids
}

// checkWhole checks that the result is the same as without faults.
func (w *world) checkWhole(result Result, n int) {
	w.Helper()
	if got := w.states(); got[enrichment.Proposed] != n || len(got) != 1 {
		w.Errorf("there are %v, want %d proposals", got, n)
	}
	if len(w.talks) != 0 || result.Left != 0 {
		w.Errorf("%d conversations are left, and %d are told of", len(w.talks), result.Left)
	}
	calls := 0
	for _, e := range w.enrichments() {
		calls += e.Calls
	}
	if calls != w.billed {
		w.Errorf("the journal knows of %d calls, and %d were billed", calls, w.billed)
	}
	for _, times := range w.asked {
		if times != 1 {
			w.Errorf("a picture was asked about %d times", times)
		}
	}
	if len(w.asked) != n {
		w.Errorf("%d pictures were asked about, want %d", len(w.asked), n)
	}
}

// TestRepair verifies that a model that ignores the requested form is asked again in the same
// conversation.
func TestRepair(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for _, tt := range []struct {
		name          string
		first, second string
		text, note    string
		calls         int
	}{
		{"words around", "Sure!\n```json\n{\"alt\": \"A dog\", \"tags\": []}\n```\nAnything else?", "", "A dog", "", 1},
		{"no object", "A dog.", `{"alt": "A dog"}`, "A dog", "", 2},
		{"too long, then not", `{"alt": "` + long + `"}`, `{"alt": "A dog"}`, "A dog", "", 2},
		{"too long twice", `{"alt": "` + long + `"}`, `{"alt": "` + long + `"}`, strings.TrimSpace(long[:120]) + "…", "shortened from 199 characters", 2},
		{"too long, then nothing", `{"alt": "` + long + `"}`, `no`, strings.TrimSpace(long[:120]) + "…", "shortened from 199 characters", 2},
		{"nothing twice", "no", "no", "", "", 2},
		{"says little", `{"alt": "Image"}`, "", "Image", "the description says little about the image", 1},
		{"another language", `{"alt": "Ein Hund mit einem Ball"}`, "", "Ein Hund mit einem Ball", "the text does not seem to be in the language en", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1)
			asked := 0
			w.answers = func(string) string {
				if asked++; asked == 1 {
					return tt.first
				}
				return tt.second
			}
			_, err := w.ask(w.engine(), nil)
			must(t, err)
			e := w.enrichments()[0]
			if e.Proposal.Text != tt.text || e.Proposal.Note != tt.note || e.Calls != tt.calls || w.billed != tt.calls {
				t.Errorf("got %+v after %d calls", e, w.billed)
			}
			if failed := e.State == enrichment.Failed; failed != (tt.text == "") || failed && e.Class != string(retry.Transient) {
				t.Errorf("got %s %s: %s", e.State, e.Class, e.Error)
			}
		})
	}
}

func TestDecorative(t *testing.T) {
	w := newWorld(t, 2)
	must(t, w.engine().Decorative(t.Context(), true, "asset00"))
	w.answers = func(string) string { return `{"alt": "", "tags": [], "decorative": true}` }
	_, err := w.ask(w.engine(), nil)
	must(t, err)
	if all := w.enrichments(); len(all) != 1 || all[0].Asset != "asset01" || !all[0].Proposal.Decorative || w.billed != 1 {
		t.Fatalf("got %+v", all)
	}
	w.accept()
	got, err := w.engine().Apply(t.Context())
	if err != nil || got.States[enrichment.Applied] != 1 || w.updates != 0 {
		t.Errorf("got %+v after %d updates (%v)", got, w.updates, err)
	}
	must(t, New(Deps{Store: w.store, Library: w, Destination: library}).Audit(t.Context(), ""))
	counts, err := w.engine().Findings(t.Context())
	if err != nil || counts.Findings[FindingDecorative] != 2 {
		t.Errorf("got %+v (%v)", counts, err)
	}
	_, err = w.engine().Undo(t.Context(), got.Run.ID)
	must(t, err)
	if counts, err = w.engine().Findings(t.Context()); err != nil || counts.Findings[FindingDecorative] != 1 || counts.Findings[FindingNone] != 1 {
		t.Errorf("undone: %+v (%v)", counts, err)
	}
}

// TestDecorativeAfterACrash verifies that the mark of an asset that needs no description is stored,
// and removed with its proposal, at whatever point the process dies.
func TestDecorativeAfterACrash(t *testing.T) {
	for call := 1; ; call++ {
		w := newWorld(t, 1)
		w.answers = func(string) string { return `{"alt": "", "tags": [], "decorative": true}` }
		_, err := w.ask(w.engine(), nil)
		must(t, err)
		w.accept()
		died := false
		dies := func(what func(e *Engine) error) {
			w.calls, w.fault = 0, fault{at: call, kill: true, err: errKilled}
			err := what(w.engine())
			if died = died || w.fault.struck; !w.fault.struck {
				must(t, err)
			}
			w.fault = fault{}
		}
		wants := func(marked int64) {
			t.Helper()
			if counts, err := w.engine().Findings(t.Context()); err != nil || counts.Findings[FindingDecorative] != marked {
				t.Errorf("killed at call %d: got %+v (%v), want %d", call, counts, err, marked)
			}
		}
		dies(func(e *Engine) error { _, err := e.Apply(t.Context()); return err })
		_, err = w.engine().Apply(t.Context())
		must(t, err)
		wants(1)
		runs, err := w.store.Runs(t.Context(), library, 100)
		must(t, err)
		for _, r := range runs {
			if r.Command == "apply" {
				dies(func(e *Engine) error { _, err := e.Undo(t.Context(), r.ID); return err })
				_, err = w.engine().Undo(t.Context(), r.ID)
				must(t, err)
			}
		}
		wants(0)
		if !died {
			return
		}
	}
}

// TestChangedSinceAudit verifies that changes of an asset since the audit are respected.
func TestChangedSinceAudit(t *testing.T) {
	w := newWorld(t, 4)
	e := w.engine()
	must(t, e.Audit(t.Context(), "en"))
	w.assets["asset00"].Metadata.Description = "A person wrote this about the dog"
	w.assets["asset01"].Tags = append(w.assets["asset01"].Tags, "no-ai")
	w.assets["asset02"].CategoryID = "elsewhere"
	w.private = true
	if got, err := e.Ask(t.Context(), Request{Kind: enrichment.KindDescribe, Language: "en"}); err != nil || w.billed != 0 {
		t.Errorf("from a category that became private: %+v (%v)", got, err)
	}
	w.private = false
	got, err := e.Ask(t.Context(), Request{Kind: enrichment.KindDescribe, Language: "en", Rules: Rules{Tags: []string{"no-ai"}}})
	if err != nil || got.States[enrichment.Proposed] != 1 || w.billed != 1 {
		t.Errorf("got %+v (%v)", got, err)
	}
}

func TestCreditLimit(t *testing.T) {
	w := newWorld(t, 10)
	got, err := w.ask(w.engine(), func(r *Request) { r.MaxCredits = 2 })
	if !errors.Is(err, ErrCreditLimit) || w.billed != 4 || got.States[enrichment.Proposed] != 4 {
		t.Errorf("billed %d calls, want the 4 that cost 2 credits: %+v (%v)", w.billed, got, err)
	}
	got, err = w.ask(w.engine(), func(r *Request) { r.MaxCredits = 1.5 })
	if !errors.Is(err, ErrCreditLimit) || w.billed != 7 {
		t.Errorf("billed %d calls, want 3 more: %+v (%v)", w.billed, got, err)
	}
	if _, err = w.ask(w.engine(), func(r *Request) { r.Limit = 2 }); err != nil || w.billed != 9 {
		t.Errorf("billed %d calls, want 2 more (%v)", w.billed, err)
	}
}

func TestBreaker(t *testing.T) {
	w := newWorld(t, 30)
	for url := range w.files {
		w.files[url] = []byte("no picture")
	}
	_, err := w.ask(w.engine(), nil)
	e, ok := errors.AsType[*BreakerError](err)
	if !ok || e.Failures != maxFailureStreak || w.states()[enrichment.Failed] != maxFailureStreak || w.billed != 0 {
		t.Errorf("got %v, and %v", err, w.states())
	}
	if _, err := w.ask(w.engine(), nil); err != nil || w.states()[enrichment.Failed] != 30 {
		t.Errorf("the rest: %v, and %v", err, w.states())
	}
	got, err := w.engine().Plan(t.Context(), Request{Kind: enrichment.KindDescribe, Language: "en"})
	if err != nil || got.Assets != 0 || got.Excluded[ReasonFailed] != 30 {
		t.Errorf("got %+v (%v)", got, err)
	}
}

// TestPlanKnowsTheLimit verifies that the limit of requests per minute is part of the estimated
// duration.
func TestPlanKnowsTheLimit(t *testing.T) {
	w := newWorld(t, 30)
	e := w.engine()
	e.PerMinute = 10
	if err := e.Audit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	got, err := e.Plan(t.Context(), Request{Kind: enrichment.KindDescribe, Language: "en"})
	if err != nil || got.Duration != 3*time.Minute {
		t.Errorf("got %v (%v), want 3 minutes for 30 calls at 10 a minute", got.Duration, err)
	}
}

// TestRefused verifies that a proposal refused by moderation is never requested again.
func TestRefused(t *testing.T) {
	var w *world
	for n := 1; ; n++ {
		w = newWorld(t, 1)
		w.fault = fault{at: n, err: &flaggedError{}}
		_, err := w.ask(w.engine(), nil)
		if !w.fault.struck {
			t.Fatal("no call was refused")
		}
		if err == nil && w.states()[enrichment.Refused] == 1 {
			break
		}
	}
	e := w.enrichments()[0]
	if len(e.Flagged) != 1 || e.Flagged[0] != "violence" || len(w.talks) != 0 {
		t.Errorf("got %+v", e)
	}
	must(t, w.engine().Audit(t.Context(), "en"))
	if got, err := w.engine().Plan(t.Context(), Request{Kind: enrichment.KindDescribe, Language: "en"}); err != nil || got.Excluded[ReasonRefused] != 1 {
		t.Errorf("got %+v (%v)", got, err)
	}
	refused, err := w.engine().Import(t.Context(), []Row{{Num: e.Num, Accepted: true, Text: "What a person wrote"}})
	if err != nil || len(refused) != 0 {
		t.Errorf("refused %v (%v)", refused, err)
	}
	if got, err := w.engine().Apply(t.Context()); err != nil || w.assets["asset00"].Metadata.Description != "What a person wrote" {
		t.Errorf("got %+v (%v)", got, err)
	}
}

type flaggedError struct{}

func (*flaggedError) Error() string               { return "flagged" }
func (*flaggedError) Class() retry.Class          { return retry.Permanent }
func (*flaggedError) FlaggedCategories() []string { return []string{"violence"} }

func TestNoAudit(t *testing.T) {
	w := newWorld(t, 1)
	if _, err := w.engine().Ask(t.Context(), Request{Kind: enrichment.KindDescribe, Language: "en"}); !errors.Is(err, ErrNoAudit) {
		t.Errorf("got %v", err)
	}
	if _, err := w.engine().Findings(t.Context()); !errors.Is(err, ErrNoAudit) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
