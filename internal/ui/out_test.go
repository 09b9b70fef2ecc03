package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/event"
)

func noon() time.Time {
	return time.Date(2026, 11, 20, 13, 0, 0, 500, time.FixedZone("CET", 3600))
}

func TestStreamsAreKeptApart(t *testing.T) {
	var stdout, stderr buffer
	out := New(Options{Stdout: &stdout, Stderr: &stderr, Now: noon})
	out.Printf("%d assets", 3)
	out.Printf("whole line\n")
	out.Notef("to: %s", "prod\x1b[2J")
	out.Event("item", event.Item{Key: "a"})
	out.Log().Warn("slow", "seconds", 3)
	out.Fail(event.Error{Class: "usage", Message: "no destination", Hint: "assetferry init"})
	equal(t, stdout.String(), "3 assets\nwhole line\n")
	equal(t, stderr.String(), "to: prod\\x1b[2J\nwarning: slow seconds=3\nassetferry: no destination\nTry: assetferry init\n")
}

func TestJSONModeWritesOnlyJSONToStdout(t *testing.T) {
	var stdout, stderr buffer
	out := New(Options{Stdout: &stdout, Stderr: &stderr, JSON: true, Now: noon})
	out.Printf("for people\n")
	out.Event("plan", event.Plan{Key: "a&b <c>\n.jpg", Action: "create", Reason: "new", Category: "Photos", Folder: "2024", Name: "a", Size: 12})
	out.Event("item", event.Item{Key: "a", Action: "create", State: "done", AssetID: "x1", URL: "https://example.com/?a=1&b=2"})
	out.Event("item", event.Item{Key: "b", Action: "create", State: "failed", Error: "too large"})
	out.Event("check", event.Check{Key: "a", AssetID: "x1", Result: "different", Field: "size", Want: "12", Got: "13"})
	out.Event("summary", event.Summary{Run: "r1", Command: "migrate", Source: "/photos", Destination: "prod", Bytes: 12, Seconds: event.Seconds(1234567 * time.Microsecond)})
	out.Event("summary", event.Summary{Actions: event.Counts{"skip": 2, "create": 1}, States: event.Counts{}, Exit: 3})
	out.Event("progress", event.Progress{ItemsPerSecond: new(event.Rate(math.NaN())), BytesPerSecond: new(event.Rate(math.Inf(1)))})
	out.Event("bare", struct{}{})
	out.Event("broken", struct{ F func() }{})
	out.Fail(event.Error{Class: "auth", Message: "refused", Hint: "assetferry doctor"})
	golden(t, "events.jsonl", stdout.String())
	equal(t, stderr.String(), "assetferry: refused\nTry: assetferry doctor\n")

	for line := range strings.Lines(stdout.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if fields["version"] != 1.0 || fields["time"] != "2026-11-20T12:00:00Z" || fields["type"] == nil {
			t.Errorf("head of %s", line)
		}
	}
}

func TestFailKeepsSeveralLinesButNoControlCodes(t *testing.T) {
	var stderr buffer
	New(Options{Stderr: &stderr}).Fail(event.Error{Message: "line 1\n\tline 2 \x1b]0;title\x07"})
	equal(t, stderr.String(), "assetferry: line 1\n\tline 2 \\x1b]0;title\\x07\n")
}

func TestErrRemembersAFullDisk(t *testing.T) {
	full := errors.New("disk full")
	out := New(Options{Stdout: failing{full}, Stderr: failing{errors.New("closed")}})
	out.Notef("nobody reads this")
	if err := out.Err(); err != nil {
		t.Errorf("stderr counts: %v", err)
	}
	out.Printf("a result")
	if err := out.Err(); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestLogLevels(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"default", Options{}, "warning: w\nerror: e\n"},
		{"verbose", Options{Verbose: true}, "debug: d\ninfo: i\nwarning: w\nerror: e\n"},
		{"quiet", Options{Quiet: true}, "error: e\n"},
	}
	for _, test := range tests {
		var stderr, file buffer
		test.options.Stderr, test.options.LogFile = &stderr, &file
		log := New(test.options).Log()
		log.Debug("d")
		log.Info("i")
		log.Warn("w")
		log.Error("e")
		if got := stderr.String(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if got := strings.Count(file.String(), "\n"); got != 4 {
			t.Errorf("%s: the log file has %d records, want all 4", test.name, got)
		}
	}
}

func TestLogAttributes(t *testing.T) {
	var stderr, file buffer
	log := New(Options{Stderr: &stderr, LogFile: &file}).Log()
	log.With("run", "r 1").WithGroup("item").With("key", "a\x1b.jpg").Warn("cannot\nread", slog.Group("try", "n", 2), "err", errors.New("no"))
	equal(t, stderr.String(), `warning: cannot\nread run="r 1" item.key="a\x1b.jpg" item.try.n=2 item.err=no`+"\n")

	var record map[string]any
	if err := json.Unmarshal([]byte(file.String()), &record); err != nil {
		t.Fatal(err)
	}
	if record["level"] != "WARN" || record["time"] == nil || record["run"] != "r 1" {
		t.Errorf("log file record %v", record)
	}
}

func TestLinesGoAboveTheBar(t *testing.T) {
	var terminal buffer // both streams on one terminal
	var during []string
	synctest.Test(t, func(t *testing.T) {
		out := New(Options{Stdout: &terminal, Stderr: &terminal, Progress: "bar"})
		out.Progress().StartPhase("upload", 4, -1)
		out.Progress().Add(1, 0)
		time.Sleep(120 * time.Millisecond)
		synctest.Wait()
		out.Log().Warn("slow")
		out.Printf("result")
		during = screen(terminal.String())
		out.Progress().EndPhase()
	})
	equal(t, strings.Join(during, "\n"), "warning: slow\nresult\n25% [======>                       ]  upload: 1/4 objects")
	equal(t, strings.Join(screen(terminal.String()), "\n"), "warning: slow\nresult\n")
	if strings.Contains(terminal.String(), "\x1b") {
		t.Errorf("escape sequences in %q", terminal.String())
	}
}

// An interrupt gets an answer even if no process reads stdout.
func TestNotesPastAStuckReader(t *testing.T) {
	results, reader := io.Pipe()
	var stderr bytes.Buffer
	out := New(Options{Stdout: reader, Stderr: &stderr})
	written := make(chan bool)
	go func() { out.Printf("a result"); close(written) }()
	one := make([]byte, 1)
	if _, err := results.Read(one); err != nil { // it is being written from here on
		t.Fatal(err)
	}
	out.Notef("a note")
	if got := stderr.String(); got != "a note\n" {
		t.Errorf("got %q", got)
	}
	rest := make([]byte, 100)
	n, err := results.Read(rest)
	<-written
	if got := string(one) + string(rest[:n]); got != "a result\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
