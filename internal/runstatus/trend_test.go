package runstatus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/state"
)

// TestTrends verifies that trends compare the last syncs. Rows of zeros are omitted, except for
// created and failed.
func TestTrends(t *testing.T) {
	began := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	syncOf := func(took time.Duration) state.Run {
		return state.Run{StartedAt: began, FinishedAt: began.Add(took)}
	}
	done := func(a state.Action, n int64) state.Tally {
		return state.Tally{Action: a, State: state.ItemDone, Objects: n}
	}
	runs := []state.Run{syncOf(time.Minute), syncOf(2 * time.Minute), syncOf(time.Minute)}
	var rows [][]string
	for _, trend := range trendsOf(runs, [][]state.Tally{
		{done(state.Create, 900)}, {done(state.Create, 1), done(state.Move, 4)},
		{done(state.Move, 3), {Action: state.Create, State: state.ItemFailed, Objects: 2}},
	}) {
		rows = append(rows, trend.row())
	}
	if diff := cmp.Diff([][]string{
		{"duration", "▅█▅", "1m00s", "↓ 1m00s"}, {"created", "█▂▁", "0", "↓ 1"}, {"moved", "▁█▆", "3", "↓ 1"}, {"failed", "▁▁█", "2", "↑ 2"},
	}, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
