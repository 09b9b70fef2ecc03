package outcome

import (
	"testing"
	"time"

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
		name     string
		tallies  []state.Tally
		hopeless map[string]int64
		want     []string
	}{
		{"all is well", []state.Tally{tally(state.ItemDone, migrate.ReasonNew, 9), tally(state.ItemSkipped, migrate.ReasonSystemFile, 1)}, nil, nil},
		{"to run again", []state.Tally{
			tally(state.ItemFailed, migrate.ReasonNew, 1), tally(state.ItemRetryScheduled, migrate.ReasonNew, 1000), tally(state.ItemRetryScheduled, migrate.ReasonRenamed, 1),
			tally(state.ItemChanged, migrate.ReasonNew, 2), tally(state.ItemUnconfirmed, migrate.ReasonNew, 3),
		}, nil, []string{"run the same command again: 1 failed, 1,001 scheduled for retry, 2 changed meanwhile, 3 unconfirmed"}},
		{"conflicts", []state.Tally{tally(state.ItemConflict, migrate.ReasonNameExists, 1), tally(state.ItemConflict, migrate.ReasonNameCollision, 2)}, nil, []string{
			"for 1 object: " + remedy(migrate.ReasonNameExists), "for 2 objects: " + remedy(migrate.ReasonNameCollision),
		}},
		{"what cannot arrive as it is", []state.Tally{tally(state.ItemFailed, migrate.ReasonTooLarge, 1)}, nil,
			[]string{"for 1 object: " + remedy(migrate.ReasonTooLarge)}},
		{"drifted", []state.Tally{tally(state.ItemChanged, migrate.ReasonChangedSinceApproval, 2)}, nil,
			[]string{"for 2 objects: " + remedy(migrate.ReasonChangedSinceApproval)}},
		{"parked", []state.Tally{tally(state.ItemRetriesExhausted, migrate.ReasonNew, 1), tally(state.ItemRetriesExhausted, migrate.ReasonRetriesExhausted, 1), tally(state.ItemRetriesExhausted, migrate.ReasonUnconfirmed, 1)}, nil, []string{
			"for 1 object: " + remedy(migrate.ReasonUnconfirmed), "for 2 objects: " + remedy(migrate.ReasonRetriesExhausted),
		}},
		{"texts that are too long", []state.Tally{tally(state.ItemFailed, migrate.ReasonNew, 3)}, map[string]int64{flagname.InText(migrate.TooLongRemedy()): 2}, []string{
			"for 2 objects: " + flagname.InText(migrate.TooLongRemedy()), "run the same command again: 1 failed",
		}},
		{"refused by a scan, also in an earlier run", []state.Tally{tally(state.ItemFailed, migrate.ReasonNew, 3), tally(state.ItemRetriesExhausted, migrate.ReasonScanRefused, 4)},
			map[string]int64{remedy(migrate.ReasonScanRefused): 3}, []string{"for 7 objects: " + remedy(migrate.ReasonScanRefused)}},
	} {
		got := remedies(tc.tallies, tc.hopeless)
		if again := retries(tc.tallies, tc.hopeless); again != "" {
			got = append(got, "run the same command again: "+again)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: want -, got +:\n%s", tc.name, d)
		}
	}
}

// The test verifies that no step is given if the remedy says that nothing can be done.
func TestNothingToDo(t *testing.T) {
	for reason, some := range map[migrate.Reason]bool{
		migrate.ReasonSidecar: false, migrate.ReasonFolderMarker: false, migrate.ReasonAssetMissing: false, migrate.ReasonGracePeriod: true,
	} {
		item := state.Item{State: state.ItemSkipped, Reason: string(reason)}
		if step := ForItem(nil, state.Run{}, nil, item, time.Time{}); (step != NextStep{}) != some {
			t.Errorf("%s: %+v", reason, step)
		}
	}
}
