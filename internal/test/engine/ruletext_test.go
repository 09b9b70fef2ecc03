package engine

import (
	"strings"
	"testing"
	"time"

	"assetferry/migrate"
	"assetferry/sources"
)

// TestRuleLines verifies that the readable rules list what is set, and that the hash covers
// everything except which objects failed.
func TestRuleLines(t *testing.T) {
	r := migrate.DefaultRules()
	r.Exclude, r.MinAge, r.Sync = []string{"*.tmp", "a,b"}, time.Hour, migrate.DefaultSyncRules()
	r.Sync.Delete = "trash"
	want := `exclude: ["*.tmp","a,b"]
min_age: 1h0m0s
symlinks: skip
category_by: extension
unsupported: stop
on_collision: rename
on_existing: conflict
delete: trash
grace_period: 20h0m0s
on_replace_refused: fail
on_destination_change: keep`
	if got := strings.Join(r.Lines(), "\n"); got != want {
		t.Errorf("got:\n%s", got)
	}
	hash := func(r migrate.Rules) string {
		h, err := r.Stable().Hash()
		must(t, err)
		return h
	}
	before := hash(r)
	r.Sync.Failed = migrate.NewKeyList([]sources.Key{"a"})
	if hash(r) != before || r.Sync.Failed == nil {
		t.Error("what failed before counts as a rule")
	}
	r.Sync.Repair = true
	if hash(r) == before {
		t.Error("other rules have the same hash")
	}
}
