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

// A Request says what is asked for, of which assets.
type Request struct {
	Kind     enrichment.Kind
	Language string // of the texts that are wanted; for a review it may be empty
	Rules    Rules
	Assets   []string // ids; empty: all
	Again    bool     // also those of which there is a proposal, or that failed for good
	Limit    int      // the most assets to ask about; 0: no limit

	Findings   []Finding // for descriptions: which assets, empty: those with none or junk
	Model      Model     // for descriptions
	Contexts   []ai.ContextRef
	Review     string  // for reviews: the name of one of the service's own, such as correctness
	Into       string  // for translations: "description", or the name of a custom attribute; empty: description_LANGUAGE
	MaxCredits float64 // 0: no limit

	only      map[string]bool // Assets
	attribute string          // from Into; empty: the texts are for the description
}

// A Model is what answers.
type Model struct {
	ID            string
	MaxImageBytes int64 // 0: what internal/picture takes for the limit
}

// IntoDescription is a Request.Into that has a translation take the place of the description.
const IntoDescription = "description"

// Batches of texts that are sent with one call.
const (
	reviewBatch    = 40
	translateBatch = 20
)

// maxAttempts is after how many failures in a row an asset is left alone.
const maxAttempts = 5

// withDefaults completes a request, or says what is wrong with it.
func (r Request) withDefaults() (Request, error) {
	if r.Language == "" && r.Kind != enrichment.KindReview {
		return r, errors.New("no language is given for the texts")
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

// contexts are those of a request as the journal has them.
func (r Request) contexts() (all []string) {
	for _, ref := range r.Contexts {
		all = append(all, ref.String())
	}
	return all
}

// A Leaving is an asset that a request is about.
type Leaving struct {
	enrichment.Enrichable
	Reason Reason // why it is held back; empty: it leaves
}

// Leaving lists the assets that a request is about, by their ids, and says which of them are
// held back, and why. It asks the journal only, and fails with ErrNoSurvey without a whole
// survey.
func (e *Engine) Leaving(ctx context.Context, r Request) iter.Seq2[Leaving, error] {
	return func(yield func(Leaving, error) bool) {
		r, err := r.withDefaults()
		if err == nil {
			err = e.needSurvey(ctx)
		}
		if err != nil {
			yield(Leaving{}, err)
			return
		}
		left := 0
		for c, err := range e.Store.Enrichables(ctx, e.Destination, r.Kind, r.Language) {
			if err != nil {
				yield(Leaving{}, err)
				return
			}
			reason, wanted := r.decide(c)
			if !wanted || reason == "" && r.Limit > 0 && left >= r.Limit {
				continue
			}
			if reason == "" {
				left++
			}
			if !yield(Leaving{c, reason}, nil) {
				return
			}
		}
	}
}

// decide says whether a request is about an asset, and what holds it back.
func (r Request) decide(c enrichment.Enrichable) (reason Reason, wanted bool) {
	switch {
	case len(r.only) > 0 && !r.only[c.Asset]:
		return "", false
	case c.Enrichment != nil && c.Enrichment.State == enrichment.Asking:
		return ReasonUnsettled, true
	case r.Kind == enrichment.KindDescribe && len(r.only) == 0 && !IsPicture(c.Surveyed):
		return "", false // nobody expects a document to be described
	case !r.Again && r.isKnown(c):
		return ReasonKnown, true
	case !r.isAbout(c):
		return "", false
	case c.Decorative:
		return ReasonDecorative, true
	}
	if reason := r.Rules.holdsBack(c.Surveyed); reason != "" {
		return reason, true
	}
	if r.Kind == enrichment.KindDescribe && !IsPicture(c.Surveyed) {
		return ReasonNoPicture, true
	}
	return r.afterFailure(c), true
}

// isAbout reports whether the description of an asset is what a request is about: what was
// found wrong, or else that it is asked for once more, or that there is a text to work with.
func (r Request) isAbout(c enrichment.Enrichable) bool {
	found := strings.Split(c.Findings, ",") // as they are, whatever a person says
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

// isKnown reports whether there is a proposal for an asset as it is now.
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

// attributeOf is the text of a custom attribute; empty if there is none.
func attributeOf(attributes map[string]any, name string) string {
	text, _ := attributes[name].(string)
	return text
}

// hasChanged reports whether an asset is another one than the one that was asked about: its
// picture, or for texts its description.
func (r Request) hasChanged(c enrichment.Enrichable) bool {
	e, a := c.Enrichment, c.Surveyed
	if r.Kind != enrichment.KindDescribe {
		return a.Description != e.Basis.Description && a.Description != e.Proposal.Text
	}
	b := e.Basis
	return a.Size != b.Size || differ(a.Width, b.Width) || differ(a.Height, b.Height) || differ(a.Blur, b.Blur)
}

// differ compares what the service may not have known yet.
func differ[T comparable](a, b T) bool {
	var unknown T
	return a != b && a != unknown && b != unknown
}

// afterFailure gives what earlier attempts hold an asset back for.
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

// An Estimate is what a request would come to.
type Estimate struct {
	Host     string // where the assets would leave for
	Assets   int64  // that would leave
	Held     map[Reason]int64
	Other    int64         // of those held back as proposed already: proposed with other contexts
	Calls    int64         // that are billed, if each is answered well at once
	Credits  *float64      // nil: unknown, because no earlier run knows what its calls cost
	Duration time.Duration // a guess, unless earlier runs know
	Bytes    int64         // of pictures, at most: what the assets have
}

// maxPicture is how many bytes a picture has at most that is sent; see internal/picture.
const maxPicture = 5_000_000

// callTime is how long a call takes where nothing is known; a guess.
const callTime = 5 * time.Second

// Plan says what a request would come to, and changes nothing.
func (e *Engine) Plan(ctx context.Context, r Request) (Estimate, error) {
	s, contexts := Estimate{Host: e.Host, Held: map[Reason]int64{}}, r.contexts()
	for l, err := range e.Leaving(ctx, r) {
		if err != nil {
			return s, err
		}
		if l.Reason != "" {
			s.Held[l.Reason]++
			if l.Reason == ReasonKnown && !slices.Equal(l.Enrichment.Contexts, contexts) {
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
