package aiservice

import (
	"net/http"
	"slices"
	"strings"

	"assetferry/internal/sandbox/answer"
)

// A transformation is the body of an action or a review, which store nothing.
type transformation struct {
	Content      []contentItem     `json:"content"`
	Args         map[string]string `json:"args"`
	Prompt       string            `json:"prompt"`
	Model        string            `json:"model"`
	OutputFormat string            `json:"outputFormat"`

	knowledge
}

// toneNames returns the names of both lists, from two sources that differ.
func toneNames() []string {
	return []string{"make-longer", "make-shorter", "make-tone-casual", "make-tone-confident", "make-tone-direct",
		"make-tone-formal", "make-tone-friendly", "make-tone-professional", "translate"}
}

func actionNames() []string {
	return append(toneNames(), "continue", "fix-grammar", "improve-writing")
}

func reviewNames() []string {
	return append(toneNames(), "clarity", "correctness", "readability")
}

// transformation decodes the body. A system action or review has a known name and its own model; a
// custom one has a prompt and names its model.
func (s *Server) transformation(c *call, what string, known []string) (in transformation, m Model, err error) {
	if known != nil && !slices.Contains(known, c.args[0]) {
		return in, m, notFound(what, c.args[0])
	}
	if err := c.json(&in); err != nil {
		return in, m, err
	}
	if err := in.check(known != nil, known != nil && c.args[0] == "translate"); err != nil {
		return in, m, err
	}
	if known == nil {
		if m, err = s.usable(c, in.Model); err != nil {
			return in, m, err
		}
	}
	if err := c.permitContexts(in.Content); err != nil {
		return in, m, err
	}
	feature := featureActions
	if what == "review" {
		feature = featureReviews
	}
	var named bool
	if in.knowledge, named, err = s.know(c, feature, in.Content); err != nil {
		return in, m, err
	}
	if known == nil && strings.TrimSpace(in.Prompt) == "" && !named {
		return in, m, malformed("prompt", "is required, because the contexts have none")
	}
	return in, m, flagged(answer.Moderate(in.prompt() + "\n" + in.text()))
}

// prompt returns the prompt of a custom request; "" for a system one.
func (t *transformation) prompt() string {
	if t.Model == "" {
		return ""
	}
	return t.promptOr(t.Prompt)
}

func (t transformation) check(isSystem, isTranslation bool) error {
	var wrong issues
	checkContent(t.Content, "text", maxContent, &wrong)
	if isTranslation {
		wrong.need("args.language", t.Args["language"])
	}
	if isSystem {
		for name, value := range map[string]string{"prompt": t.Prompt, "model": t.Model, "outputFormat": t.OutputFormat} {
			if value != "" {
				wrong.add(name, "is chosen by the service")
			}
		}
		return wrong.err()
	}
	if !hasContext(t.Content) {
		wrong.need("prompt", strings.TrimSpace(t.Prompt))
	}
	wrong.longer("prompt", t.Prompt, maxPrompt)
	wrong.need("model", t.Model)
	if !slices.Contains([]string{"", "html", "plainText"}, t.OutputFormat) {
		wrong.add("outputFormat", "must be html or plainText")
	}
	return wrong.err()
}

// text returns the complete text to transform.
func (t transformation) text() string { return strings.Join(ofType(t.Content, "text"), "\n") }

func (t transformation) tokens() int {
	return answer.Tokens(t.Prompt+t.text()+t.knowledge.text(), t.files)
}

// sayCall responds with events, and adds the first and the last one.
func (s *Server) sayCall(c *call, metadata string, all ...event) error {
	all = append([]event{{metadata, fields{"callId": newID()}}}, all...)
	all = s.ended(c, all, fields{"message": "The provider failed, as requested from the sandbox.", "retryable": true})
	kept := make(chan struct{})
	close(kept) // nothing is stored
	return c.stream(all, kept)
}

func (s *Server) callAction(c *call) error {
	in, m, err := s.transformation(c, "action", actionNames())
	if err != nil {
		return err
	}
	return s.act(c, m, in, "html", in.style().Act(c.args[0], in.Args, in.text()))
}

// callCustomAction responds with HTML by default: a guess.
func (s *Server) callCustomAction(c *call) error {
	in, m, err := s.transformation(c, "action", nil)
	if err != nil {
		return err
	}
	format := "html"
	if in.OutputFormat != "" {
		format = in.OutputFormat
	}
	return s.act(c, m, in, format, in.style().ActCustom(in.prompt(), in.text(), format))
}

// act responds with parts of one modification; plain text is sent as text: a guess.
func (s *Server) act(c *call, m Model, in transformation, format, text string) error {
	if err := s.charge(c, newBill(c, m, in.tokens(), 0), nil); err != nil {
		return err
	}
	id := newID()
	var all []event
	for _, delta := range deltas(c.spoil(text)) {
		if format == "plainText" {
			all = append(all, event{"text-delta", fields{"textDelta": delta}})
			continue
		}
		all = append(all, event{"modification-delta", fields{"id": id, "textDelta": delta}})
	}
	return s.sayCall(c, "action-metadata", all...)
}

func (s *Server) callReview(c *call) error {
	in, m, err := s.transformation(c, "review", reviewNames())
	if err != nil {
		return err
	}
	return s.review(c, m, in, in.style().Review(c.args[0], in.Args, in.text()))
}

func (s *Server) callCustomReview(c *call) error {
	in, m, err := s.transformation(c, "review", nil)
	if err != nil {
		return err
	}
	return s.review(c, m, in, in.style().ReviewCustom(in.prompt(), in.text()))
}

// review responds with parts of suggestions for the elements that would change. The fields of an
// event are guesses, except that data-id identifies the element.
func (s *Server) review(c *call, m Model, in transformation, suggestions []answer.Suggestion) error {
	if len(ofType(in.Content, "text")) != 1 {
		return malformed("content", "must be the whole document as one text")
	}
	if !strings.Contains(in.text(), "data-id") {
		return malformed("content.0.content", "must have a data-id on each element at its top")
	}
	if err := s.charge(c, newBill(c, m, in.tokens(), 0), nil); err != nil {
		return err
	}
	var all []event
	for _, suggestion := range suggestions {
		for _, delta := range deltas(c.spoil(suggestion.HTML)) {
			all = append(all, event{"review-delta", fields{"dataId": suggestion.DataID, "textDelta": delta}})
		}
	}
	return s.sayCall(c, "review-metadata", all...)
}

// A processing is the body of a Document Processing request.
type processing struct {
	Content []contentItem `json:"content"`
	Prompt  string        `json:"prompt"`
	Model   string        `json:"model"`
	processingOptions
}

type processed struct {
	Document string `json:"document"`
	Summary  string `json:"summary"`
}

// process decodes, checks, bills and executes the request. Images that are not available stay
// unchanged.
func (s *Server) process(c *call) ([]answer.Processed, error) {
	var in processing
	if err := c.json(&in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	m, err := s.usable(c, in.Model)
	if err != nil {
		return nil, err
	}
	if err := in.usable(m); err != nil {
		return nil, err
	}
	if err := c.permitContexts(in.Content); err != nil {
		return nil, err
	}
	k, _, err := s.know(c, featureDocuments, in.Content)
	if err != nil {
		return nil, err
	}
	if err := flagged(answer.Moderate(in.Prompt)); err != nil {
		return nil, err
	}
	documents := ofType(in.Content, aDocument)
	tokens := answer.Tokens(in.Prompt+strings.Join(documents, "\n")+k.text(), k.files)
	if err := s.charge(c, newBill(c, m, tokens, in.searches()), nil); err != nil {
		return nil, err
	}
	return k.style().Process(in.Prompt, documents, s.pictures(c, in.headers)), nil
}

// pictures returns a function that fetches the images of documents, with the headers for their
// URLs.
func (s *Server) pictures(c *call, headers func(url string) http.Header) func(url string) ([]byte, error) {
	return func(url string) ([]byte, error) {
		f, err := s.fetcher.fetch(c.R.Context(), url, headers(url))
		return f.data, err
	}
}

func (p processing) check() error {
	var wrong issues
	checkContent(p.Content, aDocument, maxDocuments, &wrong)
	wrong.need("prompt", strings.TrimSpace(p.Prompt))
	wrong.longer("prompt", p.Prompt, maxPrompt)
	wrong.need("model", p.Model)
	p.processingOptions.check(&wrong)
	return wrong.err()
}

// processDocuments responds with the documents and their changes, in order.
func (s *Server) processDocuments(c *call) error {
	done, err := s.process(c)
	if err != nil {
		return err
	}
	all := []processed{}
	for _, d := range done {
		all = append(all, processed{d.Document, d.Summary})
	}
	return c.Reply(http.StatusOK, map[string]any{"documents": all})
}

// streamDocuments responds with the same in parts. Its path and its events are guesses.
func (s *Server) streamDocuments(c *call) error {
	done, err := s.process(c)
	if err != nil {
		return err
	}
	var all []event
	for i, d := range done {
		for _, delta := range deltas(c.spoil(d.Document)) {
			all = append(all, event{"document-delta", fields{"documentIndex": i, "textDelta": delta}})
		}
		for _, delta := range deltas(d.Summary) {
			all = append(all, event{"summary-delta", fields{"documentIndex": i, "textDelta": delta}})
		}
	}
	return s.sayCall(c, "document-processing-metadata", all...)
}
