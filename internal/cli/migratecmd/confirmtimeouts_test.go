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

// The test verifies that the timeouts include the listing delay of a profile, unless a flag sets
// them.
func TestConfirmTimeouts(t *testing.T) {
	for _, tt := range []struct{ given, delay, confirm, response time.Duration }{
		{0, 0, apply.DefaultConfirmTimeout, migrate.DefaultResponseTimeout},
		{0, 15 * time.Second, apply.DefaultConfirmTimeout + 30*time.Second, migrate.DefaultResponseTimeout + 30*time.Second},
		{time.Second, 15 * time.Second, time.Second, time.Second},
	} {
		if confirm, response := confirmTimeouts(tt.given, tt.delay); confirm != tt.confirm || response != tt.response {
			t.Errorf("%v with a delay of %v: %v and %v, want %v and %v", tt.given, tt.delay, confirm, response, tt.confirm, tt.response)
		}
	}
}

// The test verifies that a run and a plan use the profile of their destination.
func TestConfirmTimeoutsOfAProfile(t *testing.T) {
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
