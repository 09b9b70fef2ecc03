package migrate

import (
	"assetferry/internal/assets"
	"assetferry/sources"
	"assetferry/state"
)

// A Superseded is a sync that should be continued and is not, because an object has changed
// since the run was done with it. A run has one item for each key, so it cannot do anything
// else with that object, and what is new is unknown from what was renamed either: that
// takes a run of its own, to which the former one gives way. Nothing that it did is lost.
type Superseded struct {
	Run string
	Key sources.Key // of the first such object
}

// A Plan sums up what was planned. The plan itself is in the state database.
type Plan struct {
	Run            state.Run
	Tallies        []state.Tally
	Categories     []NewCategory       // to be made
	Unsupported    []ExtensionTally    // extensions that no category allows
	DuplicateNames int64               // names that are more than once at the places looked at, with one size
	Hidden         int64               // directories that could not be read: there may be more objects
	Renamed        int64               // objects that get another name, because theirs is taken
	Deleted        int64               // objects that arrived before and are not listed any more; their assets stay
	Limits         assets.Limits       // of the destination; zero where the plan had nothing to place
	FailedChecks   []*SafetyCheckError // why a sync must not be carried out
	Drift          string              // the key up to which assets were compared with what was left
	Superseded     *Superseded         // the continued run whose place this one takes; nil if it does not
}

// An ExtensionTally counts the objects with an extension, "" for none.
type ExtensionTally struct {
	Extension string `json:"extension"`
	Objects   int64  `json:"objects"`
	Bytes     int64  `json:"bytes"`
}

// Blocked reports whether the rules forbid to carry out the plan, because there
// are objects that no category takes and the user has not said what to do.
func (p Plan) Blocked(r Rules) bool {
	return r.StopsAtUnsupported() && len(p.Unsupported) > 0
}
