package rclone

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources/remote"
)

// TestThrottled verifies that listings and reads wait longer than a storage commonly refuses requests,
// but not forever.
func TestThrottled(t *testing.T) {
	for name, test := range map[string]struct {
		refused time.Duration
		ok      bool
	}{"two minutes": {2 * time.Minute, true}, "an hour": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(wholeFeatures, "a/b", "c")
				s := f.source(t, Options{})
				all, err := list(t.Context(), s, "")
				if err != nil || len(all) != 2 {
					t.Fatalf("listed %v, %v", all, err)
				}
				f.refusesFor(test.refused)
				if _, err := list(t.Context(), s, ""); !isAsExpected(err, test.ok) {
					t.Errorf("listing: %v", err)
				}
				f.refusesFor(test.refused)
				if _, err := read(t, s, all[1], 0); !isAsExpected(err, test.ok) {
					t.Errorf("read: %v", err)
				}
			})
		})
	}
}

// refusesFor throttles all requests for some time.
func (f *fake) refusesFor(d time.Duration) {
	until := time.Now().Add(d)
	f.refuses = func(string, string) error {
		if time.Now().Before(until) {
			return &remote.Failure{Err: errors.New("too many requests"), Kind: retry.Throttled}
		}
		return nil
	}
}

func isAsExpected(err error, ok bool) bool {
	class, _ := retry.Classify(err)
	return ok && err == nil || !ok && err != nil && class == retry.Throttled
}
