package enrich

import (
	"assetferry/internal/pattern"
	"assetferry/state/enrichment"
	"context"
	"errors"
	"fmt"
	"html"
	"strconv"
	"strings"
)

// Texts are sent as numbered paragraphs. The numbers identify the results. Replies cannot be
// looked up after a crash, so these requests are sent again.

// review requests reviews of texts and proposes the changed ones.
func (r *asker) review(ctx context.Context, batch []Candidate) error {
	return r.askAbout(ctx, batch, func(nums []int64, batch []Candidate) ([]enrichment.Answer, error) {
		changed, err := r.Service.Review(ctx, r.request.Review, paragraphs(batch), r.request.Contexts)
		if err != nil {
			return nil, err
		}
		answers := make([]enrichment.Answer, len(batch))
		for n, l := range batch {
			text, ok := changed[strconv.Itoa(n)]
			if text = plain(text); ok && text != l.Description {
				answers[n] = r.textAnswer(nums[n], l, text)
				continue
			}
			same := enrichment.Proposal{Text: l.Description, Note: "the review suggests no changes"}
			answers[n] = enrichment.Answer{Num: nums[n], State: enrichment.Rejected, Proposal: &same}
		}
		answers[0].Calls = 1
		return answers, nil
	})
}

// translate requests translations. Texts that are missing in the answer are requested one by
// one.
func (r *asker) translate(ctx context.Context, batch []Candidate) error {
	return r.askAbout(ctx, batch, func(nums []int64, batch []Candidate) ([]enrichment.Answer, error) {
		answer, err := r.Service.Translate(ctx, paragraphs(batch), r.request.Language, r.request.Contexts)
		if err != nil {
			return nil, err
		}
		texts := elements(answer)
		answers := make([]enrichment.Answer, len(batch))
		for n, l := range batch {
			text, ok := texts[n]
			if ok {
				answers[n] = r.textAnswer(nums[n], l, text)
			} else if r.isOver() {
				answers[n] = r.unasked(nums[n])
			} else if answers[n], err = r.translateOne(ctx, nums[n], l); err != nil {
				return nil, err
			}
		}
		answers[0].Calls++
		return answers, nil
	})
}

// translateOne requests one translation. It only returns errors that affect all texts.
func (r *asker) translateOne(ctx context.Context, num int64, l Candidate) (enrichment.Answer, error) {
	answer, err := r.Service.Translate(ctx, paragraphs([]Candidate{l}), r.request.Language, r.request.Contexts)
	if err != nil {
		a := r.failed(ctx, num, err)
		a.Calls = billed(err)
		return a, nil
	}
	text, ok := elements(answer)[0]
	if !ok {
		text = plain(answer)
	}
	a := r.textAnswer(num, l, text)
	a.Calls = 1
	return a, nil
}

// billed returns how many requests to count for a failed one.
func billed(err error) int {
	if errors.Is(err, ErrAsked) {
		return 1
	}
	return 0
}

// askAbout records a request, sends it and stores the answers.
func (r *asker) askAbout(ctx context.Context, batch []Candidate, ask asking) error {
	batch, err := r.allCurrent(ctx, batch)
	if len(batch) == 0 {
		return err
	}
	asked := make([]enrichment.Question, len(batch))
	for n, l := range batch {
		asked[n] = r.asking(l.AuditedAsset, "")
	}
	nums, err := r.Store.Ask(ctx, r.run, asked)
	if err != nil {
		return err
	}
	answers := r.answersTo(ctx, nums, batch, ask)
	outcomes := make([]Outcome, len(batch))
	for n, l := range batch {
		outcomes[n] = Outcome{Asset: l.Asset, Path: Path(l.AuditedAsset), Kind: r.request.Kind, Language: r.request.Language}
	}
	return r.record(ctx, outcomes, answers)
}

// allCurrent returns the assets of a batch that did not change since the audit. Others wait for
// the next audit.
func (r *asker) allCurrent(ctx context.Context, batch []Candidate) (same []Candidate, _ error) {
	for _, l := range batch {
		now, err := r.Library.Asset(ctx, l.Asset)
		if isFatal(err) {
			r.endWith(err)
			return nil, nil
		} else if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r.leave()
			continue
		}
		if a, changed := r.current(l, now); !changed && a.Description == l.Description {
			same = append(same, Candidate{enrichment.Enrichable{AuditedAsset: a, Enrichment: l.Enrichment}, ""})
		}
	}
	return same, nil
}

// asking requests proposals for texts with these numbers, in one request or several.
type asking func(nums []int64, batch []Candidate) ([]enrichment.Answer, error)

// answersTo sends requests and returns the answers. If moderation refuses several texts at
// once, each is sent alone to find the flagged one.
func (r *asker) answersTo(ctx context.Context, nums []int64, batch []Candidate, ask asking) []enrichment.Answer {
	answers, err := ask(nums, batch)
	switch {
	case err == nil:
		return answers
	case len(batch) > 1 && len(flaggedBy(err)) > 0:
		for n := range batch {
			if r.isOver() {
				answers = append(answers, r.unasked(nums[n]))
				continue
			}
			answers = append(answers, r.answersTo(ctx, nums[n:n+1], batch[n:n+1], ask)...)
		}
		return answers
	}
	one := r.failed(ctx, 0, err)
	for n := range batch {
		one.Num, one.Calls = nums[n], 0
		answers = append(answers, one)
	}
	answers[0].Calls = billed(err)
	return answers
}

// unasked leaves a text for the next run.
func (r *asker) unasked(num int64) enrichment.Answer {
	return enrichment.Answer{Num: num, State: enrichment.Planned, Model: r.request.Model.ID}
}

// textAnswer proposes a text.
func (r *asker) textAnswer(num int64, l Candidate, text string) enrichment.Answer {
	a := enrichment.Answer{Num: num, State: enrichment.Proposed, Model: r.request.Model.ID}
	text = clean(text)
	if text == "" {
		err := &answerError{errors.New("the text is empty")}
		a.State, a.Class, a.Error = enrichment.Failed, string(err.Class()), oneLine(err)
		return a
	}
	p := enrichment.Proposal{Text: text}
	if characters := []rune(text); len(characters) > maxDescription {
		p.Text = string(characters[:maxDescription-1]) + "…"
		p.Note = fmt.Sprintf("shortened from %d characters", len(characters))
	}
	if r.request.Language != "" {
		p = withWarnings(p, l.AuditedAsset, r.request.Language)
	}
	a.Proposal = &p
	return a
}

// paragraphs returns descriptions as HTML.
func paragraphs(batch []Candidate) string {
	var b strings.Builder
	for n, l := range batch {
		fmt.Fprintf(&b, "<p data-id=\"%d\">%s</p>\n", n, html.EscapeString(l.Description))
	}
	return b.String()
}

var (
	element = pattern.Lazy(`(?s)<p\b[^>]*\bdata-id="(\d{1,4})"[^>]*>(.*?)</p>`)
	markup  = pattern.Lazy(`(?s)<[^>]*>`)
)

// elements returns the text of each numbered paragraph. A number that occurs twice is ignored,
// because it is ambiguous.
func elements(answer string) map[int]string {
	texts := map[int]string{}
	twice := map[int]bool{}
	for _, m := range element().FindAllStringSubmatch(answer, -1) {
		n, _ := strconv.Atoi(m[1]) // only digits, and few
		_, again := texts[n]
		twice[n] = twice[n] || again
		texts[n] = plain(m[2])
	}
	for n, is := range twice {
		if is {
			delete(texts, n)
		}
	}
	return texts
}

// plain returns the text of HTML.
func plain(text string) string {
	return clean(html.UnescapeString(markup().ReplaceAllString(text, "")))
}
