package enrich

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"assetferry/internal/ai"
	"assetferry/internal/retry"
	"assetferry/state/enrichment"
)

// A Request selects assets and defines the requested proposals.
type Request struct {
	Kind     enrichment.Kind
	Language string // of the proposals; optional for a review
	Rules    Rules
	Assets   []string // IDs; empty: all
	Again    bool     // also assets with a proposal or a permanent failure
	Limit    int      // maximum of assets; 0: no limit

	Findings   []Finding // for descriptions; empty: none and junk
	Model      Model     // for descriptions
	Contexts   []ai.ContextRef
	Review     string  // for reviews: a review of the service, such as correctness
	Into       string  // for translations: "description" or a custom attribute; "": description_LANGUAGE
	MaxCredits float64 // 0: no limit

	only      map[string]bool // Assets
	attribute string          // from Into; "": the description
}

// A Model is the model that answers.
type Model struct {
	ID            string
	MaxImageBytes int64 // 0: the limit of internal/picture
}

// IntoDescription is a Request.Into that replaces the description by its translation.
const IntoDescription = "description"

// Number of texts in a request.
const (
	reviewBatch    = 40
	translateBatch = 20
)

// maxAttempts is the number of failures in a row after which an asset is excluded.
const maxAttempts = 5

// withDefaults completes and checks a request.
func (r Request) withDefaults() (Request, error) {
	if r.Language == "" && r.Kind != enrichment.KindReview {
		return r, errors.New("the language of the texts is missing")
	}
	if err := errors.Join(CheckLanguage(r.Language), r.Rules.Check()); err != nil {
		return r, err
	}
	if len(r.Findings) == 0 {
		r.Findings = []Finding{FindingNone, FindingJunk}
	}
	r.only = make(map[string]bool, len(r.Assets))
	for _, asset := range r.Assets {
		r.only[asset] = true
	}
	switch {
	case r.Kind != enrichment.KindTranslate, r.Into == IntoDescription:
		r.attribute = ""
	case r.Into == "":
		r.attribute = "description_" + r.Language
	default:
		r.attribute = r.Into
	}
	return r, nil
}

// contexts returns the contexts of a request as stored in the state database.
func (r Request) contexts() (all []string) {
	for _, ref := range r.Contexts {
		all = append(all, ref.String())
	}
	return all
}

// A Candidate is an asset that matches a request.
type Candidate struct {
	enrichment.Enrichable
	Reason Reason // why it is excluded; "": it is selected
}

// Candidates returns the assets that match a request, in order of their IDs, with the reason of
// those that are excluded. It only reads the state database. Without a complete audit the error
// is ErrNoAudit.
func (e *Engine) Candidates(ctx context.Context, r Request) iter.Seq2[Candidate, error] {
	return func(yield func(Candidate, error) bool) {
		r, err := r.withDefaults()
		if err == nil {
			err = e.needAudit(ctx)
		}
		if err != nil {
			yield(Candidate{}, err)
			return
		}
		left := 0
		for c, err := range e.Store.Enrichables(ctx, e.Destination, r.Kind, r.Language) {
			if err != nil {
				yield(Candidate{}, err)
				return
			}
			reason, wanted := r.decide(c)
			if !wanted || reason == "" && r.Limit > 0 && left >= r.Limit {
				continue
			}
			if reason == "" {
				left++
			}
			if !yield(Candidate{c, reason}, nil) {
				return
			}
		}
	}
}

// decide reports whether a request covers an asset, and why the asset is excluded.
func (r Request) decide(c enrichment.Enrichable) (reason Reason, wanted bool) {
	switch {
	case len(r.only) > 0 && !r.only[c.Asset]:
		return "", false
	case c.Enrichment != nil && c.Enrichment.State == enrichment.Asking:
		return ReasonUnconfirmed, true
	case r.Kind == enrichment.KindDescribe && len(r.only) == 0 && !IsPicture(c.AuditedAsset):
		return "", false // a document needs no description
	case !r.Again && r.isKnown(c):
		return ReasonAlreadyProposed, true
	case !r.isAbout(c):
		return "", false
	case c.Decorative:
		return ReasonDecorative, true
	}
	if reason := r.Rules.exclusion(c.AuditedAsset); reason != "" {
		return reason, true
	}
	if r.Kind == enrichment.KindDescribe && !IsPicture(c.AuditedAsset) {
		return ReasonNotAnImage, true
	}
	return r.afterFailure(c), true
}

// isAbout reports whether the description of an asset matches a request: by its findings, by an
// earlier proposal with Again, or by existing text.
func (r Request) isAbout(c enrichment.Enrichable) bool {
	found := strings.Split(c.Findings, ",") // from the audit, whatever a person decided
	switch missing := slices.Contains(found, string(FindingNone)) || slices.Contains(found, string(FindingJunk)); {
	case r.Again && (c.Enrichment != nil || len(r.Assets) > 0) && (r.Kind == enrichment.KindDescribe || !missing):
		return true
	case r.Kind == enrichment.KindTranslate:
		return !missing && (r.attribute == "" || attributeOf(c.Attributes, r.attribute) == "")
	case r.Kind == enrichment.KindReview:
		return !missing
	}
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return slices.Contains(found, string(f)) })
}

// isKnown reports whether there is a proposal for the asset as it is now.
func (r Request) isKnown(c enrichment.Enrichable) bool {
	if c.Enrichment == nil {
		return false
	}
	switch c.Enrichment.State {
	case enrichment.Proposed, enrichment.Accepted, enrichment.Rejected, enrichment.Applying, enrichment.Applied, enrichment.Undone:
		return !r.hasChanged(c)
	}
	return false
}

// attributeOf returns the text of a custom attribute, or "".
func attributeOf(attributes map[string]any, name string) string {
	text, _ := attributes[name].(string)
	return text
}

// hasChanged reports whether an asset changed since its last request: its image, or for texts
// its description.
func (r Request) hasChanged(c enrichment.Enrichable) bool {
	e, a := c.Enrichment, c.AuditedAsset
	if r.Kind != enrichment.KindDescribe {
		return a.Description != e.Basis.Description && a.Description != e.Proposal.Text
	}
	b := e.Basis
	return a.Size != b.Size || differ(a.Width, b.Width) || differ(a.Height, b.Height) || differ(a.Blur, b.Blur)
}

// differ reports whether two values differ. Values that the service may not have reported yet
// are ignored.
func differ[T comparable](a, b T) bool {
	var unknown T
	return a != b && a != unknown && b != unknown
}

// afterFailure returns the reason to exclude an asset after earlier attempts.
func (r Request) afterFailure(c enrichment.Enrichable) Reason {
	if c.Enrichment == nil || r.Again || r.hasChanged(c) {
		return ""
	}
	switch e := c.Enrichment; {
	case e.State == enrichment.Refused:
		return ReasonRefused
	case e.State == enrichment.Conflict:
		return ReasonConflict
	case e.State == enrichment.Failed && (e.Class == string(retry.Permanent) || e.Attempts >= maxAttempts):
		return ReasonFailed
	}
	return ""
}

// An Estimate is the expected size of a request.
type Estimate struct {
	Host     string // of the service
	Assets   int64  // selected
	Excluded map[Reason]int64
	Other    int64         // already proposed, but with other contexts
	Calls    int64         // billable requests without repetitions
	Credits  *float64      // nil: unknown, because no earlier run has costs
	Duration time.Duration // a guess if no earlier run has durations
	Bytes    int64         // maximum, for images
}

// maxPicture is the most bytes of an image that is sent; see internal/picture.
const maxPicture = 5_000_000

// callTime is the assumed duration of a request without earlier runs.
const callTime = 5 * time.Second

// Plan returns the estimate for a request. It changes nothing.
func (e *Engine) Plan(ctx context.Context, r Request) (Estimate, error) {
	s, contexts := Estimate{Host: e.Host, Excluded: map[Reason]int64{}}, r.contexts()
	for l, err := range e.Candidates(ctx, r) {
		if err != nil {
			return s, err
		}
		if l.Reason != "" {
			s.Excluded[l.Reason]++
			if l.Reason == ReasonAlreadyProposed && !slices.Equal(l.Enrichment.Contexts, contexts) {
				s.Other++
			}
			continue
		}
		s.Assets++
		if r.Kind == enrichment.KindDescribe {
			s.Bytes += min(l.Size, cmp.Or(r.Model.MaxImageBytes, maxPicture))
		}
	}
	s.Calls = calls(r.Kind, s.Assets)
	cost, err := e.Store.Cost(ctx, e.Host, string(r.Kind))
	if err != nil {
		return s, fmt.Errorf("estimate: %w", err)
	}
	s.Duration = time.Duration(s.Calls) * callTime / time.Duration(e.Concurrency)
	if cost.Calls > 0 {
		credits := cost.Credits * float64(s.Calls) / float64(cost.Calls)
		s.Credits, s.Duration = &credits, cost.Took*time.Duration(s.Calls)/time.Duration(cost.Calls)
	}
	if e.PerMinute > 0 {
		s.Duration = max(s.Duration, time.Duration(s.Calls)*time.Minute/time.Duration(e.PerMinute))
	}
	return s, nil
}

func calls(kind enrichment.Kind, assets int64) int64 {
	switch kind {
	case enrichment.KindReview:
		return (assets + reviewBatch - 1) / reviewBatch
	case enrichment.KindTranslate:
		return (assets + translateBatch - 1) / translateBatch
	}
	return assets
}
