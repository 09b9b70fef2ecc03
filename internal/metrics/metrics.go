// Package metrics writes the metrics of the last run to a file for the textfile collector of the
// Prometheus node exporter.
//
// All metrics are gauges, because each run replaces the file. The file is written only when a run
// ends. If runs are killed or not started any more, the time of the last completion becomes old.
package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Labels identify the runs of a job. The job of assetferry is job_name, because Prometheus uses job
// for its own targets.
type Labels struct {
	Job, Source, Destination string
}

// A Run has the metrics of a run that ended, successfully or not.
type Run struct {
	Labels
	Version      string // of assetferry
	Began, Ended time.Time
	Exit         int
	Success      bool
	Guarded      bool      // a safety check stopped the run or a part of it
	LastSuccess  time.Time // of this or an earlier run; zero: unknown

	Plan  *Plan  // nil: the run ended before it had a plan
	Known *Known // nil: the state database could not be read
}

// A Plan counts the objects of a run by action and by state.
type Plan struct {
	Actions, States map[string]int64
	SentBytes       int64
}

// Known counts objects in the state database.
type Known struct {
	Objects int64 // with assets at the destination
	Orphans int64 // those that were deleted at the source
	Failing int64 // failed in their last run
}

// The next run reads these again, see Former.
const (
	exitCode    = "assetferry_last_run_exit_code"
	lastSuccess = "assetferry_last_success_timestamp_seconds"
)

// encode writes a run in the text format of Prometheus.
func (r Run) encode() []byte {
	e := encoder{labels: r.Labels.String()}
	e.gauge("assetferry_build_info", "The version of the last run; the value is always 1.")
	e.sample(1, "version", r.Version)
	e.only("assetferry_last_run_start_timestamp_seconds", "Start of the last run.", seconds(r.Began))
	e.only("assetferry_last_run_completion_timestamp_seconds", "End of the last run, successful or not.", seconds(r.Ended))
	e.only("assetferry_last_run_duration_seconds", "Duration of the last run.", r.Ended.Sub(r.Began).Seconds())
	e.only(exitCode, "Exit code of the last run; 0 is success.", float64(r.Exit))
	e.only("assetferry_last_run_success", "Whether the last run succeeded: 1 for exit codes 0 and 7.", truth(r.Success))
	e.only("assetferry_last_run_safety_check", "Whether a safety check stopped the last run or a part of it.", truth(r.Guarded))
	if !r.LastSuccess.IsZero() {
		e.only(lastSuccess, "End of the last successful run.", seconds(r.LastSuccess))
	}
	if r.Plan != nil {
		e.each("assetferry_last_run_action_objects", "Objects of the last run by action.", "action", r.Plan.Actions)
		e.each("assetferry_last_run_state_objects", "Objects of the last run by state.", "state", r.Plan.States)
		e.only("assetferry_last_run_sent_bytes", "Bytes that the last run uploaded.", float64(r.Plan.SentBytes))
	}
	if r.Known != nil {
		e.only("assetferry_known_objects", "Objects with assets at the destination.", float64(r.Known.Objects))
		e.only("assetferry_deleted_at_source_objects", "Objects that were deleted at the source and have assets at the destination.", float64(r.Known.Orphans))
		e.only("assetferry_failing_objects", "Objects that failed in their last run.", float64(r.Known.Failing))
	}
	return e.Bytes()
}

// String returns the labels of a sample, without braces.
func (l Labels) String() string {
	return pair("job_name", l.Job) + "," + pair("source", l.Source) + "," + pair("destination", l.Destination)
}

// pair returns a label. Only these three characters are escaped, and the format requires UTF-8.
func pair(name, value string) string {
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

// An encoder writes the text format.
type encoder struct {
	bytes.Buffer
	labels string // of every sample
	name   string // of the metric that is written
}

// gauge begins a metric.
func (e *encoder) gauge(name, help string) {
	e.name = name
	fmt.Fprintf(e, "# HELP %s %s\n# TYPE %[1]s gauge\n", name, help)
}

// sample writes a value of the present metric, with one more label.
func (e *encoder) sample(value float64, label, of string) {
	fmt.Fprintf(e, "%s{%s,%s} %s\n", e.name, e.labels, pair(label, of), number(value))
}

// only writes a metric with one value.
func (e *encoder) only(name, help string, value float64) {
	e.gauge(name, help)
	fmt.Fprintf(e, "%s{%s} %s\n", name, e.labels, number(value))
}

// each writes a metric with a value for each value of a label.
func (e *encoder) each(name, help, label string, values map[string]int64) {
	e.gauge(name, help)
	for _, word := range slices.Sorted(maps.Keys(values)) {
		e.sample(float64(values[word]), label, word)
	}
}

// number formats a value without an exponent, which is easier to read.
func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
