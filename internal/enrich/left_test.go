package enrich

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"assetferry/internal/ai"
	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/state/enrichment"
)

// An unreadable destination cannot return an asset.
type unreadable struct{ *world }

func (unreadable) Asset(context.Context, string) (assets.Asset, error) {
	return assets.Asset{}, &statusError{"unavailable", retry.Transient, nil}
}

// A mute service accepts requests and then does not answer.
type mute struct{ *world }

func (mute) Ask(context.Context, string, Question) (string, error) {
	return "", fmt.Errorf("%w: %w", ErrAsked, errors.New("cut"))
}

func (mute) Exchange(context.Context, string) (Exchange, error) {
	return Exchange{}, &statusError{"unavailable", retry.Transient, nil}
}

// TestLeftAssetsAreReported verifies that a run with remaining assets does not look complete.
func TestLeftAssetsAreReported(t *testing.T) {
	w := newWorld(t, 0)
	w.add("wrong", "A dog at teh beach")
	e := w.engine()
	e.Library = unreadable{w}
	got, err := w.ask(e, func(r *Request) { r.Kind, r.Review, r.Language = enrichment.KindReview, "correctness", "" })
	if err != nil || got.States[enrichment.Planned] != 1 || w.billed != 0 {
		t.Errorf("an asset that cannot be read: got %+v (%v)", got, err)
	}
	w = newWorld(t, 1)
	for _, when := range []string{"asked", "looked for"} {
		e = w.engine()
		e.Service = mute{w}
		if got, err := w.ask(e, nil); err != nil || got.States[enrichment.Planned] != 1 || got.Left != 1 {
			t.Errorf("a reply that is not known when %s: got %+v (%v)", when, got, err)
		}
	}
}

// TestDocumentsAreNotHeldBack verifies that documents are excluded without a report, unless they
// are named.
func TestDocumentsAreNotHeldBack(t *testing.T) {
	w := newWorld(t, 1)
	w.add("report", "").Extension = "pdf"
	e := w.engine()
	if _, err := w.ask(e, nil); err != nil {
		t.Fatal(err)
	}
	for _, named := range [][]string{nil, {"report"}} {
		got, err := e.Plan(t.Context(), Request{Kind: enrichment.KindDescribe, Language: "en", Assets: named})
		if err != nil || got.Excluded[ReasonNotAnImage] != int64(len(named)) {
			t.Errorf("named %v: got %+v (%v)", named, got, err)
		}
	}
}

// A flagging service flags a batch and then reports that no credits are left.
type flagging struct {
	*world
	calls int
}

func (f *flagging) Review(context.Context, string, string, []ai.ContextRef) (map[string]string, error) {
	f.calls++
	if f.calls > 1 {
		return nil, &statusError{"no credits", retry.Fatal, nil}
	}
	return nil, &flaggedError{}
}

// TestNothingIsAskedAfterTheEnd verifies that an error which ends a run also ends it while it
// requests texts one by one.
func TestNothingIsAskedAfterTheEnd(t *testing.T) {
	w := newWorld(t, 0)
	for n := range 5 {
		w.add(fmt.Sprint("dog", n), fmt.Sprint("A dog at teh beach ", n))
	}
	e := w.engine()
	service := &flagging{world: w}
	e.Service = service
	_, err := w.ask(e, func(r *Request) { r.Kind, r.Review, r.Language = enrichment.KindReview, "correctness", "" })
	if err == nil || service.calls != 2 || w.states()[enrichment.Planned] != 5 {
		t.Errorf("%d calls, %v (%v)", service.calls, w.states(), err)
	}
}
