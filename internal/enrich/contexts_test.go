package enrich

import (
	"fmt"
	"slices"
	"testing"

	"assetferry/internal/ai"
	"assetferry/state/enrichment"
)

// Every billed request has the contexts of the run, also a repeated one, and the state database
// stores them.
func TestContexts(t *testing.T) {
	refs := []ai.ContextRef{{ID: "c1"}, {ID: "c2", PromptID: "p"}}
	for kind, calls := range map[enrichment.Kind]int{enrichment.KindDescribe: 2, enrichment.KindReview: 1, enrichment.KindTranslate: 1} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t, 0)
			w.add("one", map[bool]string{false: "A text with teh mistake"}[kind == enrichment.KindDescribe])
			said := 0
			w.answers = func(string) string {
				if said++; said == 1 {
					return "A story."
				}
				return `{"alt": "A made-up picture", "tags": [], "decorative": false}`
			}
			e := w.engine()
			request := func(r *Request) { r.Kind, r.Review, r.Language, r.Contexts = kind, "correctness", "de", refs }
			result, err := w.ask(e, request)
			must(t, err)
			if want := slices.Repeat([]string{"[c1 c2/prompt/p]"}, calls); !slices.Equal(w.given, want) {
				t.Errorf("got %q, want %q", w.given, want)
			}
			want := []string{"c1", "c2/prompt/p"}
			if all := w.enrichments(); !slices.Equal(result.Run.Contexts, want) || len(all) != 1 || !slices.Equal(all[0].Contexts, want) {
				t.Errorf("the journal has %q, and %+v", result.Run.Contexts, all)
			}
			for other, contexts := range map[int64][]ai.ContextRef{0: refs, 1: nil} {
				r := Request{Model: Model{ID: "agent-1"}}
				request(&r)
				r.Contexts = contexts
				if plan, err := e.Plan(t.Context(), r); err != nil || plan.Excluded[ReasonAlreadyProposed] != 1 || plan.Other != other {
					t.Errorf("with %v: got %+v, %v", contexts, plan, err)
				}
			}
		})
	}
}

// A missing context affects all assets.
func TestContextMissing(t *testing.T) {
	missing := &ai.Error{Status: 404, Code: "context-not-found"}
	if err := classified(missing); !isFatal(err) {
		t.Errorf("got %v", fmt.Sprintf("%#v", err))
	}
	if err := endingRun(missing); !isFatal(err) {
		t.Errorf("got %v", fmt.Sprintf("%#v", err))
	}
}
