package state

import (
	"encoding/json"
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
