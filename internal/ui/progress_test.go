package ui

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got, string(want))
}

// run plays a script of phases in fake time and returns both streams.
func run(t *testing.T, o Options, script func(p *Progress)) (stdout, stderr string) {
	t.Helper()
	var out, diagnostics buffer
	synctest.Test(t, func(t *testing.T) {
		o.Stdout, o.Stderr = &out, &diagnostics
		script(New(o).Progress())
	})
	return out.String(), diagnostics.String()
}

// steadily adds the same amount every second, between the ticks of the display.
func steadily(p *Progress, seconds int, items, bytes int64) {
	for range seconds {
		time.Sleep(450 * time.Millisecond)
		p.Add(items, bytes)
		time.Sleep(550 * time.Millisecond)
		synctest.Wait()
	}
}

func TestPlainProgress(t *testing.T) {
	_, got := run(t, Options{Progress: "plain"}, func(p *Progress) {
		p.StartPhase("scan", -1, -1)
		steadily(p, 25, 411, 0)
		p.EndPhase()

		p.StartPhase("upload", 345, 56_700_000)
		steadily(p, 31, 10, 1_500_000)
		p.EndPhase()

		p.StartPhase("nothing to do", 0, 0)
		p.EndPhase()

		p.StartPhase("stalled", 10, 1000)
		time.Sleep(12 * time.Second)
		p.EndPhase()

		p.StartPhase("more than announced", 5, 500)
		steadily(p, 21, 1, 100)
		p.EndPhase()

		p.StartPhase("total known late", -1, -1)
		steadily(p, 15, 1, 100)
		p.SetTotal(100, 10_000)
		steadily(p, 10, 1, 100)
		p.EndPhase()
	})
	golden(t, "plain.txt", got)
}

// A short phase leaves no line: the result of the run shows what it did.
func TestShortPhasesLeaveNoLine(t *testing.T) {
	for _, o := range []Options{{Progress: "plain"}, {Progress: "bar"}} {
		_, got := run(t, o, func(p *Progress) {
			p.StartPhase("scan", -1, -1)
			steadily(p, 9, 1, 1)
			p.EndPhase()
		})
		if left := strings.Join(screen(got), "\n"); left != "" {
			t.Errorf("%s: got %q", o.Progress, left)
		}
	}
}

func TestPlainLinesComeEveryTenSeconds(t *testing.T) {
	_, got := run(t, Options{}, func(p *Progress) { // a buffer is no terminal
		p.StartPhase("scan", -1, -1)
		steadily(p, 95, 1, 1)
		p.EndPhase()
	})
	if lines := strings.Count(got, "\n"); lines != 10 {
		t.Errorf("got %d lines, want one every 10 s and one at the end:\n%s", lines, got)
	}
	if strings.ContainsAny(got, "\r\x1b") {
		t.Errorf("control characters in plain progress: %q", got)
	}
}

func TestBar(t *testing.T) {
	var shown []string
	var diagnostics buffer
	look := func() {
		synctest.Wait()
		lines := screen(diagnostics.String())
		shown = append(shown, lines[len(lines)-1])
	}
	synctest.Test(t, func(t *testing.T) {
		out := New(Options{Stdout: &diagnostics, Stderr: &diagnostics, IsTerminal: func() bool { return true }, Width: func() int { return 120 }})
		p := out.Progress()
		p.StartPhase("scan", -1, -1)
		steadily(p, 2, 700, 0)
		time.Sleep(150 * time.Millisecond)
		look()
		p.EndPhase()
		p.StartPhase("upload", 345, 56_700_000)
		time.Sleep(150 * time.Millisecond)
		look()
		steadily(p, 3, 11, 1_500_000)
		time.Sleep(150 * time.Millisecond)
		look()
		p.Add(1000, 100_000_000)
		time.Sleep(150 * time.Millisecond)
		look()
		p.SetTotal(2000, 200_000_000) // full before, and still drawn
		time.Sleep(150 * time.Millisecond)
		look()
		p.EndPhase()
	})
	golden(t, "bar.txt", strings.Join(append(shown, screen(diagnostics.String())...), "\n")+"\n")
}

func TestBarFitsTheTerminal(t *testing.T) {
	s := status{phase: "アップロード", now: sample{items: 1_234_567, bytes: 1e12}, totalItems: 2_345_678, totalBytes: 2e12, itemRate: 1234, byteRate: 1e6}
	unknown := s
	unknown.totalItems, unknown.totalBytes = -1, -1
	for columns := range 200 {
		for _, s := range []status{s, unknown} {
			if line := newBar().line(s, s.left(), columns); textWidth(line) > max(0, columns-1) {
				t.Errorf("at %d columns the line takes %d: %q", columns, textWidth(line), line)
			}
		}
	}
}

func TestBarIsDrawnTenTimesASecondAtMost(t *testing.T) {
	_, got := run(t, Options{Progress: "bar", Verbose: true}, func(p *Progress) {
		p.StartPhase("upload", 1000, 1000)
		for range 1000 {
			p.Add(1, 1)
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
		p.EndPhase()
	})
	if draws := strings.Count(got, "\r"); draws > 13 { // the last draw returns twice to clear the line
		t.Errorf("drawn %d times in a second", draws)
	}
	if want := "1,000/1,000 objects, 1.0 kB/1.0 kB, 1.0 kB/s, in 1.0s\n"; !strings.HasSuffix(got, want) {
		t.Errorf("the last draw is %q, want it to end in %q", got, want)
	}
}

func TestQuietAndNoneShowNothing(t *testing.T) {
	for _, o := range []Options{{Quiet: true}, {Progress: "none"}, {Quiet: true, Progress: "bar"}, {Progress: "none", JSON: true}} {
		stdout, stderr := run(t, o, func(p *Progress) {
			p.StartPhase("upload", 10, 10)
			steadily(p, 20, 1, 1)
			p.EndPhase()
		})
		if stdout+stderr != "" {
			t.Errorf("%+v: got %q", o, stdout+stderr)
		}
	}
}

func TestProgressEvents(t *testing.T) {
	stdout, stderr := run(t, Options{JSON: true}, func(p *Progress) {
		p.StartPhase("scan", -1, -1)
		p.Add(3, 0)
		time.Sleep(time.Second)
		p.EndPhase()
		p.StartPhase("upload", 100, 1000)
		steadily(p, 12, 1, 10)
		p.EndPhase()
	})
	equal(t, stderr, "")
	golden(t, "progress.jsonl", stdout)
	for line := range strings.Lines(stdout) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestStartPhaseEndsThePhaseBefore(t *testing.T) {
	_, got := run(t, Options{Progress: "plain", Verbose: true}, func(p *Progress) {
		p.EndPhase() // nothing to end
		p.StartPhase("one", 1, -1)
		p.Add(1, 0)
		p.StartPhase("two", 2, -1)
		p.EndPhase()
		p.EndPhase()
	})
	equal(t, got, "one: 1 of 1 object, in 0.0s\ntwo: 0 of 2 objects, in 0.0s\n")
}

func TestAddFromManyGoroutines(t *testing.T) {
	_, got := run(t, Options{Progress: "plain", Verbose: true}, func(p *Progress) {
		p.StartPhase("upload", 8000, -1)
		for range 8 {
			go func() {
				for range 1000 {
					p.Add(1, 5)
				}
			}()
		}
		synctest.Wait()
		p.EndPhase()
	})
	equal(t, got, "upload: 8,000 of 8,000 objects, 40.0 kB, in 0.0s\n")
}

// Percent and ETA have one basis: neither ever contradicts the other or the counts.
func TestPercentAndETA(t *testing.T) {
	for _, test := range []struct {
		name                   string
		items, bytes           int64
		totalItems, totalBytes int64
		itemRate, byteRate     float64
		percent                int64 // -1: unknown
		left                   string
	}{
		{"items alone", 50, 0, 100, -1, 10, 0, 50, "ETA 5s"},
		{"bytes alone", 0, 500, -1, 1000, 0, 100, 50, "ETA 5s"},
		{"half of both", 50, 500, 100, 1000, 10, 100, 50, "ETA 5s"},
		{"small objects first", 50, 1000, 100, 1e9, 10, 100, 1, "ETA 6m36s"},
		{"nothing but retries left", 90, 1000, 100, 1000, 10, 100, 90, "ETA 1s"},
		{"bytes sent twice", 1, 2000, 100, 2000, 10, 100, 1, "ETA 10s"},
		{"large object last", 99, 0, 100, 1e12, 0, 100, 0, ""},
		{"no totals", 50, 50, -1, -1, 10, 10, -1, ""},
		{"no rate yet", 0, 0, 100, -1, 0, 0, 0, ""},
		{"stalled", 50, 0, 100, 1000, 0, 0, 49, ""},
		{"all done", 100, 1000, 100, 1000, 0, 0, 100, "ETA 0s"},
		{"more than all", 200, 2000, 200, 2000, 1, 1, 100, "ETA 0s"},
		{"one object left of many", 99_999, 0, 100_000, -1, 1, 0, 99, "ETA 1s"},
		{"beyond any estimate", 0, 0, 1 << 40, -1, 1e-9, 0, 0, ""},
	} {
		s := status{now: sample{items: test.items, bytes: test.bytes}, totalItems: test.totalItems, totalBytes: test.totalBytes, itemRate: test.itemRate, byteRate: test.byteRate}
		percent := int64(-1)
		if thousandths, known := s.done(); known {
			percent = thousandths / 10
		}
		if left := s.left(); percent != test.percent || left != test.left {
			t.Errorf("%s: got %d %% and %q, want %d %% and %q", test.name, percent, left, test.percent, test.left)
		}
	}
}

func TestRatesFollowTheRecentPast(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var w window
	var now sample
	for second := range 600 {
		now.at = start.Add(time.Duration(second) * time.Second)
		if second < 300 {
			now.items += 100
		} else {
			now.items += 2
		}
		w.add(now)
	}
	if items, _ := w.rates(now); items != 2 {
		t.Errorf("got %v items per second, want the 2 of the last minutes", items)
	}
	if n := len(w.samples); n > 32 {
		t.Errorf("holds %d samples", n)
	}
	if items, bytes := w.rates(sample{at: start}); items != 0 || bytes != 0 {
		t.Errorf("a clock that goes back gives rates of %v and %v", items, bytes)
	}
}

func BenchmarkAdd(b *testing.B) {
	var p Progress
	for b.Loop() {
		p.Add(0, 32<<10)
	}
}
