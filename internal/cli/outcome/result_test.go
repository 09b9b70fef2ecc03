package outcome

import (
	"testing"
	"time"

	"assetferry/migrate"
	"assetferry/state"
)

func TestResult(t *testing.T) {
	tally := func(a state.Action, s state.ItemState, r migrate.Reason, objects int64) state.Tally {
		return state.Tally{Action: a, State: s, Reason: string(r), Objects: objects, Bytes: objects}
	}
	unchanged := tally(state.Unchanged, state.ItemSkipped, migrate.ReasonUnchanged, 3)
	for _, tc := range []struct {
		want    string
		tallies []state.Tally
	}{
		{"Nothing to do: no objects (1.0s).", nil},
		{"All 4 objects are accounted for: 1 uploaded, 3 unchanged (1 B in 1.0s).",
			[]state.Tally{tally(state.Create, state.ItemDone, migrate.ReasonNew, 1), unchanged}},
		{"All 5 objects are accounted for: 3 unchanged, 1 deleted at the source, 1 skipped (1.0s).",
			[]state.Tally{tally(state.Skip, state.ItemSkipped, migrate.ReasonGracePeriod, 1), unchanged, tally(state.Skip, state.ItemSkipped, migrate.ReasonUnsupportedType, 1)}},
		{"1 of 4 objects needs attention: 1 failed, 3 unchanged (1.0s).",
			[]state.Tally{tally(state.Create, state.ItemFailed, migrate.ReasonNew, 1), unchanged}},
	} {
		if got := Result(state.Run{State: state.Finished}, tc.tallies, time.Second); got != tc.want {
			t.Errorf("got\n%s\nwant\n%s", got, tc.want)
		}
	}
}
