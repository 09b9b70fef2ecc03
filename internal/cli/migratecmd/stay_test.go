package migratecmd

import (
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/watchloop"
)

func TestVerdicts(t *testing.T) {
	for code, want := range map[int]watchloop.Next{
		exit.CodeDone: watchloop.AfterChange, exit.CodeItems: watchloop.AfterChange, exit.CodeError: watchloop.AfterRescan, exit.CodeSafetyCheck: watchloop.AfterRescan, exit.CodeLimit: watchloop.AfterRescan,
		exit.CodeInUse: watchloop.AfterRescan, exit.CodeUsage: watchloop.Stop, exit.CodeAuth: watchloop.Stop, exit.CodeInterrupted: watchloop.Stop,
	} {
		if got := verdictOf(code); got != want {
			t.Errorf("after exit code %d: %v, want %v", code, got, want)
		}
	}
}
