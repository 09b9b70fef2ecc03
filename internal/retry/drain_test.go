package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
)

func TestDraining(t *testing.T) {
	tests := []struct {
		name    string
		policy  retry.Policy
		err     error
		drained bool // ErrDraining, otherwise the last error
	}{
		{"does not wait", retry.Policy{Rand: longest}, classed{retry.Throttled, time.Minute}, true},
		{"does not try again without a wait", retry.Policy{Rand: func(time.Duration) time.Duration { return 0 }}, classed{class: retry.Transient}, true},
		{"has nothing to do with what is permanent", retry.Policy{}, classed{class: retry.Permanent}, false},
		{"does not depend on the last attempt", retry.Policy{Attempts: 1}, classed{class: retry.Transient}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				close(stop)
				start, tries := time.Now(), 0
				err := tt.policy.Do(retry.WithDrain(t.Context(), stop),
					func(retry.Wait) { t.Error("told of a wait") },
					func(context.Context) error { tries++; return tt.err })
				if tries != 1 || time.Since(start) != 0 {
					t.Errorf("%d tries took %v, want one at once", tries, time.Since(start))
				}
				last, _ := errors.AsType[classed](err)
				if errors.Is(err, retry.ErrDraining) != tt.drained || last != tt.err {
					t.Errorf("got %v, want the last error, and ErrDraining: %v", err, tt.drained)
				}
				if class, asked := retry.Classify(err); class != last.class || asked != last.after {
					t.Errorf("it is %v, %v, want what the last error is", class, asked)
				}
			})
		})
	}
}

func TestDrainingEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		start, last := time.Now(), classed{retry.Throttled, time.Minute}
		err := retry.Policy{}.Do(retry.WithDrain(t.Context(), stop), nil, func(context.Context) error { return last })
		if !errors.Is(err, retry.ErrDraining) || !errors.Is(err, last) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want ErrDraining and %v after 1s", err, time.Since(start), last)
		}
	})
}

func TestDrainingCanBeSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		close(stop)
		ctx := retry.WithDrain(retry.WithDrain(t.Context(), stop), nil)
		tries := 0
		err := retry.Policy{}.Do(ctx, nil, func(context.Context) error {
			if tries++; tries < 3 {
				return classed{class: retry.Transient}
			}
			return nil
		})
		if err != nil || tries != 3 {
			t.Errorf("got %v after %d tries, want none after 3", err, tries)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		close(stop)
		draining := retry.WithDrain(t.Context(), stop)
		cause := errors.New("second signal")
		aborted, abort := context.WithCancelCause(draining)
		abort(cause)
		tests := []struct {
			name string
			ctx  context.Context
			d    time.Duration
			want error
			took time.Duration
		}{
			{"a wait", t.Context(), time.Second, nil, time.Second},
			{"a wait while draining", draining, time.Second, retry.ErrDraining, 0},
			{"no wait while draining", draining, 0, nil, 0},
			{"no wait, aborted", aborted, -time.Second, cause, 0},
		}
		for _, tt := range tests {
			start := time.Now()
			if err := retry.Sleep(tt.ctx, tt.d); err != tt.want || time.Since(start) != tt.took {
				t.Errorf("%s: got %v after %v, want %v after %v", tt.name, err, time.Since(start), tt.want, tt.took)
			}
		}
	})
}
