package enrich

import (
	"assetferry/state/enrichment"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDescription is the most characters that a description may have at the destination.
const maxDescription = 1024

// Proposals lists what was proposed, each with its asset as it was listed last.
func (e *Engine) Proposals(ctx context.Context, f enrichment.Filter) iter.Seq2[enrichment.Enrichable, error] {
	return e.Store.Enrichments(ctx, e.Destination, f)
}

// Accept records that a person wants these proposals to be written. It gives the numbers of
// those that cannot be accepted, because there is nothing proposed or it is written already.
func (e *Engine) Accept(ctx context.Context, nums ...int64) (refused []int64, err error) {
	return e.judge(ctx, true, nums)
}

// Reject records that a person does not want these proposals, as Accept does.
func (e *Engine) Reject(ctx context.Context, nums ...int64) (refused []int64, err error) {
	return e.judge(ctx, false, nums)
}

func (e *Engine) judge(ctx context.Context, accepted bool, nums []int64) ([]int64, error) {
	verdicts := make([]enrichment.Verdict, len(nums))
	for n, num := range nums {
		verdicts[n] = enrichment.Verdict{Num: num, Accepted: accepted}
	}
	return e.judgeAll(ctx, verdicts)
}

// judgeAll records verdicts in transactions of bounded size.
func (e *Engine) judgeAll(ctx context.Context, verdicts []enrichment.Verdict) (refused []int64, err error) {
	for batch := range slices.Chunk(verdicts, surveyPage) {
		left, err := e.Store.Judge(ctx, e.Destination, batch)
		if err != nil {
			return refused, err
		}
		refused = append(refused, left...)
	}
	return refused, nil
}

// Decorative notes what a person said: that assets need no description, or that they do after
// all. Proposals for them stay as they are.
func (e *Engine) Decorative(ctx context.Context, decorative bool, assets ...string) error {
	return e.Store.MarkDecorative(ctx, e.Destination, assets, decorative)
}

// A Row is what a person made of a proposal in a table.
type Row struct {
	Num        int64 // of the proposal
	Accepted   bool
	Decorative bool // beats Accepted: the asset needs no description, and the proposal is rejected
	Text       string
	Tags       []string
}

// Import records the rows of a table. It gives the numbers of those that cannot be decided
// about, as Accept does. A row that cannot be written is an error, and then none is recorded.
func (e *Engine) Import(ctx context.Context, rows []Row) (refused []int64, err error) {
	var verdicts []enrichment.Verdict
	var decorative []string
	for _, row := range rows {
		if err := row.check(); err != nil {
			return nil, err
		}
		v := enrichment.Verdict{Num: row.Num, Accepted: row.Accepted && !row.Decorative}
		if v.Accepted {
			v.Proposal = &enrichment.Proposal{Text: strings.TrimSpace(row.Text), Tags: row.Tags}
		}
		if row.Decorative {
			found, err := e.Store.Enrichment(ctx, row.Num)
			if err != nil {
				return nil, err
			}
			decorative = append(decorative, found.Asset)
		}
		verdicts = append(verdicts, v)
	}
	if len(decorative) > 0 {
		if err := e.Decorative(ctx, true, decorative...); err != nil {
			return nil, err
		}
	}
	return e.judgeAll(ctx, verdicts)
}

func (r Row) check() error {
	switch n := utf8.RuneCountInString(r.Text); {
	case !r.Accepted || r.Decorative:
		return nil
	case strings.TrimSpace(r.Text) == "" && len(r.Tags) == 0:
		return fmt.Errorf("proposal %d is accepted and says nothing: give it a text or tags, or reject it", r.Num)
	case n > maxDescription:
		return fmt.Errorf("proposal %d has %d characters, and a description may have %d", r.Num, n, maxDescription)
	}
	return nil
}
