package verify

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"
)

var errOfRest, errOfLoop = errors.New("the rest failed"), errors.New("the disk is full")

// TestEndGroup verifies the error of a group whose starting loop fails by itself, or because the
// group has failed.
func TestEndGroup(t *testing.T) {
	for _, tc := range []struct {
		name      string
		first     bool // the group fails before the loop
		fails     bool
		of        error // the error of the loop
		want, not error
	}{
		{"only the loop", false, false, errOfLoop, errOfLoop, errOfRest},
		{"the loop, then the group", false, true, errOfLoop, errOfLoop, nil},
		{"the group, and that ends the loop", true, true, context.Canceled, errOfRest, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, ctx := errgroup.WithContext(t.Context())
			begin := make(chan struct{})
			g.Go(func() error {
				<-begin
				if tc.fails {
					return errOfRest
				}
				return nil
			})
			if tc.first {
				close(begin)
				<-ctx.Done()
			} else {
				g.Go(func() error { close(begin); return nil })
			}
			if err := endGroup(g, tc.of); !errors.Is(err, tc.want) || tc.not != nil && errors.Is(err, tc.not) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
