package migrate

import (
	"assetferry/state"
)

// Memory is the state of an object in the state database.
type Memory int

// The states of knowledge: no receipt, the same fingerprint, another fingerprint, a fingerprint
// that requires a comparison of contents, and another fingerprint with identical content.
const (
	MemoryNone Memory = iota
	MemorySame
	MemoryChanged
	MemoryPossiblyChanged
	MemoryTouched
)

// isSame reports whether the asset has the content of the object.
func (m Memory) isSame() bool { return m == MemorySame || m == MemoryTouched }

// Condition is the condition of an asset of ours at the destination.
type Condition int

// The conditions of an asset: not checked, unchanged, deleted by a user, moved or renamed, edited,
// and with other metadata than the source has now.
const (
	ConditionUnknown Condition = iota
	ConditionUnchanged
	ConditionDeleted
	ConditionMoved
	ConditionEdited
	ConditionMetadataEdited
)

// Existing lists the assets in the place of an object that are not in the state database.
type Existing int

// The results: no asset, an asset with identical content (or the same size, if the rules accept
// that), or another asset.
const (
	ExistingNothing Existing = iota
	ExistingEqual
	ExistingOther
)

// A Situation contains all facts that a decision depends on.
type Situation struct {
	Skipped          Reason   // a rule, or the kind of object, skips it
	Failed           Reason   // it cannot be read
	Problem          Reason   // it cannot go where it should
	Memory           Memory   // of the state database
	Existing         Existing // at the destination
	Taken            bool     // another object takes the same place
	Looked           bool     // it was looked for at the destination
	RetriesExhausted Reason   // it is not tried any more until it changes
	// MetadataPending says that metadata of the asset is not written yet.
	MetadataPending bool
	// MetadataRefreshed says that the source has other metadata than at the last update of the
	// asset.
	MetadataRefreshed bool
	// HistoryInterrupted says that the asset has an older version of the object, because a run that
	// brings versions was interrupted.
	HistoryInterrupted bool
	Condition          Condition // of its asset
	Shared             bool      // another source has its asset, too
	Deleted            bool      // was uploaded, and is not at the source any more
	Expired            bool      // and has been deleted for long enough
	PossiblyMoved      bool      // may be at the source under another key, as an object that this run cannot process
	TooMany            bool      // as more are than may be trashed
}

// Decide returns the action for an object, and the reason. It is a pure function: the same
// situation and rules always lead to the same action.
func Decide(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case s.Skipped != "": // first, so that a rule can exclude objects that cannot be read
		return state.Skip, s.Skipped
	case s.Failed == ReasonAmbiguous:
		return state.Conflict, s.Failed
	case s.Failed != "":
		return state.Skip, s.Failed
	case s.Deleted:
		return decideDeletedAtSource(s, r)
	case s.Memory != MemoryNone && (s.Memory.isSame() || r.Sync != nil || s.HistoryInterrupted):
		return decideKnown(s, r)
	case s.Memory != MemoryNone:
		return state.Skip, ReasonNeedsSync
	case s.Problem == ReasonUnsupportedType, s.Problem == ReasonMappingRule:
		return state.Skip, s.Problem
	case s.Problem != "":
		return state.Conflict, s.Problem
	case s.Existing == ExistingEqual && r.OnExisting == "adopt":
		return state.Adopt, ReasonSameNameAndSize
	case s.Existing == ExistingEqual && !r.KeepsDuplicates():
		return state.Adopt, ReasonIdenticalAsset
	case s.Existing != ExistingNothing:
		return decideExisting(s, r)
	case s.Looked && r.AdoptOnly:
		return state.Skip, ReasonNotAtDestination
	case s.Taken:
		return decideTaken(r)
	case s.RetriesExhausted != "":
		return state.Create, s.RetriesExhausted
	}
	return state.Create, ReasonNew
}

// decideKnown decides about an object that was uploaded before.
func decideKnown(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case s.Condition == ConditionDeleted:
		return decideDeleted(s, r)
	case s.Condition == ConditionMoved && s.Memory.isSame() && r.Overwrites():
		return state.Move, ReasonAssetMovedReverted
	case s.Condition == ConditionEdited && s.Memory.isSame() && r.Overwrites():
		return state.Replace, ReasonAssetEditedReverted
	case s.Condition == ConditionMoved && !r.Overwrites():
		return state.Conflict, ReasonAssetMoved
	case s.Condition == ConditionEdited && !r.Overwrites():
		return state.Conflict, ReasonAssetEdited
	case s.Condition == ConditionMetadataEdited && s.Memory.isSame() && r.ReportsEdits():
		return state.Conflict, ReasonAssetMetadataEdited
	case s.Memory.isSame() && (s.MetadataPending || s.MetadataRefreshed):
		return state.UpdateMetadata, whyUpdateMetadata(s, r)
	case s.Memory == MemoryTouched:
		return state.Unchanged, ReasonOnlyVersionChanged
	case s.Memory == MemorySame:
		return state.Unchanged, ReasonUnchanged
	case s.Problem != "":
		return state.Conflict, s.Problem
	case s.RetriesExhausted != "":
		return state.Replace, s.RetriesExhausted
	case s.Memory == MemoryPossiblyChanged:
		return state.Replace, ReasonContentMaybeChanged
	}
	return state.Replace, ReasonContentChanged
}

func decideDeleted(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case r.Sync == nil || !r.Sync.Repair:
		return state.Skip, ReasonAssetDeleted
	case s.Problem == ReasonUnsupportedType, s.Problem == ReasonMappingRule:
		return state.Skip, s.Problem
	case s.Problem != "":
		return state.Conflict, s.Problem
	}
	return state.Create, ReasonAssetDeletedCreated
}

func whyUpdateMetadata(s Situation, r Rules) Reason {
	switch {
	case s.RetriesExhausted != "":
		return s.RetriesExhausted
	case s.MetadataPending:
		return ReasonMetadataMissing
	case r.Sync != nil && r.Sync.RefreshMetadata:
		return ReasonMetadataRefreshed
	}
	return ReasonMetadataChanged
}

// decideDeletedAtSource decides about the asset of an object that was deleted at the source. Users
// may rely on the asset, so any uncertainty keeps it.
func decideDeletedAtSource(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case !r.Trashes():
		return state.Skip, ReasonDeletedAtSource
	case !s.Expired:
		return state.Skip, ReasonGracePeriod
	case s.PossiblyMoved:
		return state.Skip, ReasonPossiblyMoved
	case s.Shared:
		return state.Conflict, ReasonAssetShared
	case s.Condition == ConditionMoved && !r.Overwrites():
		return state.Conflict, ReasonAssetMoved
	case s.Condition == ConditionEdited && !r.Overwrites():
		return state.Conflict, ReasonAssetEdited
	case s.Condition == ConditionDeleted: // trashing it again has no effect except that its receipt is deleted
		return state.Trash, ReasonDeletedAtBoth
	case s.TooMany:
		return state.Skip, ReasonTooManyDeletes
	}
	return state.Trash, ReasonGracePeriodOver
}

// decideExisting decides about an object next to another asset of the same name. No policy
// overwrites that asset.
func decideExisting(s Situation, r Rules) (state.Action, Reason) {
	switch {
	case !r.KeepsDuplicates():
		return state.Conflict, ReasonNameExists
	case s.RetriesExhausted != "":
		return state.Create, s.RetriesExhausted
	}
	return state.Create, ReasonNameExistsCreated
}

func decideTaken(r Rules) (state.Action, Reason) {
	switch r.OnCollision {
	case "keep":
		return state.Create, ReasonNew
	case "conflict":
		return state.Conflict, ReasonNameCollision
	}
	return state.Create, ReasonRenamed
}

// FirstState returns the state in which a decided item starts.
func FirstState(a state.Action, why Reason) state.ItemState {
	switch {
	case why.IsFailure():
		return state.ItemFailed
	case why.StopsRetries():
		return state.ItemRetriesExhausted
	case a == state.Skip || a == state.Unchanged:
		return state.ItemSkipped
	case a == state.Conflict:
		return state.ItemConflict
	}
	return state.ItemPlanned
}
