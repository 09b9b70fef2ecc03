package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
)

type classed struct {
	class retry.Class
	after time.Duration
}

func (c classed) Error() string        { return string(c.class) + " error" }
func (c classed) Class() retry.Class   { return c.class }
func (c classed) Delay() time.Duration { return c.after }

type silent struct{ retry.Class }

func (s silent) Error() string { return "silent" }

// silent.Class is a field, so the type is not Classified.
var _ error = silent{}

// wrapping is an error of a class that wraps one of another class.
type wrapping struct {
	classed
	inner error
}

func (w wrapping) Unwrap() error { return w.inner }

func TestClassify(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		class retry.Class
		after time.Duration
	}{
		{"none", nil, retry.Transient, 0},
		{"unknown", errors.New("x"), retry.Transient, 0},
		{"not classified", silent{retry.Fatal}, retry.Transient, 0},
		{"permanent", classed{class: retry.Permanent}, retry.Permanent, 0},
		{"throttled", classed{retry.Throttled, time.Second}, retry.Throttled, time.Second},
		{"wrapped", fmt.Errorf("a: %w", classed{retry.Fatal, 0}), retry.Fatal, 0},
		{"fatal after another", errors.Join(classed{class: retry.Permanent}, fmt.Errorf("b: %w", classed{class: retry.Fatal})), retry.Fatal, 0},
		{"fatal below another", wrapping{classed{class: retry.Permanent}, classed{class: retry.Fatal}}, retry.Permanent, 0},
		{"joined", errors.Join(errors.New("x"), classed{retry.Throttled, 3}), retry.Throttled, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class, after := retry.Classify(tt.err)
			if class != tt.class || after != tt.after {
				t.Errorf("got %v, %v, want %v, %v", class, after, tt.class, tt.after)
			}
		})
	}
}

// longest is a Rand that always takes the upper bound.
func longest(n time.Duration) time.Duration { return n }

func TestDoWaits(t *testing.T) {
	tests := []struct {
		name   string
		policy retry.Policy
		err    error
		want   []time.Duration
	}{
		{"doubles up to the maximum",
			retry.Policy{Attempts: 6, First: 100 * time.Millisecond, Max: 500 * time.Millisecond, Rand: longest},
			classed{class: retry.Transient},
			[]time.Duration{100e6, 200e6, 400e6, 500e6, 500e6}},
		{"first wait is short whatever is asked for",
			retry.Policy{Attempts: 2, First: time.Hour, Rand: longest},
			errors.New("unknown"),
			[]time.Duration{100e6}},
		{"waits as long as asked, and a bit",
			retry.Policy{Attempts: 3, First: 50 * time.Millisecond, Max: time.Second, Rand: longest},
			classed{retry.Throttled, time.Minute},
			[]time.Duration{time.Minute + 50e6, time.Minute + 50e6}},
		{"does not begin a wait that is beyond its budget",
			retry.Policy{Attempts: 9, MaxTime: 90 * time.Second, Rand: longest},
			classed{retry.Throttled, time.Minute},
			[]time.Duration{time.Minute + 100e6}},
		{"full jitter may be no wait at all",
			retry.Policy{Attempts: 3, Rand: func(time.Duration) time.Duration { return 0 }},
			classed{class: retry.Transient},
			[]time.Duration{0, 0}},
		{"permanent", retry.Policy{}, classed{class: retry.Permanent}, nil},
		{"fatal", retry.Policy{}, classed{class: retry.Fatal}, nil},
		{"stopped", retry.Policy{}, retry.Stop(classed{class: retry.Transient}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var waits []time.Duration
				var total time.Duration
				start := time.Now()
				tries := 0
				err := tt.policy.Do(t.Context(), func(w retry.Wait) {
					waits = append(waits, w.Delay)
					total += w.Delay
					if w.Attempt != len(waits) || w.Err == nil {
						t.Errorf("wait %d: got %+v", len(waits), w)
					}
				}, func(context.Context) error { tries++; return tt.err })
				if err == nil || !errors.Is(tt.err, err) {
					t.Errorf("error: got %v, want %v", err, tt.err)
				}
				if fmt.Sprint(waits) != fmt.Sprint(tt.want) {
					t.Errorf("waits: got %v, want %v", waits, tt.want)
				}
				if tries != len(waits)+1 {
					t.Errorf("got %d tries with %d waits", tries, len(waits))
				}
				if got := time.Since(start); got != total {
					t.Errorf("it took %v, want %v", got, total)
				}
			})
		})
	}
}

func TestDoJitterIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 50 {
			_ = retry.Policy{Attempts: 2}.Do(t.Context(), func(w retry.Wait) {
				if w.Delay < 0 || w.Delay >= retry.MaxFirst {
					t.Errorf("got %v, want less than %v", w.Delay, retry.MaxFirst)
				}
				seen[w.Delay] = true
			}, func(context.Context) error { return errors.New("x") })
		}
		if len(seen) < 40 {
			t.Errorf("got %d different waits of 50", len(seen))
		}
	})
}

func TestDoStopsOnSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := retry.Policy{}.Do(t.Context(), nil, func(context.Context) error {
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

func TestDoContext(t *testing.T) {
	cause := errors.New("second signal")
	t.Run("over before the first try", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		err := retry.Policy{}.Do(ctx, nil, func(context.Context) error { t.Error("tried"); return nil })
		if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want both %v and %v", err, cause, context.Canceled)
		}
	})
	t.Run("over during a wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			start, last := time.Now(), classed{retry.Throttled, time.Minute}
			err := retry.Policy{}.Do(ctx, nil, func(context.Context) error { return last })
			if !errors.Is(err, cause) || !errors.Is(err, last) {
				t.Errorf("got %v, want both %v and %v", err, cause, last)
			}
			if got := time.Since(start); got != time.Second {
				t.Errorf("it took %v, want 1s", got)
			}
		})
	})
	t.Run("does not wait for a deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			start, last := time.Now(), classed{retry.Throttled, time.Minute}
			err := retry.Policy{}.Do(ctx, nil, func(context.Context) error { return last })
			if err != error(last) || time.Since(start) != 0 {
				t.Errorf("got %v after %v, want %v at once", err, time.Since(start), last)
			}
		})
	})
}

func TestStopNil(t *testing.T) {
	if err := retry.Stop(nil); err != nil {
		t.Errorf("got %v, want none", err)
	}
}

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		value string
		want  time.Duration
	}{
		{"", 0},
		{"0", 0},
		{"7", 7 * time.Second},
		{" 7 ", 7 * time.Second},
		{"600", 10 * time.Minute},
		{"601", retry.MaxRetryAfter},
		{"99999999999999999999999", retry.MaxRetryAfter},
		{"-5", 0},
		{"1.5", 0},
		{"soon", 0},
		{"0x10", 0},
		{"٣", 0},
		{"Fri, 01 May 2026 12:00:30 GMT", 30 * time.Second},
		{"Friday, 01-May-26 12:00:30 GMT", 30 * time.Second},
		{"Fri May  1 12:00:30 2026", 30 * time.Second},
		{"Fri, 01 May 2026 11:00:00 GMT", 0},
		{"Fri, 01 May 2099 11:00:00 GMT", retry.MaxRetryAfter},
	}
	for _, tt := range tests {
		if got := retry.ParseRetryAfter(tt.value, now); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.value, got, tt.want)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for s := range strings.SplitSeq("|0|7|-1|99999999999|soon|Fri, 01 May 2026 12:00:30 GMT|Fri, 01 May 0000 12:00:30 GMT", "|") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if got := retry.ParseRetryAfter(value, now); got < 0 || got > retry.MaxRetryAfter {
			t.Errorf("%q: got %v, want 0 to %v", value, got, retry.MaxRetryAfter)
		}
	})
}
