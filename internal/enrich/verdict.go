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

// maxDescription is the maximum of characters in a description at the destination.
const maxDescription = 1024

// Proposals lists proposals, each with its asset from the last audit.
func (e *Engine) Proposals(ctx context.Context, f enrichment.Filter) iter.Seq2[enrichment.Enrichable, error] {
	return e.Store.Enrichments(ctx, e.Destination, f)
}

// Accept accepts proposals, so that they can be written. It returns the numbers of those that
// cannot be accepted, because they do not exist, have no text or are written already.
func (e *Engine) Accept(ctx context.Context, nums ...int64) (refused []int64, err error) {
	return e.judge(ctx, true, nums)
}

// Reject rejects proposals. It returns the numbers of those that cannot be rejected, see Accept.
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

// judgeAll records decisions in transactions of limited size.
func (e *Engine) judgeAll(ctx context.Context, verdicts []enrichment.Verdict) (refused []int64, err error) {
	for batch := range slices.Chunk(verdicts, auditPage) {
		left, err := e.Store.Judge(ctx, e.Destination, batch)
		if err != nil {
			return refused, err
		}
		refused = append(refused, left...)
	}
	return refused, nil
}

// Decorative records whether assets need no description. Their proposals do not change.
func (e *Engine) Decorative(ctx context.Context, decorative bool, assets ...string) error {
	return e.Store.MarkDecorative(ctx, e.Destination, assets, decorative)
}

// A Row is a decision from a table.
type Row struct {
	Num        int64 // of the proposal
	Accepted   bool
	Decorative bool // overrides Accepted: the asset needs no description, and the proposal is rejected
	Text       string
	Tags       []string
}

// Import records the rows of a table. It returns the numbers of proposals that cannot be
// decided, as Accept does. If a row is invalid, no row is recorded.
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
		return fmt.Errorf("proposal %d is accepted, but has no text and no tags: add some, or reject it", r.Num)
	case n > maxDescription:
		return fmt.Errorf("proposal %d has a description of %d characters; the limit is %d", r.Num, n, maxDescription)
	}
	return nil
}
