package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestCandidatesHoldNothing writes and checkpoints while candidates are looked at, which may
// take hours: the log can be emptied meanwhile, and the list is the one that was begun.
func TestCandidatesHoldNothing(t *testing.T) {
	j := begin(t)
	const n = 2*spoolPage + 7
	var absent, fresh []string
	for i := range n {
		absent, fresh = append(absent, fmt.Sprintf("former/%05d", i)), append(fresh, fmt.Sprintf("new/%05d", i))
	}
	var items []Item
	for _, key := range absent {
		i := staged(key)
		i.Obstacle = "absent"
		items = append(items, i)
	}
	for _, key := range fresh {
		items = append(items, decided(key, Create, ItemPlanned))
	}
	must(t, j.Stage(t.Context(), j.run.Num, Page{Done: true, Items: items}))
	must(t, j.Decided(t.Context(), j.run.Num, items[n:]))

	for name, list := range map[string]func(yield func(string, error) bool){
		"moves": func(yield func(string, error) bool) {
			for c, err := range j.MoveCandidates(t.Context(), j.run.Num, j.pair.ID, "absent") {
				if !yield(string(c.Key), err) {
					return
				}
			}
		},
		"sharers": func(yield func(string, error) bool) {
			for c, err := range j.Sharers(t.Context(), j.run.Num, j.pair.ID) {
				if !yield(string(c.Key), err) {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := fresh
			if name == "moves" {
				want = slices.Concat(absent, fresh)
			}
			var got []string
			for key, err := range list {
				must(t, err)
				got = append(got, key)
				if len(got)%spoolPage != 1 {
					continue
				}
				_, err := j.Pair(t.Context(), name, fmt.Sprint(len(got)), "")
				must(t, err)
				var busy, frames, moved int
				must(t, j.w.QueryRowContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &frames, &moved))
				if busy != 0 {
					t.Fatalf("after %d rows the log could not be emptied", len(got))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %d keys, want %d: %s", len(got), len(want), compact(got))
			}
			for key := range list {
				if key != want[0] {
					t.Errorf("got %q first, want %q", key, want[0])
				}
				break
			}
		})
	}
}

func compact(v any) string {
	text, _ := json.Marshal(v)
	return string(text[:min(len(text), 200)])
}

// TestPagedAhead verifies that all pages are read in order, errors come after the rows before them,
// and no read outlives the loop.
func TestPagedAhead(t *testing.T) {
	failure := errors.New("no more")
	for name, test := range map[string]struct {
		rows, fails, stop int // fails: from this row on; stop: after so many rows
		want              int
		err               error
	}{
		"no rows":         {rows: 0, want: 0},
		"one page":        {rows: PageSize - 1, want: PageSize - 1},
		"exactly a page":  {rows: PageSize, want: PageSize},
		"pages":           {rows: 2*PageSize + 1, want: 2*PageSize + 1},
		"error at first":  {rows: 5, fails: -1, want: 0, err: failure},
		"error later":     {rows: 3 * PageSize, fails: PageSize, want: PageSize, err: failure},
		"stop":            {rows: 3 * PageSize, stop: 5, want: 5},
		"stop at the end": {rows: 2 * PageSize, stop: PageSize, want: PageSize},
	} {
		running := 0
		page := func(after int) (rows []int, err error) {
			running++
			defer func() { running-- }()
			if test.fails != 0 && after >= test.fails {
				return nil, failure
			}
			for n := after + 1; n <= test.rows && len(rows) < PageSize; n++ {
				rows = append(rows, n)
			}
			return rows, nil
		}
		var got []int
		var failed error
		for n, err := range pagedAhead(reader{hook: &hook{}}, 0, func(n int) int { return n }, page) {
			if failed = err; err != nil {
				continue
			}
			if got = append(got, n); len(got) == test.stop {
				break
			}
		}
		if len(got) != test.want || len(got) > 0 && got[len(got)-1] != test.want || failed != test.err || running != 0 {
			t.Errorf("%s: %d rows, %v, %d reads still run", name, len(got), failed, running)
		}
	}
}
