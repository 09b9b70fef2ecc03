package migrate

import (
	"assetferry/internal/assets"
	"assetferry/sources"
	"assetferry/state"
)

// A Superseded is a sync that was not resumed, because an object changed after the run processed
// it. A run has one item for each key, so it cannot process that object again. A new run replaces
// it; its outcomes are kept.
type Superseded struct {
	Run string
	Key sources.Key // of the first such object
}

// A Plan sums up a plan. The plan itself is in the state database.
type Plan struct {
	Run            state.Run
	Tallies        []state.Tally
	Categories     []NewCategory       // to be made
	Unsupported    []ExtensionTally    // extensions that no category allows
	DuplicateNames int64               // names that occur more than once with one size, in the places that were listed
	Hidden         int64               // folders that could not be read and may contain more objects
	Renamed        int64               // objects that get another name, because their name is taken
	Deleted        int64               // uploaded objects that are not listed any more; their assets stay
	Forgotten      int64               // listed objects that are skipped, because they were erased from the state database
	Waves          WaveFindings        // of the listing; empty without waves
	Limits         assets.Limits       // of the destination; zero if the plan had nothing to place
	FailedChecks   []*SafetyCheckError // why a sync must not be carried out
	Drift          string              // the key up to which assets were checked for drift
	AsStaged       bool                // the items are those that were passed to plan.Planner.Staged
	Superseded     *Superseded         // the run that this one replaces; nil if there is none
}

// An ExtensionTally counts the objects with an extension, "" for none.
type ExtensionTally struct {
	Extension string `json:"extension"`
	Objects   int64  `json:"objects"`
	Bytes     int64  `json:"bytes"`
}

// Blocked reports whether the rules forbid to apply the plan, because objects have unsupported file
// types and the user has not chosen what to do.
func (p Plan) Blocked(r Rules) bool {
	return r.StopsAtUnsupported() && len(p.Unsupported) > 0
}
