package plan

import (
	"iter"
	"time"

	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/state"
)

// DefaultDriftShare is the part of all assets that a sync compares with what it left: each
// of them about once a month, if it runs each day.
const DefaultDriftShare = 1.0 / 30

// A Planner makes plans. It can read the destination and nothing more.
type Planner struct {
	collect.Collector
	// Rules say what is taken and what will be done with it.
	Rules migrate.Rules
	// Approval is the approved plan that will be carried out, if there is one.
	Approval *Approval
	// SourceLocation is where the source is read; see PlanHead.
	SourceLocation string
	// Metadata is the checksum of the metadata table; see PlanHead.
	Metadata string
	// Unchanged, if it is set, is called with the receipts of objects that are as the state
	// database remembers them. They are counted in the plan and not listed in it.
	Unchanged func(state.Receipt)
	// Describes says that what is applied describes assets, too.
	Describes bool
	// SafetyChecks are what a sync must not go beyond.
	SafetyChecks safety.SafetyChecks
	// DriftShare is the part of the assets, between 0 and 1, that a sync compares with what
	// it left although nothing happened to their objects.
	DriftShare float64
	// RetryExhausted has objects tried again that failed in many runs.
	RetryExhausted bool
	// Concurrency is how much is asked of the destination at once.
	Concurrency int
	// ResponseTimeout is how long the service may still work on what another source sent, since
	// the process that sent it ended; see migrate.DefaultResponseTimeout.
	ResponseTimeout time.Duration
	// FormerAlive is when that process last gave a sign of life, zero if that is not
	// known.
	FormerAlive time.Time
}

// New returns a Planner with the default safety checks and waits.
func New(d migrate.Deps, r migrate.Rules) *Planner {
	return &Planner{Collector: collect.New(d), Rules: r, Concurrency: migrate.DefaultConcurrency, ResponseTimeout: migrate.DefaultResponseTimeout,
		SafetyChecks: safety.DefaultChecks(), DriftShare: DefaultDriftShare}
}

// Head returns what the plan of a run says besides its items.
func (p *Planner) Head(run state.Run, wanted []migrate.NewCategory) migrate.PlanHead {
	return migrate.PlanHead{
		Source: run.Pair.Source, SourceLocation: p.SourceLocation, Destination: run.Pair.Destination, Rules: p.Rules,
		Categories: wanted, Metadata: p.Metadata, Unchanged: run.Unchanged, UnchangedBytes: run.UnchangedBytes,
	}
}

// onlyFailed are the keys of objects that failed before, nil where all are taken.
func (p *Planner) onlyFailed() *migrate.KeyList {
	if p.Rules.Sync == nil {
		return nil
	}
	return p.Rules.Sync.Failed
}

// isSkipped reports whether only what failed before is taken, and an object is not of that. A
// directory that could not be read stands for what is below it.
func (p *Planner) isSkipped(o sources.Object) bool {
	failed := p.onlyFailed()
	return failed != nil && !failed.Covers(o) && !failed.HasParentOf(o.Key)
}

// An Approval is an approved plan. A planner with an approval reads source and destination as for
// any plan, and then compares each decision with the approved one. Objects that the approved plan
// skips, or does not contain, are skipped. An object that changed in any way since the approval is
// skipped as drifted. Filters, limits and name collisions are not decided again: the approved
// decisions hold, even if an object was deleted since.
type Approval struct {
	Hash       string
	Categories []migrate.NewCategory        // to be made
	Items      iter.Seq2[state.Item, error] // in key order; read more than once
}
