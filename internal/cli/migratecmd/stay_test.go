package migratecmd

import (
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/turns"
)

func TestVerdicts(t *testing.T) {
	for code, want := range map[int]turns.Verdict{
		exit.CodeDone: turns.Goes, exit.CodeItems: turns.Goes, exit.CodeError: turns.Pauses, exit.CodeGuard: turns.Pauses, exit.CodeBudget: turns.Pauses,
		exit.CodeInUse: turns.Pauses, exit.CodeUsage: turns.Ends, exit.CodeAuth: turns.Ends, exit.CodeInterrupted: turns.Ends,
	} {
		if got := verdictOf(code); got != want {
			t.Errorf("after exit code %d: %v, want %v", code, got, want)
		}
	}
}
