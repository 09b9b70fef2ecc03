package enrich

import (
	"context"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/ai"
	"assetferry/state/enrichment"
)

func TestReview(t *testing.T) {
	w := newWorld(t, 1)
	w.add("fine", "The dog <3 & the cat")
	w.add("wrong", "A dog at teh beach <3 & more")
	got, err := w.ask(w.engine(), func(r *Request) { r.Kind, r.Review, r.Language = enrichment.KindReview, "correctness", "" })
	if err != nil || got.Run.Calls != 1 || w.billed != 1 || got.States[enrichment.Proposed] != 1 || got.States[enrichment.Rejected] != 1 {
		t.Fatalf("got %+v (%v)", got, err)
	}
	for _, e := range w.enrichments() {
		want := map[string]string{"fine": "The dog <3 & the cat", "wrong": "A dog at the beach <3 & more"}[e.Asset]
		if e.Proposal.Text != want {
			t.Errorf("%s: got %+v", e.Asset, e.Proposal)
		}
	}
	w.accept()
	if _, err := w.engine().Apply(t.Context()); err != nil || w.assets["wrong"].Metadata.Description != "A dog at the beach <3 & more" || w.updates != 1 {
		t.Errorf("got %+v (%v)", w.assets["wrong"], err)
	}
	if got, err = w.ask(w.engine(), func(r *Request) { r.Kind, r.Review, r.Language = enrichment.KindReview, "correctness", "" }); err != nil || got.Run.Calls != 0 {
		t.Errorf("a second time: %+v (%v)", got, err)
	}
}

func TestTranslate(t *testing.T) {
	for _, into := range []string{"", IntoDescription} {
		w := newWorld(t, 1)
		a := w.add("dog", "A dog on the beach")
		w.add("written", "A cat on the beach").Metadata.CustomAttributes["description_de"] = "Ein Mensch schrieb das"
		translate := func(r *Request) { r.Kind, r.Language, r.Into = enrichment.KindTranslate, "de", into }
		got, err := w.ask(w.engine(), translate)
		if want := map[string]int64{"": 1, IntoDescription: 2}[into]; err != nil || got.Run.Calls != 1 || got.States[enrichment.Proposed] != want {
			t.Fatalf("into %q: got %+v (%v)", into, got, err)
		}
		w.accept()
		got, err = w.engine().Apply(t.Context())
		must(t, err)
		const german = "[de] Ein dog on the beach"
		attributes := a.Metadata.CustomAttributes
		if into == "" && (attributes["description_de"] != german || attributes["id"] == nil || a.Metadata.Description != "A dog on the beach") ||
			into != "" && (a.Metadata.Description != german || len(attributes) != 1) {
			t.Errorf("into %q: got %+v", into, a.Metadata)
		}
		if again, err := w.ask(w.engine(), translate); err != nil || again.Run.Calls != 0 {
			t.Errorf("into %q, a second time: %+v (%v)", into, again, err)
		}
		_, err = w.engine().Undo(t.Context(), got.Run.ID)
		must(t, err)
		if a.Metadata.Description != "A dog on the beach" || len(a.Metadata.CustomAttributes) != 1 {
			t.Errorf("into %q, undone: got %+v", into, a.Metadata)
		}
	}
}

// A translation is not written if its original or its attribute changed.
func TestTranslateNeverOverAPerson(t *testing.T) {
	for name, edit := range map[string]func(m *world){
		"original": func(w *world) { w.assets["dog"].Metadata.Description = "A cat on the beach" },
		"place":    func(w *world) { w.assets["dog"].Metadata.CustomAttributes["description_de"] = "Ein Mensch schrieb das" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0)
			w.add("dog", "A dog on the beach")
			_, err := w.ask(w.engine(), func(r *Request) { r.Kind, r.Language = enrichment.KindTranslate, "de" })
			must(t, err)
			w.accept()
			edit(w)
			got, err := w.engine().Apply(t.Context())
			if err != nil || got.States[enrichment.Conflict] != 1 || w.updates != 0 {
				t.Errorf("got %+v (%v)", got, err)
			}
		})
	}
}

// Texts that an answer omits are requested one by one.
func TestTranslateOneByOne(t *testing.T) {
	w := newWorld(t, 0)
	w.add("a", "A dog on the beach")
	w.add("b", "A cat on the beach")
	s := &forgetful{world: w}
	e := w.engine()
	e.Service = s
	got, err := w.ask(e, func(r *Request) {
		r.Kind, r.Language, r.Contexts = enrichment.KindTranslate, "de", []ai.ContextRef{{ID: "c1"}}
	})
	if err != nil || got.States[enrichment.Proposed] != 2 || got.Run.Calls != 2 || w.billed != 2 {
		t.Errorf("got %+v (%v)", got, err)
	}
	if want := []string{"[c1]", "[c1]"}; !slices.Equal(w.given, want) {
		t.Errorf("calls were given the contexts %q, want %q", w.given, want)
	}
}

// A forgetful service omits a text about a cat unless it is alone.
type forgetful struct{ *world }

func (f *forgetful) Translate(ctx context.Context, html, language string, contexts []ai.ContextRef) (string, error) {
	answer, err := f.world.Translate(ctx, html, language, contexts)
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	if len(lines) > 1 {
		lines = lines[:1]
	}
	return strings.Join(lines, "\n"), err
}

// One flagged text of several does not affect the others.
func TestFlaggedText(t *testing.T) {
	w := newWorld(t, 0)
	w.add("a", "A dog on teh beach")
	w.add("b", "A fight on teh beach")
	e := w.engine()
	e.Service = &strict{w}
	got, err := w.ask(e, func(r *Request) { r.Kind, r.Review, r.Language = enrichment.KindReview, "correctness", "" })
	if err != nil || got.States[enrichment.Proposed] != 1 || got.States[enrichment.Refused] != 1 || got.Run.Calls != 1 {
		t.Errorf("got %+v (%v)", got, err)
	}
}

// A strict service refuses fights.
type strict struct{ *world }

func (s *strict) Review(ctx context.Context, review, html string, contexts []ai.ContextRef) (map[string]string, error) {
	if strings.Contains(html, "fight") {
		return nil, &flaggedError{}
	}
	return s.world.Review(ctx, review, html, contexts)
}

func TestElements(t *testing.T) {
	for answer, want := range map[string]string{
		`<p data-id="0">A</p>`: "A", `<p class="x" data-id="0">A &amp; <b>B</b></p>`: "A & B", `<p data-id="0">A</p><p data-id="0">B</p>`: "", `<p>A</p>`: "", "": "",
		"<p data-id=\"0\">A\nB</p>": "A B", `<pre data-id="0">A</pre>`: "",
	} {
		if got := elements(answer)[0]; got != want {
			t.Errorf("%q: got %q, want %q", answer, got, want)
		}
	}
}

// Changes of an asset since the audit are respected for its texts, too.
func TestTextsChangedSinceAudit(t *testing.T) {
	w := newWorld(t, 0)
	for _, id := range []string{"a", "b", "c", "d"} {
		w.add(id, "A dog on teh beach")
	}
	e := w.engine()
	must(t, e.Audit(t.Context(), "en"))
	w.assets["a"].Metadata.Description = "A cat on teh beach"
	w.assets["b"].Tags = append(w.assets["b"].Tags, "no-ai")
	w.assets["c"].FolderID = "elsewhere"
	review := Request{Kind: enrichment.KindReview, Review: "correctness", Rules: Rules{Tags: []string{"no-ai"}}}
	if got, err := e.Ask(t.Context(), review); err != nil || got.States[enrichment.Proposed] != 1 || w.enrichments()[0].Asset != "d" || w.billed != 1 {
		t.Errorf("got %+v (%v)", got, err)
	}
}
