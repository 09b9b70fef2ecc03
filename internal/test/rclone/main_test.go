//go:build rclone

// Package rclone tests assetferry with real versions of rclone: that in PATH, and those in the list
// ASSETFERRY_TEST_RCLONE.
//
//	ASSETFERRY_TEST_RCLONE=/opt/rclone/rclone go test -tags rclone ./internal/test/rclone
package rclone

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"assetferry/internal/rclone"
)

// userVariable makes the test program one that starts the rclone of this path, prints its process ID
// and waits for the end of stdin.
const userVariable = "ASSETFERRY_TEST_RCLONE_USER"

func TestMain(m *testing.M) {
	if path := os.Getenv(userVariable); path != "" {
		os.Exit(use(path))
	}
	goleak.VerifyTestMain(m)
}

func use(path string) int {
	ctx := context.Background()
	p, err := rclone.Find(ctx, path, os.Environ())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := rclone.Start(ctx, p, rclone.Options{Environ: os.Environ()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	pid, err := s.PID(ctx)
	fmt.Println(pid, err)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	_ = s.Close()
	return 0
}
