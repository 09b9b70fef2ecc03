package ratelimit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
)

func TestParseRequestLimit(t *testing.T) {
	for text, want := range map[string]RequestLimit{"5000/h": {5000, time.Hour}, "1/d": {1, 24 * time.Hour}} {
		if got, err := ParseRequestLimit(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "5000", "0/h", "-1/h", "1/s", "1/m", "x/h", "1.5/h", "99999999999/d", "1/h/d"} {
		if got, err := ParseRequestLimit(text); err == nil {
			t.Errorf("%s: got %v, want an error", text, got)
		}
	}
}

func FuzzParseRequestLimit(f *testing.F) {
	f.Add("5000/h")
	f.Add("1/d")
	f.Fuzz(func(t *testing.T, text string) {
		limit, err := ParseRequestLimit(text)
		if err != nil {
			return
		}
		if again, err := ParseRequestLimit(limit.String()); err != nil || again != limit || limit.Requests < 1 {
			t.Errorf("%q is %v, which reads as %v (%v)", text, limit, again, err)
		}
	})
}

// The limit counts in any hour, not in an hour of the clock, over several processes.
func TestRequestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewRequests(RequestLimit{10, time.Hour}, time.Now)
		used := time.Now().Add(-50 * time.Minute)
		c.Load(map[int64]int64{used.Unix() / 60: 7})
		l := New(Options{Max: 4, Requests: c})
		call := func() error {
			ticket, err := l.Begin(background)
			if err == nil {
				ticket.End(Outcome{})
			}
			return err
		}
		for n := range 3 {
			if err := call(); err != nil {
				t.Fatalf("call %d: %v", n, err)
			}
		}
		err := call()
		spent, ok := errors.AsType[*RequestLimitError](err)
		if !ok || spent.Limit.Requests != 10 {
			t.Fatalf("got %v, want a RequestLimitError", err)
		}
		if wait := time.Until(spent.Free); wait < 10*time.Minute || wait > 11*time.Minute {
			t.Errorf("free in %v, want in 10 minutes", wait)
		}
		if !strings.Contains(spent.Hint(), spent.Free.Format("15:04")) {
			t.Errorf("the hint is %q", spent.Hint())
		}
		counts := c.TakeCounts()
		if n := counts[time.Now().Unix()/60]; n != 3 || len(counts) != 1 {
			t.Errorf("got %v, want 3 requests", counts)
		}
		if len(c.TakeCounts()) != 0 {
			t.Error("counts were returned twice")
		}
		time.Sleep(time.Until(spent.Free))
		for n := range 7 {
			if err := call(); err != nil {
				t.Errorf("later, call %d: %v", n, err)
			}
		}
		if call() == nil {
			t.Error("the three of this process do not count any more")
		}
	})
}

func TestNoLimit(t *testing.T) {
	if NewRequests(RequestLimit{}, time.Now) != nil || NewBandwidth(nil, time.Now) != nil {
		t.Error("no limit is one")
	}
	var none *Requests
	if err := none.take(); err != nil {
		t.Error(err)
	}
	body := io.NopCloser(strings.NewReader("x"))
	if (*Bandwidth)(nil).Reader(background, body) != body {
		t.Error("no limit wraps the body")
	}
}

func at(text string) time.Time {
	t, err := time.Parse("15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestParseTimetable(t *testing.T) {
	table, err := ParseTimetable("19:00,10M 08:00,512K 23:00,off")
	if err != nil {
		t.Fatal(err)
	}
	for when, want := range map[string]float64{
		"00:00": 0, "07:59": 0, "08:00": 512 << 10, "18:59": 512 << 10, "19:00": 10 << 20, "22:59": 10 << 20, "23:00": 0,
	} {
		if got := table.at(at(when)); got != want {
			t.Errorf("at %s: got %v, want %v", when, got, want)
		}
	}
	for text, want := range map[string]float64{"2000": 2000, "1.5k": 1536, "2M": 2 << 20, "1g": 1 << 30, "off": 0, "OFF": 0} {
		if table, err := ParseTimetable(text); err != nil || table.at(at("12:00")) != want {
			t.Errorf("%s: got %v (%v), want %v", text, table, err, want)
		}
	}
	for _, text := range []string{"", " ", "fast", "0", "-1M", "M", "1T", "08:00", "08:00,", "25:00,1M", "08:00,1M 08:00,2M", "1M 2M", "NaN", "Inf", "1e999G", "512", "0.5K", "\u0131"} {
		if table, err := ParseTimetable(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, table)
		}
	}
}

func FuzzParseTimetable(f *testing.F) {
	f.Add("08:00,512K 19:00,10M 23:00,off")
	f.Add("2M")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ParseTimetable(text)
		if err == nil && (len(table) == 0 || !(table.at(at("12:34")) >= 0)) {
			t.Errorf("%q is %v", text, table)
		}
	})
}

// Sixteen bodies share a limit. Together they keep it, and none waits long.
func TestBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bodies, size, limit = 16, 4 << 10, 1 << 10
		b := NewBandwidth(Timetable{{0, limit}}, time.Now)
		start := time.Now()
		var readers sync.WaitGroup
		for range bodies {
			readers.Go(func() {
				r := b.Reader(background, io.NopCloser(bytes.NewReader(make([]byte, size))))
				last := time.Now()
				for buffer := make([]byte, 32<<10); ; {
					n, err := r.Read(buffer)
					if stood := time.Since(last); stood > 10*time.Second {
						t.Errorf("stood still for %v", stood)
					}
					last = time.Now()
					if err == io.EOF && n == 0 {
						return
					}
				}
			})
		}
		readers.Wait()
		if took, want := time.Since(start), bodies*size/limit*time.Second; took < want-time.Second || took > want+time.Second {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}

// Many small bodies keep the limit, too: the end of one does not lift it for the others.
func TestBandwidthOfSmallBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, bodies, size, limit = 16, 25, 100, 2 << 10
		b := NewBandwidth(Timetable{{0, limit}}, time.Now)
		start := time.Now()
		var readers sync.WaitGroup
		for range workers {
			readers.Go(func() {
				for range bodies {
					if _, err := io.Copy(io.Discard, b.Reader(background, io.NopCloser(bytes.NewReader(make([]byte, size))))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		readers.Wait()
		want := workers * bodies * size * time.Second / limit
		if took := time.Since(start); took < want-time.Second || took > want+time.Second {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}

// A body that waits for its bytes stops when its context ends, but not when the run is drained: work in
// progress is completed.
func TestBandwidthEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		close(stop)
		cause := errors.New("second signal")
		ctx, abort := context.WithCancelCause(retry.WithDrain(background, stop))
		b := NewBandwidth(Timetable{{0, minBandwidth}}, time.Now)
		time.AfterFunc(5*time.Second, func() { abort(cause) })
		start := time.Now()
		_, err := io.Copy(io.Discard, b.Reader(ctx, io.NopCloser(bytes.NewReader(make([]byte, 1<<20)))))
		if took := time.Since(start); !errors.Is(err, cause) || took != 5*time.Second {
			t.Errorf("got %v after %v, want %v after 5s", err, took, cause)
		}
	})
}

// When the timetable lifts a limit, no read waits.
func TestBandwidthFollowsItsTimetable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		midnight := time.Now().Truncate(24 * time.Hour)
		b := NewBandwidth(Timetable{{0, 1}, {time.Hour, 0}}, func() time.Time { return midnight.Add(time.Since(midnight)).UTC() })
		time.Sleep(time.Until(midnight.Add(24 * time.Hour)))
		start := time.Now()
		n, err := io.Copy(io.Discard, b.Reader(background, io.NopCloser(bytes.NewReader(make([]byte, 1<<20)))))
		if took := time.Since(start); err != nil || n != 1<<20 || took > time.Hour+time.Second {
			t.Errorf("%d bytes took %v (%v), want what is left after an hour at once", n, took, err)
		}
	})
}

// The hint of a daily limit contains the date.
func TestLimitHintContainsTheDate(t *testing.T) {
	free := time.Now().AddDate(0, 0, 1)
	hint, want := (&RequestLimitError{Free: free}).Hint(), "after "+free.Format("2006-01-02 15:04")+" to resume"
	if !strings.Contains(hint, want) {
		t.Errorf("got %q, want %q", hint, want)
	}
}
