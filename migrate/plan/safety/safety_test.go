package safety

import "testing"

func TestTooManyDeletes(t *testing.T) {
	for _, tc := range []struct {
		due, known int64
		change     func(*SafetyChecks)
		want       string
	}{
		{5, 10, nil, ""}, // few, and the same number is left
		{5, 9, nil, "5 assets would be trashed because their objects were deleted at the source, of 9 known objects: the limits are 500 and 1 %; none was trashed"},
		{6, 600, nil, ""},
		{6, 599, nil, "6 assets would be trashed because their objects were deleted at the source, of 599 known objects: the limits are 500 and 1 %; none was trashed"},
		{501, 1_000_000, nil, "501 assets would be trashed because their objects were deleted at the source, of 1,000,000 known objects: the limits are 500 and 1 %; none was trashed"},
		{501, 501, func(g *SafetyChecks) { g.AcceptDeletes = 501 }, ""},
		{1, 10, func(g *SafetyChecks) { g.MaxDeletePercent = 0 }, "1 asset would be trashed because their objects were deleted at the source, of 10 known objects: the limits are 500 and 0 %; none was trashed"},
	} {
		g := DefaultChecks()
		if tc.change != nil {
			tc.change(&g)
		}
		if got := g.TooManyDeletes(tc.due, tc.known); got != tc.want {
			t.Errorf("%d of %d: %q, want %q", tc.due, tc.known, got, tc.want)
		}
	}
}

func TestCheckChanges(t *testing.T) {
	for _, tc := range []struct {
		changes, known int64
		change         func(*SafetyChecks)
		fails          bool
	}{
		{20, 20, nil, false}, // few
		{21, 104, nil, true},
		{21, 105, nil, false},
		{1001, 1_000_000, nil, true},
		{1001, 1001, func(g *SafetyChecks) { g.AcceptChanges = 1001 }, false},
		{1, 100, func(g *SafetyChecks) { g.MaxChanges = 0 }, true},
	} {
		g := DefaultChecks()
		if tc.change != nil {
			tc.change(&g)
		}
		if err := g.CheckChanges(tc.changes, tc.known); (err != nil) != tc.fails {
			t.Errorf("%d of %d: %v", tc.changes, tc.known, err)
		}
	}
}
