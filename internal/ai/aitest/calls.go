package aitest

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/ai"
)

func callLaws() []law {
	return []law{
		{"an action changes a text", carriesActionsOut},
		{"a custom instruction changes a text", carriesInstructionsOut},
		{"an unknown action is rejected", refusesUnknownActions},
		{"a review refers to elements of its document", reviews},
		{"processing changes only the requested parts of documents", processesDocuments},
		{guess("documents can be processed as a stream"), streamsDocuments},
		{guess("processing supports the capabilities of messages"), takesProcessingOptions},
	}
}

func carriesActionsOut(t *testing.T, s *scratch) {
	for name, args := range map[string]map[string]string{"make-shorter": nil, "translate": {"language": "German"}} {
		stream, err := s.Action(t.Context(), name, "<p>This is a rather long sentence about nothing in particular.</p>", args)
		all := events(t, stream, err)
		if m, ok := all[0].(ai.ActionMetadata); !ok || m.CallID == "" {
			t.Errorf("%s: the first event is %#v", name, all[0])
		}
		var changes []string
		var b strings.Builder
		for _, e := range all {
			if d, ok := e.(ai.ModificationDelta); ok {
				changes = append(changes, d.ID)
				b.WriteString(d.Text)
			}
		}
		if b.Len() == 0 || len(slices.Compact(changes)) != 1 {
			t.Errorf("%s: got %q in the changes %v", name, b.String(), changes)
		}
	}
}

func carriesInstructionsOut(t *testing.T, s *scratch) {
	for _, output := range []string{"html", "plainText"} {
		stream, err := s.CustomAction(t.Context(), ai.CustomAction{Prompt: "Make it polite.", Model: s.model.ID, Output: output, Content: "Give me that."})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := ai.Text(stream); err != nil {
			t.Errorf("%s: got %q, %v", output, text, err)
		}
	}
	err := ended(s.CustomAction(t.Context(), ai.CustomAction{Prompt: "Make it polite.", Output: "html", Content: "x"}))
	if e := refused(t, "without a model", err); e.Status != 400 {
		t.Errorf("without a model: got %v", err)
	}
}

func refusesUnknownActions(t *testing.T, s *scratch) {
	refused(t, "an action", ended(s.Action(t.Context(), "no-such-action", "x", nil)))
	refused(t, "a review", ended(s.Review(t.Context(), "no-such-review", `<p data-id="1">x</p>`, nil)))
}

func reviews(t *testing.T, s *scratch) {
	const page = `<p data-id="a">Their is a mistake in this sentence.</p><p data-id="b">IMG_1234.JPG</p>`
	check := func(what string, stream *ai.Stream, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ai.Suggestions(stream)
		if err != nil {
			t.Fatal(err)
		}
		for id := range got {
			if id != "a" && id != "b" {
				t.Errorf("%s: got a suggestion for the unknown element %q", what, id)
			}
		}
	}
	stream, err := s.Review(t.Context(), "correctness", page, nil)
	check("correctness", stream, err)
	stream, err = s.Review(t.Context(), "translate", page, map[string]string{"language": "German"})
	check("translate", stream, err)
	stream, err = s.CustomReview(t.Context(), "Make captions of file names.", s.model.ID, page)
	check("a custom review", stream, err)
}

func processing(s *scratch) ai.Processing {
	return ai.Processing{
		Documents: []string{"<h1>First</h1><p>One.</p>", "<h1>Second</h1><p>Two.</p>"},
		Prompt:    "Leave everything exactly as it is.", Model: s.model.ID,
	}
}

func processesDocuments(t *testing.T, s *scratch) {
	p := processing(s)
	got, err := s.ProcessDocuments(t.Context(), p)
	checkProcessed(t, p, got, err)
}

func streamsDocuments(t *testing.T, s *scratch) {
	p := processing(s)
	stream, err := s.StreamDocuments(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := documents(stream, len(p.Documents))
	checkProcessed(t, p, got, err)
}

// documents reads the processing of n documents to its end.
func documents(stream *ai.Stream, n int) ([]ai.Processed, error) {
	all := make([]ai.Processed, n)
	for {
		event, err := stream.Next()
		switch e := event.(type) {
		case ai.DocumentDelta:
			all[e.Index].Document += e.Text
		case ai.SummaryDelta:
			all[e.Index].Summary += e.Text
		}
		if err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
	}
}

func checkProcessed(t *testing.T, p ai.Processing, got []ai.Processed, err error) {
	t.Helper()
	if err != nil || len(got) != len(p.Documents) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for n, one := range got {
		if one.Document != p.Documents[n] {
			t.Errorf("document %d: got %q, want %q", n, one.Document, p.Documents[n])
		}
	}
}

func takesProcessingOptions(t *testing.T, s *scratch) {
	p := ai.Processing{Documents: []string{"<p>teh cat</p>"}, Prompt: "Correct the spelling.", Model: s.model.ID}
	p.Options = map[string]json.RawMessage{"capabilities": json.RawMessage(`{}`)}
	if s.model.Reasoning.Enabled && s.model.Reasoning.Allowed {
		p.Options["capabilities"] = json.RawMessage(`{"reasoning":{}}`)
	}
	if done, err := s.ProcessDocuments(t.Context(), p); err != nil || len(done) != 1 || !strings.Contains(done[0].Document, "the cat") && !strings.Contains(done[0].Document, "The cat") {
		t.Errorf("got %+v, %v", done, err)
	}
	p.Options = map[string]json.RawMessage{"noSuchOption": json.RawMessage(`1`)}
	_, err := s.ProcessDocuments(t.Context(), p)
	refused(t, "an unknown option", err)
}
