package exit

import (
	"errors"
	"fmt"
	"testing"

	"assetferry/internal/config"
	"assetferry/internal/sandbox/datadir"
	"assetferry/migrate"
	"assetferry/state"
	"assetferry/state/ownership"
)

func TestWorse(t *testing.T) {
	order := []int{CodeInterrupted, CodeAuth, CodeError, CodeSafetyCheck, CodeItems, CodeDone}
	for i, a := range order {
		for _, b := range order[i:] {
			if Worse(a, b) != a || Worse(b, a) != a {
				t.Errorf("worse of %d and %d is %d and %d", a, b, Worse(a, b), Worse(b, a))
			}
		}
	}
	if got := Worse(CodeDone, CodeDifference); got != CodeDifference {
		t.Errorf("worse(0, 4) = %d", got)
	}
}

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{
		{errors.New("any"), CodeError},
		{fmt.Errorf("x: %w", &config.UsageError{Msg: "m"}), CodeUsage},
		{fmt.Errorf("x: %w", ownership.ErrInUse), CodeInUse},
		{fmt.Errorf("x: %w", datadir.ErrInUse), CodeInUse},
		{fmt.Errorf("x: %w", ownership.ErrNotOwner), CodeInUse},
		{fmt.Errorf("x: %w", state.ErrNotFound), CodeNoSuch},
		{fmt.Errorf("x: %w", state.ErrForeign), CodeError},
		{fmt.Errorf("x: %w", state.ErrNewer), CodeError},
		{errors.Join(errors.New("x"), migrate.ErrStopped), CodeInterrupted},
		{&Error{Code: CodeSafetyCheck, err: errors.New("x")}, CodeSafetyCheck},
	} {
		f := FailureOf(test.err)
		if f.Code != test.code || f.Class == "" {
			t.Errorf("failureOf(%v) = %+v, want code %d", test.err, f, test.code)
		}
	}
	for _, err := range []error{state.ErrForeign, state.ErrNewer, ownership.ErrNotOwner, ownership.ErrInUse, state.ErrNotFound, datadir.ErrInUse, migrate.ErrStopped} {
		if FailureOf(err).Hint == "" {
			t.Errorf("no way out of %v", err)
		}
	}
}
