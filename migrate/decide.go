package migrate

import "assetferry/state"

// A Reason says in a person's words why an action was chosen. It is stored in
// journals and compared, so its text does not change.
type Reason string

// The reasons of a plan.
const (
	ReasonNew         Reason = "not at the destination yet"
	ReasonRenamed     Reason = "not at the destination yet; renamed, the name is taken"
	ReasonSame        Reason = "as the journal remembers it"
	ReasonUndescribed Reason = "sent, but not described yet"
	ReasonUseSync     Reason = "changed, use sync"
	ReasonEqual       Reason = "an equal asset is there already"
	ReasonTrusted     Reason = "an asset of that name and size is there already"
	ReasonDuplicate   Reason = "another asset of that name is there; sent beside it"
	ReasonAbsent      Reason = "not at the destination, and adopt sends nothing"
	ReasonNotApproved Reason = "not in the approved plan"
	ReasonDrifted     Reason = "drifted since the plan was approved"
	ReasonParked      Reason = "failed in many runs, see --retry-parked"
	ReasonUnclear     Reason = "sent before, and nobody can tell whether it arrived, see --retry-parked"

	ReasonJunk      Reason = "left behind by an operating system or a tool"
	ReasonFiltered  Reason = "left out by --include or --exclude"
	ReasonNotListed Reason = "not in --files-from"
	ReasonTooYoung  Reason = "younger than --min-age"
	ReasonLimit     Reason = "beyond --limit"
	ReasonSymlink   Reason = "symbolic link, see --symlinks"
	ReasonSpecial   Reason = "not a regular file"
	ReasonArchived  Reason = "in an archived storage class"
	ReasonFolder    Reason = "stands for a folder, which comes with what is in it"
	ReasonUnmatched Reason = "no category allows its extension"

	ReasonUnreadable Reason = "cannot be read"
	ReasonMissing    Reason = "in --files-from but not at the source"
	ReasonKey        Reason = "its key cannot become folders and a name"
	ReasonNoCategory Reason = "no category can be made for its extension"
	ReasonNameLong   Reason = "a name is longer than the service allows"
	ReasonTooLarge   Reason = "larger than the service allows"
	ReasonExists     Reason = "another asset of that name is there, see --on-existing"
	ReasonCollision  Reason = "another object has that name, see --on-collision"
)

// IsFailure reports whether a skip for this reason means that something was
// meant to arrive and cannot, so that the run must not look like a success.
func (r Reason) IsFailure() bool { return r == ReasonUnreadable || r == ReasonMissing }

// parks reports whether an object is left alone for this reason, until it changes or
// somebody asks for it.
func (r Reason) parks() bool { return r == ReasonParked || r == ReasonUnclear }

// Memory is what the journal knows of an object.
type Memory int

// What the journal may know: nothing, an object with the same fingerprint, or
// one with another.
const (
	Unknown Memory = iota
	Same
	Changed
)

// Existing is what the destination holds at the place an object would take,
// beside the assets that the journal knows.
type Existing int

// What may be there: nothing, an asset with the object's content (with its size,
// where the user wants no more to be asked), or another one.
const (
	Nothing Existing = iota
	Equal
	Other
)

// A Situation is everything that a decision depends on.
type Situation struct {
	LeftOut  Reason   // a rule of the user or the object's nature leaves it out
	Failed   Reason   // it cannot be read
	Problem  Reason   // it cannot go where it should
	Memory   Memory   // of the journal
	Existing Existing // at the destination
	Taken    bool     // another object takes the same place
	Looked   bool     // it was looked for at the destination
	Parked   Reason   // it is not tried any more until it changes
	// Undescribed says that the asset lacks a description that it should have.
	Undescribed bool
}

// Decide says what has to happen to an object, and why. It is a pure function:
// the same situation under the same rules always gives the same action.
func Decide(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case s.LeftOut != "": // first, so that leaving out is the remedy for what cannot be read
		return state.Skip, s.LeftOut
	case s.Failed != "":
		return state.Skip, s.Failed
	case s.Memory == Same && s.Undescribed && s.Parked != "":
		return state.Describe, s.Parked
	case s.Memory == Same && s.Undescribed:
		return state.Describe, ReasonUndescribed
	case s.Memory == Same:
		return state.Unchanged, ReasonSame
	case s.Memory == Changed:
		return state.Skip, ReasonUseSync
	case s.Problem == ReasonUnmatched:
		return state.Skip, ReasonUnmatched
	case s.Problem != "":
		return state.Conflict, s.Problem
	case s.Existing == Equal && r.OnExisting == "adopt":
		return state.Adopt, ReasonTrusted
	case s.Existing == Equal && !r.duplicates():
		return state.Adopt, ReasonEqual
	case s.Existing != Nothing:
		return decideExisting(s, r)
	case s.Looked && r.AdoptOnly:
		return state.Skip, ReasonAbsent
	case s.Taken:
		return decideTaken(r)
	case s.Parked != "":
		return state.Create, s.Parked
	}
	return state.Create, ReasonNew
}

// decideExisting settles what happens beside an asset of the same name that is
// not equal. None of the policies overwrites it.
func decideExisting(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case !r.duplicates():
		return state.Conflict, ReasonExists
	case s.Parked != "":
		return state.Create, s.Parked
	}
	return state.Create, ReasonDuplicate
}

func decideTaken(r Rules) (state.Action, Reason) {
	switch r.OnCollision {
	case "keep":
		return state.Create, ReasonNew
	case "conflict":
		return state.Conflict, ReasonCollision
	}
	return state.Create, ReasonRenamed
}

// firstState is the state in which a decided item starts.
func firstState(a state.Action, why Reason) state.ItemState {
	switch {
	case why.IsFailure():
		return state.ItemFailed
	case why.parks():
		return state.ItemParked
	case a == state.Skip || a == state.Unchanged:
		return state.ItemSkipped
	case a == state.Conflict:
		return state.ItemConflict
	}
	return state.ItemPlanned
}
