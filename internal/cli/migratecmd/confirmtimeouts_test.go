package migratecmd

import (
	"path/filepath"
	"testing"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/config"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/state"
)

// What a profile says of how late assets are listed is reckoned with, unless a flag says how
// long to wait.
func TestSettleTimes(t *testing.T) {
	for _, tt := range []struct{ given, delay, settle, answer time.Duration }{
		{0, 0, apply.DefaultConfirmTimeout, migrate.DefaultResponseTimeout},
		{0, 15 * time.Second, apply.DefaultConfirmTimeout + 30*time.Second, migrate.DefaultResponseTimeout + 30*time.Second},
		{time.Second, 15 * time.Second, time.Second, time.Second},
	} {
		if settle, answer := settleTimes(tt.given, tt.delay); settle != tt.settle || answer != tt.answer {
			t.Errorf("%v with a delay of %v: %v and %v, want %v and %v", tt.given, tt.delay, settle, answer, tt.settle, tt.answer)
		}
	}
}

// A run and a plan reckon with the profile of their destination.
func TestSettleTimesOfAProfile(t *testing.T) {
	store, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	f := &command.Factory{Settings: &config.Settings{}, Out: &ui.Out{}}
	d := &command.Destination{Profile: profile.Profile{ListingDelay: 15 * time.Second}}
	s := &endpoints{dest: d, store: store}
	applier := newApplier(f, s, MigrateOptions{}, f.Watch())
	if want := apply.DefaultConfirmTimeout + 30*time.Second; applier.ConfirmTimeout != want {
		t.Errorf("it waits %v, want %v", applier.ConfirmTimeout, want)
	}
	if planner := newPlanner(f, s, 0, false); planner.ResponseTimeout != applier.ResponseTimeout {
		t.Errorf("a plan waits %v for other sources, a run %v", planner.ResponseTimeout, applier.ResponseTimeout)
	}
}
