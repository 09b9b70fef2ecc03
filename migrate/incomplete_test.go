package migrate

import (
	"context"
	"encoding/json"
	"testing"

	"assetferry/state"
)

// A past is a history of runs, the newest first. It records the arguments of CountIncomplete.
type past struct {
	runs          []state.Run
	from, retried int64
}

func (p *past) RunsOf(context.Context, int64, int) ([]state.Run, error) { return p.runs, nil }

func (p *past) CountIncomplete(_ context.Context, _, from, retried int64) (int64, error) {
	p.from, p.retried = from, retried
	return 7, nil
}

// TestCountIncomplete verifies that incomplete objects are counted from the last run that listed
// the whole source.
func TestCountIncomplete(t *testing.T) {
	run := func(num int64, command string, r Rules) state.Run {
		rules, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return state.Run{Num: num, Command: command, State: state.Finished, Rules: rules, Scanned: true}
	}
	all, some := Rules{Exclude: []string{"*.tmp"}}, Rules{Include: []string{"*.jpg"}}
	waits := run(9, "migrate", all)
	waits.State = state.Planned
	undo := run(8, "undo", all)
	undo.Undoes, undo.State = 3, state.Superseded
	undone := run(8, "undo", all)
	undone.Undoes = 4
	broken := run(9, "migrate", all)
	broken.Scanned = false
	failed, someFailed := Rules{Sync: &SyncRules{Failed: &KeyList{}}}, Rules{Include: []string{"*.jpg"}, Sync: &SyncRules{Failed: &KeyList{}}}
	begun := run(9, "sync", failed)
	begun.State = state.Applying
	for name, tc := range map[string]struct {
		runs    []state.Run
		want    int64
		retried int64 // 0: the same as want
	}{
		"none":                 {nil, 0, 0},
		"all of it":            {[]state.Run{run(5, "migrate", all), run(4, "migrate", all)}, 5, 0},
		"a part since":         {[]state.Run{run(5, "migrate", some), run(4, "migrate", all), run(3, "migrate", all)}, 4, 0},
		"parts only":           {[]state.Run{run(5, "migrate", Rules{Limit: 1}), run(4, "adopt", Rules{AdoptOnly: true})}, 4, 0},
		"plans":                {[]state.Run{run(5, "plan", all), run(4, "migrate", some), run(3, "apply", all)}, 3, 0},
		"undos":                {[]state.Run{undo, run(4, "migrate", Rules{FilesFrom: &KeyList{}}), run(3, "migrate", all)}, 3, 0},
		"not begun":            {[]state.Run{waits, run(5, "migrate", some), run(4, "migrate", all)}, 4, 0},
		"an undone run":        {[]state.Run{undone, run(5, "migrate", some), run(4, "migrate", all), run(3, "migrate", all)}, 3, 0},
		"not listed to an end": {[]state.Run{broken, run(4, "migrate", all)}, 4, 0},
		"what failed":          {[]state.Run{run(6, "migrate", some), run(5, "sync", failed), run(4, "sync", failed), run(3, "migrate", all)}, 3, 5},
		"of what failed":       {[]state.Run{begun, run(6, "sync", someFailed), run(5, "sync", failed), run(3, "migrate", all)}, 3, 5},
	} {
		p := &past{runs: tc.runs}
		if n, err := CountIncomplete(t.Context(), p, state.Pair{ID: 1}); err != nil || n != 7 || p.from != tc.want || p.retried != max(tc.want, tc.retried) {
			t.Errorf("%s: %d from runs %d and %d (%v), want from %d and %d", name, n, p.from, p.retried, err, tc.want, max(tc.want, tc.retried))
		}
	}
}
