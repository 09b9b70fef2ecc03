//go:build rclone

// Package ratelimit tests migrations from storages that limit requests, with real versions of rclone:
// that in PATH, and those in the list ASSETFERRY_TEST_RCLONE.
//
// Usually, the limit and the waits are scaled down. ASSETFERRY_TEST_RETRY_AFTER=120 sets 10 requests
// a second, and refuses all requests for 120 seconds twice.
package ratelimit

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // all migrations at once, also on two processors: they mostly wait
	goleak.VerifyTestMain(m)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
