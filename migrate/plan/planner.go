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

// DefaultDriftShare is the share of all assets that a sync compares with their receipts: with one
// run a day, each asset is compared about once a month.
const DefaultDriftShare = 1.0 / 30

// A Planner makes plans. It can only read the destination.
type Planner struct {
	*collect.Collector
	// Rules select the objects and their actions.
	Rules migrate.Rules
	// Waves are all waves of the source. Without them, overlaps and objects in no wave stay unknown.
	Waves migrate.Waves
	// Unassigned, if it is set, is called with the listed objects that are in no wave.
	Unassigned func(sources.Object)
	// Approval is the approved plan that will be carried out, if there is one.
	Approval *Approval
	// SourceLocation is the location of the source; see PlanHead.
	SourceLocation string
	// Metadata is the checksum of the metadata table; see PlanHead.
	Metadata string
	// Unchanged, if it is set, is called with the receipts of objects that match the state
	// database. They are counted in the plan and not listed in it.
	Unchanged func(state.Receipt)
	// Staged, if it is set, is called when a listing begins. The function that it returns is called
	// with the items in key order while they are staged. migrate.Plan.AsStaged says whether the items
	// of the last listing are those of the plan.
	Staged func() func(*state.Item)
	// Describes says that what is applied describes assets, too.
	Describes bool
	// SafetyChecks are the limits of a sync.
	SafetyChecks safety.SafetyChecks
	// DriftShare is the share of the assets, between 0 and 1, that a sync compares with their
	// receipts although their objects are unchanged.
	DriftShare float64
	// RetryExhausted has objects tried again that failed in many runs.
	RetryExhausted bool
	// Concurrency is the maximum number of concurrent requests to the destination.
	Concurrency int
	// ResponseTimeout is how long the service may still process an upload of another source after
	// the process that sent it has ended; see migrate.DefaultResponseTimeout.
	ResponseTimeout time.Duration
	// FormerAlive is the time of the last sign of life of that process, zero if it is unknown.
	FormerAlive time.Time
}

// New returns a Planner with the default safety checks and waits.
func New(d migrate.Deps, r migrate.Rules) *Planner {
	return &Planner{Collector: collect.New(d), Rules: r, Concurrency: migrate.DefaultConcurrency, ResponseTimeout: migrate.DefaultResponseTimeout,
		SafetyChecks: safety.DefaultChecks(), DriftShare: DefaultDriftShare}
}

// Head returns the head of the plan of a run, which is everything except its items.
func (p *Planner) Head(run state.Run, wanted []migrate.NewCategory) migrate.PlanHead {
	return migrate.PlanHead{
		Source: run.Pair.Source, SourceLocation: p.SourceLocation, Destination: run.Pair.Destination, Rules: p.Rules,
		Categories: wanted, Metadata: p.Metadata, Unchanged: run.Unchanged, UnchangedBytes: run.UnchangedBytes,
	}
}

// onlyFailed returns the keys of previously failed objects, or nil if the run takes all objects.
func (p *Planner) onlyFailed() *migrate.KeyList {
	if p.Rules.Sync == nil {
		return nil
	}
	return p.Rules.Sync.Failed
}

// isSkipped reports whether the run takes only previously failed objects and an object is none of
// them. An unreadable directory represents the objects below it.
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
	Categories []migrate.NewCategory        // to create
	Items      iter.Seq2[state.Item, error] // in key order; read more than once
}
