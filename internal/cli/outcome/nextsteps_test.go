package outcome

import (
	"testing"

	"assetferry/internal/flagname"
	"assetferry/migrate"
	"assetferry/state"

	"github.com/google/go-cmp/cmp"
)

func TestNextSteps(t *testing.T) {
	tally := func(s state.ItemState, r migrate.Reason, n int64) state.Tally {
		return state.Tally{State: s, Reason: string(r), Objects: n}
	}
	remedy := func(r migrate.Reason) string { return flagname.InText(r.Remedy()) }
	for _, tc := range []struct {
		name    string
		tallies []state.Tally
		tooLong int64
		want    []string
	}{
		{"all is well", []state.Tally{tally(state.ItemDone, migrate.ReasonNew, 9), tally(state.ItemSkipped, migrate.ReasonJunk, 1)}, 0, nil},
		{"to run again", []state.Tally{
			tally(state.ItemFailed, migrate.ReasonNew, 1), tally(state.ItemWaiting, migrate.ReasonNew, 1000), tally(state.ItemWaiting, migrate.ReasonRenamed, 1),
			tally(state.ItemChanged, migrate.ReasonNew, 2), tally(state.ItemInDoubt, migrate.ReasonNew, 3),
		}, 0, []string{"run it again for what failed (1), waits (1,001), changed (2), is in doubt (3)"}},
		{"conflicts", []state.Tally{tally(state.ItemConflict, migrate.ReasonExists, 1), tally(state.ItemConflict, migrate.ReasonCollision, 2)}, 0, []string{
			"for 1 object: " + remedy(migrate.ReasonExists), "for 2 objects: " + remedy(migrate.ReasonCollision),
		}},
		{"what cannot arrive as it is", []state.Tally{tally(state.ItemFailed, migrate.ReasonTooLarge, 1)}, 0,
			[]string{"for 1 object: " + remedy(migrate.ReasonTooLarge)}},
		{"drifted", []state.Tally{tally(state.ItemChanged, migrate.ReasonDrifted, 2)}, 0,
			[]string{"for 2 objects: " + remedy(migrate.ReasonDrifted)}},
		{"parked", []state.Tally{tally(state.ItemParked, migrate.ReasonNew, 1), tally(state.ItemParked, migrate.ReasonParked, 1), tally(state.ItemParked, migrate.ReasonUnclear, 1)}, 0, []string{
			"for 1 object: " + remedy(migrate.ReasonUnclear), "for 2 objects: " + remedy(migrate.ReasonParked),
		}},
		{"texts that are too long", []state.Tally{tally(state.ItemFailed, migrate.ReasonNew, 3)}, 2, []string{
			"for 2 objects: " + flagname.InText(migrate.TooLongRemedy()), "run it again for what failed (1)",
		}},
	} {
		if d := cmp.Diff(tc.want, nextSteps(tc.tallies, tc.tooLong)); d != "" {
			t.Errorf("%s: want -, got +:\n%s", tc.name, d)
		}
	}
}
