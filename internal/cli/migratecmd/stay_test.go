package migratecmd

import (
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/watchloop"
)

func TestVerdicts(t *testing.T) {
	for code, want := range map[int]watchloop.Verdict{
		exit.CodeDone: watchloop.Goes, exit.CodeItems: watchloop.Goes, exit.CodeError: watchloop.Pauses, exit.CodeSafetyCheck: watchloop.Pauses, exit.CodeLimit: watchloop.Pauses,
		exit.CodeInUse: watchloop.Pauses, exit.CodeUsage: watchloop.Ends, exit.CodeAuth: watchloop.Ends, exit.CodeInterrupted: watchloop.Ends,
	} {
		if got := verdictOf(code); got != want {
			t.Errorf("after exit code %d: %v, want %v", code, got, want)
		}
	}
}
