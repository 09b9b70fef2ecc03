//go:build unix

package processtest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// WaitForEnd waits for the end of a process. Its new parent may not have collected it yet. After 20
// seconds it kills the process, and the test fails.
func WaitForEnd(tb testing.TB, pid int) {
	tb.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			_ = syscall.Kill(pid, syscall.SIGKILL)
			tb.Fatalf("the process did not end: %s", stat)
		}
	}
}
