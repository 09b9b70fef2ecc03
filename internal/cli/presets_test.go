package cli

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/state"
)

// The test verifies that a run stores the values of its preset, and of the flags that override it,
// as if each had been given.
func TestRunsStoreEffectiveRules(t *testing.T) {
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	if err := os.Mkdir(src, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one.jpg", "two.unknown"} {
		path := filepath.Join(src, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "assetferry.db")
	rulesOf := func(args ...string) migrate.Rules {
		t.Helper()
		args = append(append([]string{"sync", src, "--state", file}, args...), "--accept-rules")
		assetferry(t, dir, s.variables(), args...).must(t, exit.CodeDone)
		store, err := state.OpenReadOnly(context.Background(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		pairs, err := store.Pairs(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		runs, err := store.RunsOf(context.Background(), pairs[0].ID, 1)
		if err != nil || len(runs) != 1 {
			t.Fatalf("%v, %v", runs, err)
		}
		rules, err := migrate.ReadRules(runs[0])
		if err != nil {
			t.Fatal(err)
		}
		return rules
	}
	if r := rulesOf("--preset", "scheduled"); r.Unsupported != "skip" || r.MinAge != 5*time.Minute {
		t.Errorf("scheduled: %+v", r)
	}
	if r := rulesOf("--preset", "scheduled", "--min-age", "2m"); r.Unsupported != "skip" || r.MinAge != 2*time.Minute {
		t.Errorf("scheduled with a flag: %+v", r)
	}
	if r := rulesOf("--preset", "careful", "--unsupported", "skip"); r.Sync.GracePeriod != 7*24*time.Hour || r.MinAge != 0 {
		t.Errorf("careful: %+v", r.Sync)
	}
}
