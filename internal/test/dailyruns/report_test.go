//go:build unix

package dailyruns_test

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
)

// A report is the part of a report that the test compares.
type report struct {
	Verdict struct{ Kind, Message string }
	Run     struct{ ID, State string }
	Results struct {
		States []struct {
			State   string
			Objects int
		}
		Accounted bool `json:"accounted_for"`
	}
}

// reported parses the JSON report of a run.
func reported(t *testing.T, text string) (r report) {
	t.Helper()
	must(t, json.Unmarshal([]byte(text), &r))
	return r
}

// counts returns the number of objects by state.
func (r report) counts() map[string]int {
	counts := map[string]int{}
	for _, p := range r.Results.States {
		counts[p.State] = p.Objects
	}
	return counts
}

// listed parses the CSV report of a run. It has no unchanged objects, which the run only counts.
func listed(t *testing.T, text string) map[string]fate {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	must(t, err)
	column := map[string]int{}
	for n, name := range rows[0] {
		column[name] = n
	}
	fates := map[string]fate{}
	for _, row := range rows[1:] {
		if f := (fate{row[column["action"]], row[column["state"]], row[column["reason"]]}); f.state != "unchanged" {
			fates[row[column["key"]]] = f
		}
	}
	return fates
}

// A summary is the last line of a run's JSON output.
type summary struct {
	Type, Run       string
	Actions, States map[string]int
	Exit            int
}

func summed(t *testing.T, stdout string) (s summary) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &s))
	if s.Type != "summary" {
		t.Fatalf("the last line is no summary: %s", lines[len(lines)-1])
	}
	return s
}
