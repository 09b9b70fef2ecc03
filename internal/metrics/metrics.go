// Package metrics writes what there is to say of the last run into a file for the
// textfile collector of Prometheus' node exporter.
//
// All of it are gauges: the file is written anew after each run, so nothing in it counts
// up. It is never written when a run begins. So a run that was killed, or that no timer
// starts any more, shows by the time of the last completion, which gets old.
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

// Labels tell runs apart that one Prometheus knows. The job of assetferry is job_name,
// because job is what Prometheus calls its own way to the exporter.
type Labels struct {
	Job, Source, Destination string
}

// A Run is what there is to say of a run that ended, however it did.
type Run struct {
	Labels
	Version      string // of assetferry
	Began, Ended time.Time
	Exit         int
	Success      bool
	Guarded      bool      // a guard stopped it, or held something back
	LastSuccess  time.Time // of this or of a former run; zero: not known

	Plan  *Plan  // nil: it did not come that far
	Known *Known // nil: the journal could not be asked
}

// A Plan is what a run had to do and what became of it, in numbers of objects.
type Plan struct {
	Actions, States map[string]int64
	SentBytes       int64
}

// Known is what the journal knows of a source, in numbers of objects.
type Known struct {
	Objects int64 // whose assets are at the destination
	Orphans int64 // of these, those that are gone from the source
	Failing int64 // that failed in the last run that tried them
}

// What the next run reads again, see Former.
const (
	exitCode    = "assetferry_last_run_exit_code"
	lastSuccess = "assetferry_last_success_timestamp_seconds"
)

// encode writes a run in the text format of Prometheus.
func (r Run) encode() []byte {
	e := encoder{labels: r.Labels.String()}
	e.gauge("assetferry_build_info", "The version that ran last; the value is always 1.")
	e.sample(1, "version", r.Version)
	e.only("assetferry_last_run_start_timestamp_seconds", "When the last run began.", seconds(r.Began))
	e.only("assetferry_last_run_completion_timestamp_seconds", "When the last run ended, with success or without.", seconds(r.Ended))
	e.only("assetferry_last_run_duration_seconds", "How long the last run took.", r.Ended.Sub(r.Began).Seconds())
	e.only(exitCode, "Exit code of the last run; 0 is done.", float64(r.Exit))
	e.only("assetferry_last_run_success", "Whether the last run needs nobody to look at it: 1 for exit codes 0 and 7.", truth(r.Success))
	e.only("assetferry_last_run_guarded", "Whether a guard stopped the last run or held something back.", truth(r.Guarded))
	if !r.LastSuccess.IsZero() {
		e.only(lastSuccess, "When the last run ended that was a success.", seconds(r.LastSuccess))
	}
	if r.Plan != nil {
		e.each("assetferry_last_run_action_objects", "Objects of the last run by what was planned for them.", "action", r.Plan.Actions)
		e.each("assetferry_last_run_state_objects", "Objects of the last run by what became of them.", "state", r.Plan.States)
		e.only("assetferry_last_run_sent_bytes", "Content that the last run sent, in bytes.", float64(r.Plan.SentBytes))
	}
	if r.Known != nil {
		e.only("assetferry_known_objects", "Objects whose assets are at the destination, by the journal.", float64(r.Known.Objects))
		e.only("assetferry_orphan_objects", "Objects that are gone from the source and whose assets are still there.", float64(r.Known.Orphans))
		e.only("assetferry_failing_objects", "Objects that failed when they were tried last.", float64(r.Known.Failing))
	}
	return e.Bytes()
}

// String writes labels as they stand between the braces of a sample.
func (l Labels) String() string {
	return pair("job_name", l.Job) + "," + pair("source", l.Source) + "," + pair("destination", l.Destination)
}

// pair is a label. Only these three characters need a backslash, and the format takes
// nothing but UTF-8.
func pair(name, value string) string {
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

// An encoder is the text format while it is written.
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

// sample writes a value of the metric that was begun last, with a label of its own.
func (e *encoder) sample(value float64, label, of string) {
	fmt.Fprintf(e, "%s{%s,%s} %s\n", e.name, e.labels, pair(label, of), number(value))
}

// only writes a metric that has one value.
func (e *encoder) only(name, help string, value float64) {
	e.gauge(name, help)
	fmt.Fprintf(e, "%s{%s} %s\n", name, e.labels, number(value))
}

// each writes a metric that has a value for each of some words.
func (e *encoder) each(name, help, label string, values map[string]int64) {
	e.gauge(name, help)
	for _, word := range slices.Sorted(maps.Keys(values)) {
		e.sample(float64(values[word]), label, word)
	}
}

// number writes no exponent, for people who look into the file.
func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
