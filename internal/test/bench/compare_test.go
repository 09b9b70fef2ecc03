package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	of := func(figure string, cpu float64, statements, allocations int64) result {
		return result{Figure: figure, CPUSeconds: cpu, Counts: map[string]int64{"statements": statements, "allocations": allocations}}
	}
	for name, c := range map[string]struct {
		before, now []result // one for each run
		want        string   // the failures; "none" if the figure is not compared
	}{
		"the same":              {[]result{of("plan", 1, 10, 500), of("plan", 2, 10, 501)}, []result{of("plan", 1, 10, 700), of("plan", 2, 10, 699)}, ""},
		"slower by a fifth":     {[]result{of("plan", 1, 10, 0), of("plan", 2, 10, 0)}, []result{of("plan", 1.2, 10, 0), of("plan", 2.4, 10, 0)}, ""},
		"slower by a third":     {[]result{of("plan", 1, 10, 0), of("plan", 2, 10, 0)}, []result{of("plan", 1.3, 10, 0), of("plan", 2.7, 10, 0)}, "1.33 times the processor time"},
		"slower once":           {[]result{of("plan", 1, 1, 0), of("plan", 1, 1, 0), of("plan", 1, 1, 0)}, []result{of("plan", 9, 1, 0), of("plan", 1, 1, 0), of("plan", 1, 1, 0)}, ""},
		"too short to tell":     {[]result{of("plan", .05, 10, 0), of("plan", .05, 10, 0)}, []result{of("plan", .1, 10, 0), of("plan", .1, 10, 0)}, ""},
		"one more statement":    {[]result{of("plan", 1, 10, 0), of("plan", 1, 10, 0)}, []result{of("plan", 1, 11, 0), of("plan", 1, 11, 0)}, "statements: 11, 10 before"},
		"one statement less":    {[]result{of("plan", 1, 10, 0), of("plan", 1, 10, 0)}, []result{of("plan", 1, 9, 0), of("plan", 1, 9, 0)}, ""},
		"few allocations more":  {[]result{of("plan", 1, 10, 500), of("plan", 1, 10, 500)}, []result{of("plan", 1, 10, 505), of("plan", 1, 10, 505)}, ""},
		"many allocations more": {[]result{of("plan", 1, 10, 500), of("plan", 1, 10, 500)}, []result{of("plan", 1, 10, 506), of("plan", 1, 10, 506)}, "allocations: 506, 500 before"},
		"statements that vary":  {[]result{of("plan", 1, 10, 0), of("plan", 1, 11, 0)}, []result{of("plan", 1, 12, 0), of("plan", 1, 12, 0)}, ""},
		"of another name":       {[]result{of("unchanged sync", 1, 10, 0), of("unchanged sync", 1, 10, 0)}, []result{of("plan", 9, 11, 0), of("plan", 9, 11, 0)}, "none"},
		"failed once to appear": {[]result{of("plan", 1, 10, 0), {}}, []result{of("plan", 9, 11, 0), of("plan", 9, 11, 0)}, "none"},
	} {
		runs := func(results []result) (all [][]result) {
			for _, r := range results {
				all = append(all, []result{{Figure: "start"}, r})
			}
			return all
		}
		got := compare(runs(c.before), runs(c.now))
		if n := slices.IndexFunc(got, func(c comparison) bool { return c.Figure == "plan" }); n < 0 {
			if c.want != "none" {
				t.Errorf("%s: not compared", name)
			}
		} else if failures := strings.Join(got[n].Failure, "; "); failures != c.want {
			t.Errorf("%s: failures %q, want %q", name, failures, c.want)
		}
		var out strings.Builder
		writeComparisons(&out, got)
		failed := c.want != "" && c.want != "none"
		if failed != strings.Contains(out.String(), "worse: plan: "+c.want) {
			t.Errorf("%s: it prints %q", name, out.String())
		}
		if worse := worseAgain(got, nil); failed != slices.Contains(worse, "plan") {
			t.Errorf("%s: worse: %q", name, worse)
		}
	}
}

// TestWorseAgain verifies that a failure counts only if the figure failed in all series: of many short
// figures, some fail by chance.
func TestWorseAgain(t *testing.T) {
	of := func(failing ...string) (all []comparison) {
		for _, figure := range []string{"plan", "verify", "undo"} {
			c := comparison{Figure: figure}
			if slices.Contains(failing, figure) {
				c.Failure = []string{"2.00 times the processor time"}
			}
			all = append(all, c)
		}
		return all
	}
	first := worseAgain(of("plan", "verify"), nil)
	if !slices.Equal(first, []string{"plan", "verify"}) {
		t.Errorf("first series: %q", first)
	}
	second := worseAgain(of("verify", "undo"), first)
	if !slices.Equal(second, []string{"verify"}) {
		t.Errorf("second series: %q", second)
	}
	if third := worseAgain(of("plan", "undo"), second); len(third) > 0 {
		t.Errorf("third series: %q", third)
	}
}
