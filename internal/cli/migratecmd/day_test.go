package migratecmd

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"assetferry/internal/approval"
	"assetferry/internal/cli/command"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/mapping"
	"assetferry/internal/strictyaml"
	"assetferry/migrate"
	"assetferry/state"
)

// expiryRules are mapping rules that depend on the day.
func expiryRules(t *testing.T) *mapping.Rules {
	t.Helper()
	f, err := strictyaml.Parse("assetferry.yaml", []byte("mapping:\n  rules:\n    - when: expires < today\n      add_tags: expired\n"))
	must(t, err)
	entries, err := f.Entries(f.Root)
	must(t, err)
	rules, err := mapping.Parse(f, entries[0].Value)
	must(t, err)
	return rules
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDayOfPlan verifies that apply, and a migration that is resumed, use the day of the plan for all
// decisions: a plan of a Friday is the same on Monday. All other runs use the present day.
func TestDayOfPlan(t *testing.T) {
	const friday = "2026-03-06"
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	must(t, err)
	defer store.Close()
	pair, err := store.Pair(t.Context(), "photos", "env/ws", "https://dam.example.com")
	must(t, err)
	rules, err := json.Marshal(migrate.Rules{Day: friday})
	must(t, err)
	run, err := store.Begin(t.Context(), pair, "migrate", rules)
	must(t, err)
	today := clock.Now().Format(time.DateOnly)
	approved := &approvedPlan{File: &approval.File{Head: migrate.PlanHead{Rules: migrate.Rules{Day: friday}}}}
	check := func(what string, approved *approvedPlan, sync bool, want string) {
		t.Helper()
		f := command.New(command.Environment{}, false)
		f.Settings = &config.Settings{Mapping: expiryRules(t)}
		s := endpoints{store: store, pair: pair, approved: approved}
		must(t, s.setDay(t.Context(), f, sync))
		if got := f.Settings.Today.Format(time.DateOnly); got != want {
			t.Errorf("%s: today is %s, want %s", what, got, want)
		}
	}
	check("apply", approved, false, friday)
	check("apply of a sync", approved, true, friday)
	check("a migration that was only planned", nil, false, today)
	for _, s := range []struct{ from, to state.RunState }{{state.Scanning, state.Planning}, {state.Planning, state.Planned}, {state.Planned, state.Applying}} {
		must(t, store.SetRunState(t.Context(), run.Num, s.from, s.to))
	}
	check("a migration that is resumed", nil, false, friday)
	check("a sync", nil, true, today)
}
