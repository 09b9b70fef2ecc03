package migrate

import (
	"testing"

	"assetferry/state"
)

// A law states in one line the expected decision for some situations. The first law that applies
// decides. Laws are written independently of the code.
type law struct {
	holds  func(Situation, Rules) bool
	action state.Action
	reason func(Situation) Reason
}

func because(r Reason) func(Situation) Reason { return func(Situation) Reason { return r } }

func laws() []law {
	return []law{
		{func(s Situation, _ Rules) bool { return s.Skipped != "" }, state.Skip, func(s Situation) Reason { return s.Skipped }},
		{func(s Situation, _ Rules) bool { return s.Failed == ReasonAmbiguous }, state.Conflict, because(ReasonAmbiguous)},
		{func(s Situation, _ Rules) bool { return s.Failed != "" }, state.Skip, func(s Situation) Reason { return s.Failed }},
		{func(s Situation, _ Rules) bool { return isSame(s) && s.MetadataPending && s.RetriesExhausted != "" }, state.UpdateMetadata, func(s Situation) Reason { return s.RetriesExhausted }},
		{func(s Situation, _ Rules) bool { return isSame(s) && s.MetadataPending }, state.UpdateMetadata, because(ReasonMetadataMissing)},
		{func(s Situation, _ Rules) bool { return s.Memory == MemorySame }, state.Unchanged, because(ReasonUnchanged)},
		{func(s Situation, _ Rules) bool { return s.Memory == MemoryChanged || s.Memory == MemoryPossiblyChanged }, state.Skip, because(ReasonNeedsSync)},
		{func(s Situation, _ Rules) bool { return s.Problem == ReasonUnsupportedType }, state.Skip, because(ReasonUnsupportedType)},
		{func(s Situation, _ Rules) bool { return s.Problem != "" }, state.Conflict, func(s Situation) Reason { return s.Problem }},
		{func(s Situation, r Rules) bool {
			return s.Existing != ExistingNothing && r.OnExisting == "create" && !r.AdoptOnly && s.RetriesExhausted != ""
		}, state.Create, func(s Situation) Reason { return s.RetriesExhausted }},
		{func(s Situation, r Rules) bool {
			return s.Existing != ExistingNothing && r.OnExisting == "create" && !r.AdoptOnly
		}, state.Create, because(ReasonNameExistsCreated)},
		{func(s Situation, r Rules) bool { return s.Existing == ExistingEqual && r.OnExisting == "adopt" }, state.Adopt, because(ReasonSameNameAndSize)},
		{func(s Situation, _ Rules) bool { return s.Existing == ExistingEqual }, state.Adopt, because(ReasonIdenticalAsset)},
		{func(s Situation, _ Rules) bool { return s.Existing == ExistingOther }, state.Conflict, because(ReasonNameExists)},
		{func(s Situation, r Rules) bool { return s.Looked && r.AdoptOnly }, state.Skip, because(ReasonNotAtDestination)},
		{func(s Situation, r Rules) bool { return s.Taken && r.OnCollision == "rename" }, state.Create, because(ReasonRenamed)},
		{func(s Situation, r Rules) bool { return s.Taken && r.OnCollision == "conflict" }, state.Conflict, because(ReasonNameCollision)},
		{func(s Situation, _ Rules) bool { return s.RetriesExhausted != "" && !s.Taken }, state.Create, func(s Situation) Reason { return s.RetriesExhausted }},
		{func(Situation, Rules) bool { return true }, state.Create, because(ReasonNew)},
	}
}

func isSame(s Situation) bool { return s.Memory == MemorySame || s.Memory == MemoryTouched }

// syncLaws returns the laws for objects that were uploaded before, in a sync.
func syncLaws() []law {
	deleted := func(s Situation, _ Rules) bool { return !s.Deleted && s.Condition == ConditionDeleted }
	keeps := func(r Rules) bool { return r.Sync.OnDestinationChange != "overwrite" }
	known := func(s Situation) bool { return !s.Deleted && s.Condition != ConditionDeleted }
	wins := func(s Situation, r Rules) bool { return !keeps(r) && isSame(s) && !s.Deleted }
	due := func(s Situation, r Rules) bool { return s.Deleted && r.Sync.Delete == "trash" && s.Expired }
	return []law{
		{func(s Situation, _ Rules) bool { return s.Skipped != "" }, state.Skip, func(s Situation) Reason { return s.Skipped }},
		{func(s Situation, _ Rules) bool { return s.Failed == ReasonAmbiguous }, state.Conflict, because(ReasonAmbiguous)},
		{func(s Situation, _ Rules) bool { return s.Failed != "" }, state.Skip, func(s Situation) Reason { return s.Failed }},

		{func(s Situation, r Rules) bool { return s.Deleted && r.Sync.Delete == "never" }, state.Skip, because(ReasonDeletedAtSource)},
		{func(s Situation, r Rules) bool { return s.Deleted && !s.Expired }, state.Skip, because(ReasonGracePeriod)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.PossiblyMoved }, state.Skip, because(ReasonPossiblyMoved)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Shared }, state.Conflict, because(ReasonAssetShared)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Condition == ConditionMoved && keeps(r) }, state.Conflict, because(ReasonAssetMoved)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Condition == ConditionEdited && keeps(r) }, state.Conflict, because(ReasonAssetEdited)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Condition == ConditionDeleted }, state.Trash, because(ReasonDeletedAtBoth)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.TooMany }, state.Skip, because(ReasonTooManyDeletes)},
		{due, state.Trash, because(ReasonGracePeriodOver)},

		{func(s Situation, r Rules) bool { return deleted(s, r) && !r.Sync.Repair }, state.Skip, because(ReasonAssetDeleted)},
		{func(s Situation, r Rules) bool { return deleted(s, r) && s.Problem == ReasonUnsupportedType }, state.Skip, because(ReasonUnsupportedType)},
		{func(s Situation, r Rules) bool { return deleted(s, r) && s.Problem != "" }, state.Conflict, func(s Situation) Reason { return s.Problem }},
		{deleted, state.Create, because(ReasonAssetDeletedCreated)},
		{func(s Situation, r Rules) bool { return wins(s, r) && s.Condition == ConditionMoved }, state.Move, because(ReasonAssetMovedReverted)},
		{func(s Situation, r Rules) bool { return wins(s, r) && s.Condition == ConditionEdited }, state.Replace, because(ReasonAssetEditedReverted)},
		{func(s Situation, r Rules) bool { return known(s) && s.Condition == ConditionMoved && keeps(r) }, state.Conflict, because(ReasonAssetMoved)},
		{func(s Situation, r Rules) bool { return known(s) && s.Condition == ConditionEdited && keeps(r) }, state.Conflict, because(ReasonAssetEdited)},
		{func(s Situation, r Rules) bool {
			return isSame(s) && s.Condition == ConditionMetadataEdited && r.Sync.OnDestinationChange == "report"
		}, state.Conflict, because(ReasonAssetMetadataEdited)},
		{func(s Situation, _ Rules) bool {
			return isSame(s) && (s.MetadataPending || s.MetadataRefreshed) && s.RetriesExhausted != ""
		}, state.UpdateMetadata, func(s Situation) Reason { return s.RetriesExhausted }},
		{func(s Situation, _ Rules) bool { return isSame(s) && s.MetadataPending }, state.UpdateMetadata, because(ReasonMetadataMissing)},
		{func(s Situation, _ Rules) bool { return isSame(s) && s.MetadataRefreshed }, state.UpdateMetadata, because(ReasonMetadataChanged)},
		{func(s Situation, _ Rules) bool { return s.Memory == MemoryTouched }, state.Unchanged, because(ReasonOnlyVersionChanged)},
		{func(s Situation, _ Rules) bool { return s.Memory == MemorySame }, state.Unchanged, because(ReasonUnchanged)},
		{func(s Situation, _ Rules) bool { return s.Problem != "" }, state.Conflict, func(s Situation) Reason { return s.Problem }},
		{func(s Situation, _ Rules) bool { return s.RetriesExhausted != "" }, state.Replace, func(s Situation) Reason { return s.RetriesExhausted }},
		{func(s Situation, _ Rules) bool { return s.Memory == MemoryPossiblyChanged }, state.Replace, because(ReasonContentMaybeChanged)},
		{func(s Situation, _ Rules) bool { return true }, state.Replace, because(ReasonContentChanged)},
	}
}

func TestDecideSyncCrossProduct(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, skipped := range []Reason{"", ReasonExcluded} {
		for _, failed := range []Reason{"", ReasonUnreadable, ReasonAmbiguous} {
			for _, problem := range []Reason{"", ReasonUnsupportedType, ReasonTooLarge} {
				for _, memory := range []Memory{MemorySame, MemoryChanged, MemoryPossiblyChanged, MemoryTouched} {
					for _, standing := range []Condition{ConditionUnknown, ConditionUnchanged, ConditionDeleted, ConditionMoved, ConditionEdited, ConditionMetadataEdited} {
						for _, exhausted := range []Reason{"", ReasonRetriesExhausted} {
							for flags := range 128 {
								s := Situation{Skipped: skipped, Failed: failed, Problem: problem, Memory: memory, Condition: standing, RetriesExhausted: exhausted,
									MetadataPending: flags&1 != 0, MetadataRefreshed: flags&2 != 0, Shared: flags&4 != 0,
									Deleted: flags&8 != 0, Expired: flags&16 != 0, TooMany: flags&32 != 0, PossiblyMoved: flags&64 != 0}
								cases += checkDecideSync(t, s)
							}
						}
					}
				}
			}
		}
	}
	if cases != 2*3*3*4*6*2*128*12 {
		t.Errorf("looked at %d cases", cases)
	}
}

func checkDecideSync(t *testing.T, s Situation) (cases int) {
	for _, remove := range []string{"never", "trash"} {
		for _, onChange := range []string{"keep", "overwrite", "report"} {
			for _, repair := range []bool{false, true} {
				cases++
				r := DefaultRules()
				r.Sync = &SyncRules{Delete: remove, OnDestinationChange: onChange, Repair: repair}
				for _, l := range syncLaws() {
					if !l.holds(s, r) {
						continue
					}
					if action, why := Decide(s, r); action != l.action || why != l.reason(s) {
						t.Fatalf("%+v under %+v: got %s (%s), want %s (%s)", s, *r.Sync, action, why, l.action, l.reason(s))
					}
					break
				}
			}
		}
	}
	return cases
}

func TestDecideCrossProduct(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, skipped := range []Reason{"", ReasonSystemFile, ReasonExcluded, ReasonSymlink} {
		for _, failed := range []Reason{"", ReasonUnreadable, ReasonMissingAtSource, ReasonAmbiguous} {
			for _, problem := range []Reason{"", ReasonUnsupportedType, ReasonNoCategoryPossible, ReasonInvalidKey, ReasonTooLarge, ReasonNameTooLong} {
				for _, memory := range []Memory{MemoryNone, MemorySame, MemoryChanged, MemoryPossiblyChanged} {
					for _, existing := range []Existing{ExistingNothing, ExistingEqual, ExistingOther} {
						for _, exhausted := range []Reason{"", ReasonRetriesExhausted, ReasonUnconfirmed, ReasonScanRefused} {
							for flags := range 8 {
								taken, looked, metadataPending := flags&1 != 0, flags&2 != 0, flags&4 != 0
								s := Situation{Skipped: skipped, Failed: failed, Problem: problem, Memory: memory, Existing: existing,
									Taken: taken, Looked: looked, RetriesExhausted: exhausted, MetadataPending: metadataPending}
								cases += checkDecide(t, s)
							}
						}
					}
				}
			}
		}
	}
	if cases != 4*4*6*4*3*4*8*18 {
		t.Errorf("looked at %d cases", cases)
	}
}

func checkDecide(t *testing.T, s Situation) (cases int) {
	for _, onExisting := range []string{"conflict", "adopt", "create"} {
		for _, onCollision := range []string{"rename", "keep", "conflict"} {
			for _, adoptOnly := range []bool{false, true} {
				cases++
				r := DefaultRules()
				r.OnExisting, r.OnCollision, r.AdoptOnly = onExisting, onCollision, adoptOnly
				checkLaws(t, s, r)
			}
		}
	}
	return cases
}

func checkLaws(t *testing.T, s Situation, r Rules) {
	action, reason := Decide(s, r)
	for _, l := range laws() {
		if !l.holds(s, r) {
			continue
		}
		if action != l.action || reason != l.reason(s) {
			t.Errorf("Decide(%+v, existing %s, collision %s, adopt only %v) = %s, %q; want %s, %q",
				s, r.OnExisting, r.OnCollision, r.AdoptOnly, action, reason, l.action, l.reason(s))
		}
		return
	}
}

// TestFirstState verifies that the first state of an item follows from its decision: only a create
// or an adopt is planned, and an unreadable object is a failure.
func TestFirstState(t *testing.T) {
	for _, tc := range []struct {
		action state.Action
		reason Reason
		want   state.ItemState
	}{
		{state.Create, ReasonNew, state.ItemPlanned},
		{state.Adopt, ReasonIdenticalAsset, state.ItemPlanned},
		{state.Unchanged, ReasonUnchanged, state.ItemSkipped},
		{state.Skip, ReasonExcluded, state.ItemSkipped},
		{state.Skip, ReasonUnsupportedType, state.ItemSkipped},
		{state.Skip, ReasonUnreadable, state.ItemFailed},
		{state.Skip, ReasonTableError, state.ItemFailed},
		{state.Skip, ReasonMissingAtSource, state.ItemFailed},
		{state.Conflict, ReasonNameExists, state.ItemConflict},
		{state.Create, ReasonRetriesExhausted, state.ItemRetriesExhausted},
		{state.Replace, ReasonScanRefused, state.ItemRetriesExhausted},
		{state.Create, ReasonUnconfirmed, state.ItemRetriesExhausted},
		{state.UpdateMetadata, ReasonRetriesExhausted, state.ItemRetriesExhausted},
		{state.UpdateMetadata, ReasonMetadataMissing, state.ItemPlanned},
		{state.Skip, ReasonNotAtDestination, state.ItemSkipped},
	} {
		if got := FirstState(tc.action, tc.reason); got != tc.want {
			t.Errorf("firstState(%s, %q) = %s, want %s", tc.action, tc.reason, got, tc.want)
		}
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("", "", "", 0, 0, false, false, "", false, "conflict", "rename", false)
	f.Add("x", "y", "z", 2, 2, true, true, "p", true, "create", "keep", true)
	f.Fuzz(func(t *testing.T, skipped, failed, problem string, memory, existing int, taken, looked bool, exhausted string, metadataPending bool, onExisting, onCollision string, adoptOnly bool) {
		s := Situation{Skipped: Reason(skipped), Failed: Reason(failed), Problem: Reason(problem), Memory: Memory(memory), Existing: Existing(existing),
			Taken: taken, Looked: looked, RetriesExhausted: Reason(exhausted), MetadataPending: metadataPending}
		r := Rules{OnExisting: onExisting, OnCollision: onCollision, AdoptOnly: adoptOnly}
		action, reason := Decide(s, r)
		if reason == "" {
			t.Errorf("Decide(%+v, %+v) = %s without a reason", s, r, action)
		}
		switch action {
		case state.Create, state.Adopt, state.UpdateMetadata, state.Unchanged, state.Skip, state.Conflict:
		default:
			t.Errorf("Decide(%+v, %+v) = %q, which nobody can carry out", s, r, action)
		}
		if a, why := Decide(s, r); a != action || why != reason {
			t.Errorf("Decide(%+v, %+v) is not always the same", s, r)
		}
		if action == state.Create && (s.Skipped != "" || s.Failed != "" || s.Problem != "" || s.Memory == MemorySame) {
			t.Errorf("Decide(%+v, %+v) creates what must not be", s, r)
		}
		if adoptOnly && looked && FirstState(action, reason) == state.ItemPlanned && action == state.Create {
			t.Errorf("Decide(%+v, %+v) sends something", s, r)
		}
	})
}
