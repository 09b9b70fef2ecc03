package enrich

import (
	"assetferry/state/enrichment"
	"context"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// Texts go to the service as paragraphs, each with its number, by which suggestions and
// translations are told apart. Nobody can look for the answers to these calls, so what was
// asked for when a process died is asked for once more.

// review has texts reviewed, and proposes those that come back changed.
func (r *asker) review(ctx context.Context, batch []Leaving) error {
	return r.askAbout(ctx, batch, func(nums []int64, batch []Leaving) ([]enrichment.Answer, error) {
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
			same := enrichment.Proposal{Text: l.Description, Note: "the review changes nothing"}
			answers[n] = enrichment.Answer{Num: nums[n], State: enrichment.Rejected, Proposal: &same}
		}
		answers[0].Calls = 1
		return answers, nil
	})
}

// translate has texts translated. Those that an answer does not hold are asked for one by one.
func (r *asker) translate(ctx context.Context, batch []Leaving) error {
	return r.askAbout(ctx, batch, func(nums []int64, batch []Leaving) ([]enrichment.Answer, error) {
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

// translateOne has one text translated. Its error is one that concerns all of them.
func (r *asker) translateOne(ctx context.Context, num int64, l Leaving) (enrichment.Answer, error) {
	answer, err := r.Service.Translate(ctx, paragraphs([]Leaving{l}), r.request.Language, r.request.Contexts)
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

// billed is what is counted for a call that failed.
func billed(err error) int {
	if errors.Is(err, ErrAsked) {
		return 1
	}
	return 0
}

// askAbout notes what is asked for, asks, and records what came of it.
func (r *asker) askAbout(ctx context.Context, batch []Leaving, ask asking) error {
	batch, err := r.asTheyAre(ctx, batch)
	if len(batch) == 0 {
		return err
	}
	asked := make([]enrichment.Question, len(batch))
	for n, l := range batch {
		asked[n] = r.asking(l.Surveyed, "")
	}
	nums, err := r.Store.Ask(ctx, r.run, asked)
	if err != nil {
		return err
	}
	answers := r.answersTo(ctx, nums, batch, ask)
	outcomes := make([]Outcome, len(batch))
	for n, l := range batch {
		outcomes[n] = Outcome{Asset: l.Asset, Path: Path(l.Surveyed), Kind: r.request.Kind, Language: r.request.Language}
	}
	return r.record(ctx, outcomes, answers)
}

// asTheyAre are those assets of a batch that are what they were in the survey, as far as they
// can be read. The others are left for the next one.
func (r *asker) asTheyAre(ctx context.Context, batch []Leaving) (same []Leaving, _ error) {
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
		if a, changed := r.asItIs(l, now); !changed && a.Description == l.Description {
			same = append(same, Leaving{enrichment.Enrichable{Surveyed: a, Enrichment: l.Enrichment}, ""})
		}
	}
	return same, nil
}

// asking asks about texts that have these numbers, with one call or a few.
type asking func(nums []int64, batch []Leaving) ([]enrichment.Answer, error)

// answersTo asks, and gives what came of it. Where the moderation flags something in one of
// several texts they are asked about one by one: the others are not to blame.
func (r *asker) answersTo(ctx context.Context, nums []int64, batch []Leaving, ask asking) []enrichment.Answer {
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
func (r *asker) textAnswer(num int64, l Leaving, text string) enrichment.Answer {
	a := enrichment.Answer{Num: num, State: enrichment.Proposed, Model: r.request.Model.ID}
	text = clean(text)
	if text == "" {
		err := &answerError{errors.New("it is empty")}
		a.State, a.Class, a.Error = enrichment.Failed, string(err.Class()), oneLine(err)
		return a
	}
	p := enrichment.Proposal{Text: text}
	if characters := []rune(text); len(characters) > maxDescription {
		p.Text = string(characters[:maxDescription-1]) + "…"
		p.Note = fmt.Sprintf("shortened from %d characters", len(characters))
	}
	if r.request.Language != "" {
		p = remarked(p, l.Surveyed, r.request.Language)
	}
	a.Proposal = &p
	return a
}

// paragraphs makes HTML of descriptions.
func paragraphs(batch []Leaving) string {
	var b strings.Builder
	for n, l := range batch {
		fmt.Fprintf(&b, "<p data-id=\"%d\">%s</p>\n", n, html.EscapeString(l.Description))
	}
	return b.String()
}

var (
	element = regexp.MustCompile(`(?s)<p\b[^>]*\bdata-id="(\d{1,4})"[^>]*>(.*?)</p>`)
	markup  = regexp.MustCompile(`(?s)<[^>]*>`)
)

// elements gives the texts of paragraphs by their numbers. One that comes twice has none: who
// knows which it is.
func elements(answer string) map[int]string {
	texts := map[int]string{}
	twice := map[int]bool{}
	for _, m := range element.FindAllStringSubmatch(answer, -1) {
		n, _ := strconv.Atoi(m[1]) // digits, and few
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

// plain is the text of HTML.
func plain(text string) string {
	return clean(html.UnescapeString(markup.ReplaceAllString(text, "")))
}
