package apply

import (
	"errors"
	"testing"

	"assetferry/migrate"
)

// TestStopKeepsTheFatalError verifies that a fatal error is returned even if the run stopped for
// another reason first.
func TestStopKeepsTheFatalError(t *testing.T) {
	fatal, other := migrate.NewStateError(errors.New("the disk is full")), errors.New("the service is down")
	for _, tc := range []struct {
		name         string
		first, later error
		want, not    error
	}{
		{"a fatal one later", migrate.ErrStopped, fatal, fatal, nil},
		{"the first is kept beside it", migrate.ErrStopped, fatal, migrate.ErrStopped, nil},
		{"another one later", fatal, other, fatal, other},
		{"none is fatal", migrate.ErrStopped, other, migrate.ErrStopped, other},
		{"a second fatal one", fatal, migrate.NewStateError(other), fatal, other},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &dispatcher{}
			d.stop(tc.first)
			d.stop(tc.later)
			if !errors.Is(d.why, tc.want) || tc.not != nil && errors.Is(d.why, tc.not) {
				t.Errorf("got %v, want %v", d.why, tc.want)
			}
		})
	}
}
