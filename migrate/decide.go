package migrate

import "assetferry/state"

// A Reason says in a person's words why an action was chosen. It is stored in
// journals and compared, so its text does not change.
type Reason string

// The reasons of a plan.
const (
	ReasonNew         Reason = "not at the destination yet"
	ReasonRenamed     Reason = "not at the destination yet; renamed, the name is taken"
	ReasonExtended    Reason = "not at the destination yet; .bin is added to its name, which has no extension that a category can hold"
	ReasonSame        Reason = "as the journal remembers it"
	ReasonUndescribed Reason = "sent, but not described yet"
	ReasonUseSync     Reason = "changed, use sync"
	ReasonEqual       Reason = "an equal asset is there already"
	ReasonJoined      Reason = "its content is that of another object; one asset for both"
	ReasonTrusted     Reason = "an asset of that name and size is there already"
	ReasonDuplicate   Reason = "another asset of that name is there; sent beside it"
	ReasonAbsent      Reason = "not at the destination, and adopt sends nothing"
	ReasonNotApproved Reason = "not in the approved plan"
	ReasonDrifted     Reason = "drifted since the plan was approved"
	ReasonParked      Reason = "failed in many runs, see --retry-parked"
	ReasonUnclear     Reason = "sent before, and nobody can tell whether it arrived, see --retry-parked"
	ReasonUnsettled   Reason = "sent before, deleted at the source since, and nobody can tell whether an asset is of it, see --retry-parked"

	ReasonContent   Reason = "its content changed"
	ReasonRecased   Reason = "its content changed, and its name in case or Unicode form only"
	ReasonNameFree  Reason = "the name that was taken when it arrived is free now"
	ReasonMaybe     Reason = "it looks changed; its content is still to be compared"
	ReasonSeeming   Reason = "only its time or version changed, its content is the same"
	ReasonMetadata  Reason = "its metadata changed"
	ReasonAgain     Reason = "what describes it is looked for again, see --describe-again"
	ReasonMoved     Reason = "its content was under another key before"
	ReasonBack      Reason = "somebody moved or renamed its asset; back it goes"
	ReasonRestored  Reason = "somebody changed the content of its asset; the source wins"
	ReasonRepair    Reason = "its asset was deleted at the destination; created again"
	ReasonAmbiguous Reason = "not at the destination yet; its content is that of several objects that are gone"

	ReasonOtherKind Reason = "not at the destination yet; the asset that has its content is in a category which cannot be left for this one"

	ReasonOrphaned    Reason = "gone from the source; its asset stays, see --delete"
	ReasonQuarantine  Reason = "gone from the source; its asset stays for now, see --quarantine"
	ReasonExpired     Reason = "gone from the source long enough"
	ReasonTooMany     Reason = "gone from the source; more assets than one run may trash, see --accept-deletes"
	ReasonBothGone    Reason = "gone from the source, and from the destination as well"
	ReasonDeleted     Reason = "somebody deleted its asset at the destination; it stays deleted, see --repair"
	ReasonMovedThere  Reason = "somebody moved or renamed its asset at the destination, see --on-destination-change"
	ReasonEditedThere Reason = "somebody changed the content of its asset at the destination, see --on-destination-change"
	ReasonOtherwise   Reason = "somebody described its asset otherwise at the destination, see --on-destination-change"
	ReasonNeeded      Reason = "its content changed, and its asset has to keep the former one for another object, which gets no asset of its own now"

	ReasonJunk      Reason = "left behind by an operating system or a tool"
	ReasonFiltered  Reason = "left out by --include or --exclude"
	ReasonNotFailed Reason = "not among what failed before, see --only"
	ReasonNotListed Reason = "not in --files-from"
	ReasonTooYoung  Reason = "younger than --min-age"
	ReasonLimit     Reason = "beyond --limit"
	ReasonSymlink   Reason = "symbolic link, see --symlinks"
	ReasonSpecial   Reason = "not a regular file"
	ReasonArchived  Reason = "in an archived storage class"
	ReasonFolder    Reason = "stands for a folder, which comes with what is in it"
	ReasonUnmatched Reason = "no category allows its extension"
	ReasonRuledOut  Reason = "left out by a rule of the mapping"

	ReasonSidecar Reason = "describes another object"

	ReasonUnseen     Reason = "not looked at: in a folder that cannot be read, or behind a link that is not followed"
	ReasonUnreadable Reason = "cannot be read"
	ReasonMiswritten Reason = "what the table says of it is wrong"
	ReasonUnplaced   Reason = "what describes it cannot be read, and rules ask for that to say where it goes"
	ReasonMissing    Reason = "in --files-from but not at the source"
	ReasonRules      Reason = "a rule of the mapping cannot be applied to it"
	ReasonKey        Reason = "its key cannot become folders and a name"
	ReasonNoCategory Reason = "no category can be made for its extension"
	ReasonNameLong   Reason = "a name is longer than the service allows"
	ReasonTooLarge   Reason = "larger than the service allows"
	ReasonPublic     Reason = "private at the source, and public in the category it would go to"
	ReasonExists     Reason = "another asset of that name is there, see --on-existing"
	ReasonCollision  Reason = "another object has that name, see --on-collision"
)

// IsFailure reports whether a skip for this reason means that something was
// meant to arrive and cannot, so that the run must not look like a success.
func (r Reason) IsFailure() bool {
	return r == ReasonUnreadable || r == ReasonMiswritten || r == ReasonUnplaced || r == ReasonMissing
}

// parks reports whether an object is left alone for this reason, until it changes or
// somebody asks for it.
func (r Reason) parks() bool {
	return r == ReasonParked || r == ReasonUnclear || r == ReasonUnsettled
}

// Memory is what the journal knows of an object.
type Memory int

// What the journal may know: nothing, an object with the same fingerprint, one with
// another, one of which only the content can tell, or one whose content told that it is
// the same.
const (
	Unknown Memory = iota
	Same
	Changed
	Maybe
	Seeming
)

// isSame reports whether the asset has the content of the object.
func (m Memory) isSame() bool { return m == Same || m == Seeming }

// Standing is what became at the destination of an asset that is ours.
type Standing int

// What may have become of it: nobody has looked, it is as we left it, somebody deleted it,
// moved or renamed it, changed its content, or described it otherwise than the source does
// now.
const (
	NotLooked Standing = iota
	AsLeft
	Deleted
	MovedThere
	EditedThere
	DescribedThere
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
	// Redescribed says that the source describes the object otherwise than when its asset
	// was described last.
	Redescribed bool
	Standing    Standing // of its asset
	Shared      bool     // another source has its asset, too
	Gone        bool     // it has arrived, and is not at the source any more
	Expired     bool     // and has been gone for long enough
	Excess      bool     // as more are than may be trashed
}

// Decide says what has to happen to an object, and why. It is a pure function:
// the same situation under the same rules always gives the same action.
func Decide(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case s.LeftOut != "": // first, so that leaving out is the remedy for what cannot be read
		return state.Skip, s.LeftOut
	case s.Failed != "":
		return state.Skip, s.Failed
	case s.Gone:
		return decideGone(s, r)
	case s.Memory != Unknown && (s.Memory.isSame() || r.Sync != nil):
		return decideKnown(s, r)
	case s.Memory != Unknown:
		return state.Skip, ReasonUseSync
	case s.Problem == ReasonUnmatched, s.Problem == ReasonRuledOut:
		return state.Skip, s.Problem
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

// decideKnown settles what happens to an object that has arrived before.
func decideKnown(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case s.Standing == Deleted:
		return decideDeleted(s, r)
	case s.Standing == MovedThere && s.Memory.isSame() && r.overwrites():
		return state.Move, ReasonBack
	case s.Standing == EditedThere && s.Memory.isSame() && r.overwrites():
		return state.Replace, ReasonRestored
	case s.Standing == MovedThere && !r.overwrites():
		return state.Conflict, ReasonMovedThere
	case s.Standing == EditedThere && !r.overwrites():
		return state.Conflict, ReasonEditedThere
	case s.Standing == DescribedThere && s.Memory.isSame() && r.reports():
		return state.Conflict, ReasonOtherwise
	case s.Memory.isSame() && (s.Undescribed || s.Redescribed):
		return state.Describe, whyDescribe(s, r)
	case s.Memory == Seeming:
		return state.Unchanged, ReasonSeeming
	case s.Memory == Same:
		return state.Unchanged, ReasonSame
	case s.Problem != "":
		return state.Conflict, s.Problem
	case s.Parked != "":
		return state.Replace, s.Parked
	case s.Memory == Maybe:
		return state.Replace, ReasonMaybe
	}
	return state.Replace, ReasonContent
}

func decideDeleted(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case r.Sync == nil || !r.Sync.Repair:
		return state.Skip, ReasonDeleted
	case s.Problem == ReasonUnmatched, s.Problem == ReasonRuledOut:
		return state.Skip, s.Problem
	case s.Problem != "":
		return state.Conflict, s.Problem
	}
	return state.Create, ReasonRepair
}

func whyDescribe(s Situation, r Rules) Reason {
	switch {
	case s.Parked != "":
		return s.Parked
	case s.Undescribed:
		return ReasonUndescribed
	case r.Sync != nil && r.Sync.DescribeAgain:
		return ReasonAgain
	}
	return ReasonMetadata
}

// decideGone settles what happens to the asset of an object that is not at the source any
// more. People may have come to rely on it, so the more there is to lose, the less is done.
func decideGone(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case !r.trashes():
		return state.Skip, ReasonOrphaned
	case !s.Expired:
		return state.Skip, ReasonQuarantine
	case s.Shared:
		return state.Conflict, ReasonShared
	case s.Standing == MovedThere && !r.overwrites():
		return state.Conflict, ReasonMovedThere
	case s.Standing == EditedThere && !r.overwrites():
		return state.Conflict, ReasonEditedThere
	case s.Standing == Deleted: // to trash it again does nothing, and ends with its receipt
		return state.Trash, ReasonBothGone
	case s.Excess:
		return state.Skip, ReasonTooMany
	}
	return state.Trash, ReasonExpired
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
