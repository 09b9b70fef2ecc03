package remote

import (
	"context"
	"errors"
	"testing"
	"time"

	"assetferry/internal/retry"
)

func TestPatiently(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 1},
		{&Failure{Err: errors.New("busy"), Kind: retry.Throttled, Wait: LongestWait + time.Second}, 1},
		{&Failure{Err: errors.New("busy"), Kind: retry.Throttled}, 2},
		{&Failure{Err: errors.New("gone"), Kind: retry.Permanent}, 1},
	} {
		tries := 0
		err := Patiently(t.Context(), retry.Policy{Attempts: 2}, func(context.Context) error {
			tries++
			return c.err
		})
		if err != c.err || tries != c.want {
			t.Errorf("%v: %d tries and %v", c.err, tries, err)
		}
	}
}
