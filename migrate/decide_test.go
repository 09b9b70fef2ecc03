package migrate

import (
	"testing"

	"assetferry/state"
)

// A law is one line of what a person would say about a decision. The first that
// holds decides; none of it is taken from the code.
type law struct {
	holds  func(Situation, Rules) bool
	action state.Action
	reason func(Situation) Reason
}

func because(r Reason) func(Situation) Reason { return func(Situation) Reason { return r } }

func laws() []law {
	return []law{
		{func(s Situation, _ Rules) bool { return s.LeftOut != "" }, state.Skip, func(s Situation) Reason { return s.LeftOut }},
		{func(s Situation, _ Rules) bool { return s.Failed != "" }, state.Skip, func(s Situation) Reason { return s.Failed }},
		{func(s Situation, _ Rules) bool { return isSame(s) && s.Undescribed && s.Parked != "" }, state.Describe, func(s Situation) Reason { return s.Parked }},
		{func(s Situation, _ Rules) bool { return isSame(s) && s.Undescribed }, state.Describe, because(ReasonUndescribed)},
		{func(s Situation, _ Rules) bool { return s.Memory == MemorySame }, state.Unchanged, because(ReasonSame)},
		{func(s Situation, _ Rules) bool { return s.Memory == MemoryChanged || s.Memory == MemoryMaybe }, state.Skip, because(ReasonUseSync)},
		{func(s Situation, _ Rules) bool { return s.Problem == ReasonUnmatched }, state.Skip, because(ReasonUnmatched)},
		{func(s Situation, _ Rules) bool { return s.Problem != "" }, state.Conflict, func(s Situation) Reason { return s.Problem }},
		{func(s Situation, r Rules) bool {
			return s.Existing != ExistingNothing && r.OnExisting == "duplicate" && !r.AdoptOnly && s.Parked != ""
		}, state.Create, func(s Situation) Reason { return s.Parked }},
		{func(s Situation, r Rules) bool {
			return s.Existing != ExistingNothing && r.OnExisting == "duplicate" && !r.AdoptOnly
		}, state.Create, because(ReasonDuplicate)},
		{func(s Situation, r Rules) bool { return s.Existing == ExistingEqual && r.OnExisting == "adopt" }, state.Adopt, because(ReasonTrusted)},
		{func(s Situation, _ Rules) bool { return s.Existing == ExistingEqual }, state.Adopt, because(ReasonEqual)},
		{func(s Situation, _ Rules) bool { return s.Existing == ExistingOther }, state.Conflict, because(ReasonExists)},
		{func(s Situation, r Rules) bool { return s.Looked && r.AdoptOnly }, state.Skip, because(ReasonAbsent)},
		{func(s Situation, r Rules) bool { return s.Taken && r.OnCollision == "rename" }, state.Create, because(ReasonRenamed)},
		{func(s Situation, r Rules) bool { return s.Taken && r.OnCollision == "conflict" }, state.Conflict, because(ReasonCollision)},
		{func(s Situation, _ Rules) bool { return s.Parked != "" && !s.Taken }, state.Create, func(s Situation) Reason { return s.Parked }},
		{func(Situation, Rules) bool { return true }, state.Create, because(ReasonNew)},
	}
}

func isSame(s Situation) bool { return s.Memory == MemorySame || s.Memory == MemorySeeming }

// syncLaws are what a person would say about objects that have arrived before, in a sync.
func syncLaws() []law {
	deleted := func(s Situation, _ Rules) bool { return !s.Gone && s.Standing == StandingDeleted }
	keeps := func(r Rules) bool { return r.Sync.OnDestinationChange != "overwrite" }
	known := func(s Situation) bool { return !s.Gone && s.Standing != StandingDeleted }
	wins := func(s Situation, r Rules) bool { return !keeps(r) && isSame(s) && !s.Gone }
	due := func(s Situation, r Rules) bool { return s.Gone && r.Sync.Delete == "trash" && s.Expired }
	return []law{
		{func(s Situation, _ Rules) bool { return s.LeftOut != "" }, state.Skip, func(s Situation) Reason { return s.LeftOut }},
		{func(s Situation, _ Rules) bool { return s.Failed != "" }, state.Skip, func(s Situation) Reason { return s.Failed }},

		{func(s Situation, r Rules) bool { return s.Gone && r.Sync.Delete == "never" }, state.Skip, because(ReasonOrphaned)},
		{func(s Situation, r Rules) bool { return s.Gone && !s.Expired }, state.Skip, because(ReasonGracePeriod)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Elsewhere }, state.Skip, because(ReasonElsewhere)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Shared }, state.Conflict, because(ReasonShared)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Standing == StandingMoved && keeps(r) }, state.Conflict, because(ReasonMovedThere)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Standing == StandingEdited && keeps(r) }, state.Conflict, because(ReasonEditedThere)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Standing == StandingDeleted }, state.Trash, because(ReasonBothGone)},
		{func(s Situation, r Rules) bool { return due(s, r) && s.Excess }, state.Skip, because(ReasonTooMany)},
		{due, state.Trash, because(ReasonExpired)},

		{func(s Situation, r Rules) bool { return deleted(s, r) && !r.Sync.Repair }, state.Skip, because(ReasonDeleted)},
		{func(s Situation, r Rules) bool { return deleted(s, r) && s.Problem == ReasonUnmatched }, state.Skip, because(ReasonUnmatched)},
		{func(s Situation, r Rules) bool { return deleted(s, r) && s.Problem != "" }, state.Conflict, func(s Situation) Reason { return s.Problem }},
		{deleted, state.Create, because(ReasonRepair)},
		{func(s Situation, r Rules) bool { return wins(s, r) && s.Standing == StandingMoved }, state.Move, because(ReasonBack)},
		{func(s Situation, r Rules) bool { return wins(s, r) && s.Standing == StandingEdited }, state.Replace, because(ReasonRestored)},
		{func(s Situation, r Rules) bool { return known(s) && s.Standing == StandingMoved && keeps(r) }, state.Conflict, because(ReasonMovedThere)},
		{func(s Situation, r Rules) bool { return known(s) && s.Standing == StandingEdited && keeps(r) }, state.Conflict, because(ReasonEditedThere)},
		{func(s Situation, r Rules) bool {
			return isSame(s) && s.Standing == StandingDescribed && r.Sync.OnDestinationChange == "report"
		}, state.Conflict, because(ReasonOtherwise)},
		{func(s Situation, _ Rules) bool {
			return isSame(s) && (s.Undescribed || s.Redescribed) && s.Parked != ""
		}, state.Describe, func(s Situation) Reason { return s.Parked }},
		{func(s Situation, _ Rules) bool { return isSame(s) && s.Undescribed }, state.Describe, because(ReasonUndescribed)},
		{func(s Situation, _ Rules) bool { return isSame(s) && s.Redescribed }, state.Describe, because(ReasonMetadata)},
		{func(s Situation, _ Rules) bool { return s.Memory == MemorySeeming }, state.Unchanged, because(ReasonSeeming)},
		{func(s Situation, _ Rules) bool { return s.Memory == MemorySame }, state.Unchanged, because(ReasonSame)},
		{func(s Situation, _ Rules) bool { return s.Problem != "" }, state.Conflict, func(s Situation) Reason { return s.Problem }},
		{func(s Situation, _ Rules) bool { return s.Parked != "" }, state.Replace, func(s Situation) Reason { return s.Parked }},
		{func(s Situation, _ Rules) bool { return s.Memory == MemoryMaybe }, state.Replace, because(ReasonMaybe)},
		{func(s Situation, _ Rules) bool { return true }, state.Replace, because(ReasonContent)},
	}
}

func TestDecideSyncCrossProduct(t *testing.T) {
	t.Parallel()
	cases := 0
	for _, leftOut := range []Reason{"", ReasonFiltered} {
		for _, failed := range []Reason{"", ReasonUnreadable} {
			for _, problem := range []Reason{"", ReasonUnmatched, ReasonTooLarge} {
				for _, memory := range []Memory{MemorySame, MemoryChanged, MemoryMaybe, MemorySeeming} {
					for _, standing := range []Standing{StandingUnknown, StandingAsLeft, StandingDeleted, StandingMoved, StandingEdited, StandingDescribed} {
						for _, parked := range []Reason{"", ReasonParked} {
							for flags := range 128 {
								s := Situation{LeftOut: leftOut, Failed: failed, Problem: problem, Memory: memory, Standing: standing, Parked: parked,
									Undescribed: flags&1 != 0, Redescribed: flags&2 != 0, Shared: flags&4 != 0,
									Gone: flags&8 != 0, Expired: flags&16 != 0, Excess: flags&32 != 0, Elsewhere: flags&64 != 0}
								cases += checkDecideSync(t, s)
							}
						}
					}
				}
			}
		}
	}
	if cases != 2*2*3*4*6*2*128*12 {
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
	for _, leftOut := range []Reason{"", ReasonJunk, ReasonFiltered, ReasonSymlink} {
		for _, failed := range []Reason{"", ReasonUnreadable, ReasonMissing} {
			for _, problem := range []Reason{"", ReasonUnmatched, ReasonNoCategory, ReasonKey, ReasonTooLarge, ReasonNameLong} {
				for _, memory := range []Memory{MemoryNone, MemorySame, MemoryChanged, MemoryMaybe} {
					for _, existing := range []Existing{ExistingNothing, ExistingEqual, ExistingOther} {
						for _, parked := range []Reason{"", ReasonParked, ReasonUnclear} {
							for flags := range 8 {
								taken, looked, undescribed := flags&1 != 0, flags&2 != 0, flags&4 != 0
								s := Situation{LeftOut: leftOut, Failed: failed, Problem: problem, Memory: memory, Existing: existing,
									Taken: taken, Looked: looked, Parked: parked, Undescribed: undescribed}
								cases += checkDecide(t, s)
							}
						}
					}
				}
			}
		}
	}
	if cases != 4*3*6*4*3*3*8*18 {
		t.Errorf("looked at %d cases", cases)
	}
}

func checkDecide(t *testing.T, s Situation) (cases int) {
	for _, onExisting := range []string{"conflict", "adopt", "duplicate"} {
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

// The first state of an item follows from its decision: only a create or an
// adopt may be carried out, and what could not be read is a failure.
func TestFirstState(t *testing.T) {
	for _, tc := range []struct {
		action state.Action
		reason Reason
		want   state.ItemState
	}{
		{state.Create, ReasonNew, state.ItemPlanned},
		{state.Adopt, ReasonEqual, state.ItemPlanned},
		{state.Unchanged, ReasonSame, state.ItemSkipped},
		{state.Skip, ReasonFiltered, state.ItemSkipped},
		{state.Skip, ReasonUnmatched, state.ItemSkipped},
		{state.Skip, ReasonUnreadable, state.ItemFailed},
		{state.Skip, ReasonMiswritten, state.ItemFailed},
		{state.Skip, ReasonMissing, state.ItemFailed},
		{state.Conflict, ReasonExists, state.ItemConflict},
		{state.Create, ReasonParked, state.ItemParked},
		{state.Create, ReasonUnclear, state.ItemParked},
		{state.Describe, ReasonParked, state.ItemParked},
		{state.Describe, ReasonUndescribed, state.ItemPlanned},
		{state.Skip, ReasonAbsent, state.ItemSkipped},
	} {
		if got := FirstState(tc.action, tc.reason); got != tc.want {
			t.Errorf("firstState(%s, %q) = %s, want %s", tc.action, tc.reason, got, tc.want)
		}
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("", "", "", 0, 0, false, false, "", false, "conflict", "rename", false)
	f.Add("x", "y", "z", 2, 2, true, true, "p", true, "duplicate", "keep", true)
	f.Fuzz(func(t *testing.T, leftOut, failed, problem string, memory, existing int, taken, looked bool, parked string, undescribed bool, onExisting, onCollision string, adoptOnly bool) {
		s := Situation{LeftOut: Reason(leftOut), Failed: Reason(failed), Problem: Reason(problem), Memory: Memory(memory), Existing: Existing(existing),
			Taken: taken, Looked: looked, Parked: Reason(parked), Undescribed: undescribed}
		r := Rules{OnExisting: onExisting, OnCollision: onCollision, AdoptOnly: adoptOnly}
		action, reason := Decide(s, r)
		if reason == "" {
			t.Errorf("Decide(%+v, %+v) = %s without a reason", s, r, action)
		}
		switch action {
		case state.Create, state.Adopt, state.Describe, state.Unchanged, state.Skip, state.Conflict:
		default:
			t.Errorf("Decide(%+v, %+v) = %q, which nobody can carry out", s, r, action)
		}
		if a, why := Decide(s, r); a != action || why != reason {
			t.Errorf("Decide(%+v, %+v) is not always the same", s, r)
		}
		if action == state.Create && (s.LeftOut != "" || s.Failed != "" || s.Problem != "" || s.Memory == MemorySame) {
			t.Errorf("Decide(%+v, %+v) creates what must not be", s, r)
		}
		if adoptOnly && looked && FirstState(action, reason) == state.ItemPlanned && action == state.Create {
			t.Errorf("Decide(%+v, %+v) sends something", s, r)
		}
	})
}
