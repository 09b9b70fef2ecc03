package enrichment

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assetferry/state"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func collect[T any](tb testing.TB, rows iter.Seq2[T, error]) (all []T) {
	tb.Helper()
	for row, err := range rows {
		must(tb, err)
		all = append(all, row)
	}
	return all
}

func newStore(tb testing.TB) *Store {
	tb.Helper()
	s, err := state.Open(tb.Context(), filepath.Join(tb.TempDir(), "state.db"))
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	return In(s)
}

// background is for calls after the end of a test.
var background = context.Background()

const library = "environment/workspace"

// enriching returns a state database with a complete audit of these assets, and a run.
func enriching(tb testing.TB, assets ...string) (*Store, Run) {
	tb.Helper()
	s := newStore(tb)
	audit(tb, s, assets...)
	run, err := s.BeginRun(tb.Context(), Run{Destination: library, Command: "describe", Service: "ai.example.com", Model: "agent-1"})
	must(tb, err)
	return s, run
}

func audit(tb testing.TB, s *Store, assets ...string) {
	tb.Helper()
	number, err := s.BeginAudit(tb.Context(), library)
	must(tb, err)
	var page []AuditedAsset
	for _, asset := range assets {
		page = append(page, auditedAs(asset))
	}
	must(tb, s.SaveAssets(tb.Context(), library, number, page))
	must(tb, s.EndAudit(tb.Context(), library, number))
}

func auditedAs(asset string) AuditedAsset {
	return AuditedAsset{Asset: asset, Category: "c", CategoryName: "Images", Private: true, Folder: "a/b", FolderID: "b", Name: asset, Extension: "jpg", Size: 10,
		Width: 3, Height: 2, Blur: "blur", Description: "old", Tags: []string{"one", "two"}, Attributes: map[string]any{"id": json.Number("12345678901234567890")},
		Modified: time.UnixMilli(1_700_000_000_000).UTC(), URL: "https://example.com/" + asset, Image: "https://example.com/1024", Findings: "long,language", Language: "de"}
}

// propose requests a proposal in a conversation and stores an answer.
func propose(tb testing.TB, s *Store, run Run, asset string) int64 {
	tb.Helper()
	num := ask(tb, s, run, asset, "conversation of "+asset)
	must(tb, s.Answer(tb.Context(), run.Num, []Answer{{Num: num, State: Proposed, Proposal: &Proposal{Text: "new", Tags: []string{"three"}}, Model: "agent-1", Calls: 1, Bytes: 7}}))
	return num
}

func ask(tb testing.TB, s *Store, run Run, asset, conversation string) int64 {
	tb.Helper()
	nums, err := s.Ask(tb.Context(), run, []Question{asking(asset, conversation)})
	must(tb, err)
	return nums[0]
}

func asking(asset, conversation string) Question {
	return Question{Asset: asset, Kind: KindDescribe, Language: "en", Conversation: conversation,
		Basis: Basis{Size: 10, Width: 3, Height: 2, Blur: "blur", Description: "old", Tags: []string{"one", "two"}}}
}

func TestAudit(t *testing.T) {
	s, _ := enriching(t, "a", "b")
	if diff := cmp.Diff([]AuditedAsset{auditedAs("a"), auditedAs("b")}, collect(t, s.Assets(t.Context(), library))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	must(t, s.MarkDecorative(t.Context(), library, []string{"b"}, true))
	number, err := s.BeginAudit(t.Context(), library)
	must(t, err)
	if v, err := s.LastAudit(t.Context(), library); err != nil || v.Whole {
		t.Errorf("a audit that has begun: %+v (%v)", v, err)
	}
	must(t, s.SaveAssets(t.Context(), library, number, []AuditedAsset{auditedAs("b")}))
	if got := collect(t, s.Assets(t.Context(), library)); len(got) != 2 || !got[1].Decorative {
		t.Errorf("before the end of a audit there is %+v, want a of the one before, and b, which is decorative", got)
	}
	must(t, s.EndAudit(t.Context(), library, number))
	if got := collect(t, s.Assets(t.Context(), library)); len(got) != 1 || got[0].Asset != "b" {
		t.Errorf("after the audit there is %+v, want b", got)
	}
	if err := s.SaveAssets(t.Context(), library, number-1, []AuditedAsset{auditedAs("c")}); !errors.Is(err, state.ErrConflict) {
		t.Errorf("a page of an earlier audit: got %v", err)
	}
}

// TestEnrichment verifies an enrichment in each of its states.
func TestEnrichment(t *testing.T) {
	s, run := enriching(t, "a", "b")
	num := propose(t, s, run, "a")
	want := Enrichment{Num: num, Destination: library, Asset: "a", Kind: KindDescribe, Language: "en", State: Proposed, Run: run.ID,
		Basis: asking("a", "").Basis, Proposal: Proposal{Text: "new", Tags: []string{"three"}, Model: "agent-1"}, Calls: 1, Bytes: 7, Attempts: 1}
	got, err := s.Enrichment(t.Context(), num)
	must(t, err)
	got.Updated = want.Updated
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := collect(t, s.Enrichables(t.Context(), library, KindDescribe, "en"))
	if len(all) != 2 || all[0].Enrichment == nil || all[0].Enrichment.Num != num || all[1].Enrichment != nil {
		t.Errorf("got %+v", all)
	}
	refused, err := s.Judge(t.Context(), library, []Verdict{{Num: num, Accepted: true, Proposal: &Proposal{Text: "better"}}, {Num: 99, Accepted: true}})
	if err != nil || !slices.Equal(refused, []int64{99}) {
		t.Errorf("refused %v (%v), want the unknown one", refused, err)
	}
	old, text := "old", "better"
	before, after := Written{Description: &old}, Written{Description: &text, Tags: &[]string{"x"}, Attribute: "description_de"}
	must(t, s.Apply(t.Context(), run.Num, num, before, after))
	if _, err := s.Ask(t.Context(), run, []Question{asking("a", "again")}); !errors.Is(err, state.ErrConflict) {
		t.Errorf("asking for one that is being applied: got %v", err)
	}
	must(t, s.Applied(t.Context(), run.ID, num, ChangeApplied, ""))
	changes := collect(t, s.Changes(t.Context(), run.ID))
	if len(changes) != 1 || changes[0].State != ChangeApplied || !changes[0].Enrichment.Edited || !cmp.Equal(before, changes[0].Before) || !cmp.Equal(after, changes[0].After) {
		t.Errorf("got %+v", changes)
	}
	must(t, s.Undo(t.Context(), run.ID, num, run.Num))
	if open := collect(t, s.OpenChanges(t.Context(), library)); len(open) != 1 {
		t.Errorf("open are %+v", open)
	}
	must(t, s.Undone(t.Context(), run.ID, num, ChangeUndone, ""))
	if got, err := s.Enrichment(t.Context(), num); err != nil || got.State != Undone {
		t.Errorf("got %+v (%v)", got, err)
	}
	undone := collect(t, s.Enrichments(t.Context(), library, Filter{States: []State{Undone}, Kind: KindDescribe}))
	if len(undone) != 1 {
		t.Errorf("undone are %+v", undone)
	}
}

// TestConversations verifies that a conversation is stored before it is created, marked for
// deletion after the answer, and removed after its deletion.
func TestConversations(t *testing.T) {
	s, run := enriching(t, "a", "b")
	a, b := ask(t, s, run, "a", "one"), ask(t, s, run, "b", "two")
	must(t, s.Answer(t.Context(), run.Num, []Answer{{Num: a, State: Failed, Class: "transient", Error: "no answer"}}))
	all := collect(t, s.Conversations(t.Context(), run.Service))
	if len(all) != 2 || all[0].ID != "one" || !all[0].Spent || all[1].Spent || all[1].Enrichment.Num != b {
		t.Fatalf("got %+v", all)
	}
	if n, err := s.AbandonAsking(t.Context(), library, run.Service); err != nil || n != 0 {
		t.Errorf("abandoned %d (%v), and the conversation may have a reply", n, err)
	}
	if n, err := s.AbandonAsking(t.Context(), library, "elsewhere.example.com"); err != nil || n != 1 {
		t.Errorf("abandoned %d (%v), want b, which another service was asked about", n, err)
	}
	if all := collect(t, s.Conversations(t.Context(), run.Service)); len(all) != 2 || !all[1].Spent {
		t.Errorf("got %+v, want what was abandoned to be deleted", all)
	}
	again := ask(t, s, run, "a", "three")
	if got, err := s.Enrichment(t.Context(), again); err != nil || again != a || got.Attempts != 2 || got.Error != "" {
		t.Errorf("after a second question there is %+v (%v)", got, err)
	}
}

func TestEnrichmentRuns(t *testing.T) {
	s, run := enriching(t, "a")
	propose(t, s, run, "a")
	credits := 2.5
	must(t, s.FinishRun(t.Context(), run.Num, &credits))
	undo, err := s.BeginRun(t.Context(), Run{Destination: library, Command: "undo", Contexts: []string{"c1", "c2/prompt/p"}, Undoes: run.ID})
	must(t, err)
	all, err := s.Runs(t.Context(), library, 10)
	must(t, err)
	if len(all) != 2 || all[0].ID != undo.ID || all[0].Undoes != run.ID || all[1].Calls != 1 || all[1].Bytes != 7 || *all[1].Credits != credits || all[1].FinishedAt.IsZero() {
		t.Errorf("got %+v", all)
	}
	if !slices.Equal(all[0].Contexts, []string{"c1", "c2/prompt/p"}) || len(all[1].Contexts) > 0 {
		t.Errorf("contexts: got %q and %q", all[0].Contexts, all[1].Contexts)
	}
	cost, err := s.Cost(t.Context(), run.Service, "describe")
	if err != nil || cost.Calls != 1 || cost.Credits != credits {
		t.Errorf("got %+v (%v)", cost, err)
	}
	if _, err := s.Run(t.Context(), "none"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestEnrichmentTransitions verifies that a transition from an unexpected state changes nothing.
func TestEnrichmentTransitions(t *testing.T) {
	s, run := enriching(t, "a")
	num := ask(t, s, run, "a", "one")
	answer := []Answer{{Num: num, State: Proposed, Proposal: &Proposal{Text: "new"}}}
	for name, f := range map[string]func() error{
		"apply what is asked for":         func() error { return s.Apply(background, run.Num, num, Written{}, Written{}) },
		"a conflict of what is asked for": func() error { return s.Conflict(background, num, "why") },
		"the end of what was not begun":   func() error { return s.Applied(background, run.ID, num, ChangeApplied, "") },
		"take back what was not applied":  func() error { return s.Undo(background, run.ID, num, run.Num) },
		"undo what was not applied":       func() error { return s.Undone(background, run.ID, num, ChangeUndone, "") },
		"answer twice":                    func() error { return s.Answer(background, run.Num, append(answer, answer...)) },
		"finish twice": func() error {
			must(t, s.FinishRun(background, run.Num, nil))
			return s.FinishRun(background, run.Num, nil)
		},
	} {
		if err := f(); !errors.Is(err, state.ErrConflict) {
			t.Errorf("%s: got %v, want ErrConflict", name, err)
		}
	}
	if err := s.Answer(t.Context(), run.Num, []Answer{{Num: num, State: Proposed}}); err == nil {
		t.Error("a proposal may say nothing")
	}
	if err := s.Answer(t.Context(), run.Num, []Answer{{Num: num, State: Refused}}); err == nil {
		t.Error("a refusal may have no category")
	}
	if got, err := s.Enrichment(t.Context(), num); err != nil || got.State != Asking || got.Calls != 0 {
		t.Errorf("got %+v (%v)", got, err)
	}
}
