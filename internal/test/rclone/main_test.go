//go:build rclone

// Package rclone tests assetferry with real versions of rclone.
package rclone

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
