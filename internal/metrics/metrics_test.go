package metrics

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

var update = flag.Bool("update", false, "write the golden files")

func runs() map[string]Run {
	began := time.Date(2026, 11, 21, 2, 0, 0, 250e6, time.UTC)
	labels := Labels{Job: "daily", Source: "/srv/photos", Destination: "5f0c8a1be27d934610fe/main"}
	return map[string]Run{
		"finished": {
			Labels: labels, Version: "v1.4.0", Began: began, Ended: began.Add(93*time.Second + 125*time.Millisecond),
			Success: true, LastSuccess: began.Add(93*time.Second + 125*time.Millisecond),
			Plan: &Plan{
				Actions: map[string]int64{"create": 12, "replace": 3, "unchanged": 1_000_000, "trash": 0},
				States:  map[string]int64{"done": 15, "failed": 0, "skipped": 1_000_000}, SentBytes: 5 << 30,
			},
			Known: &Known{Objects: 1_000_015, Orphans: 7, Failing: 0},
		},
		"safetycheck": {
			Labels: labels, Version: "v1.4.0", Began: began, Ended: began.Add(time.Second), Exit: 6, Guarded: true, LastSuccess: began.AddDate(0, 0, -1),
			Plan:  &Plan{Actions: map[string]int64{"replace": 900}, States: map[string]int64{"planned": 900}},
			Known: &Known{Objects: 1000},
		},
		"early": {Labels: Labels{Source: "/srv/photos"}, Version: "(devel)", Began: began, Ended: began.Add(time.Millisecond), Exit: 1},
		"escapes": {
			Labels: Labels{Job: `quote " and \`, Source: "line\nbreak, brace }, tab\t", Destination: "bytes \xff, ümlaut\u2028"}, Version: `v"1\`,
			Began: began, Ended: began, Success: true, LastSuccess: began,
		},
	}
}

func TestGolden(t *testing.T) {
	for name, run := range runs() {
		path := filepath.Join("testdata", name+".prom")
		got := run.encode()
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestPrometheusReadsIt verifies that the parser of Prometheus accepts the file and the names.
func TestPrometheusReadsIt(t *testing.T) {
	for name, run := range runs() {
		problems, err := promlint.New(bytes.NewReader(run.encode())).Lint()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s: %s", name, p.Metric, p.Text)
		}
	}
}

// TestFormer verifies that the next run reads the labels and the last success of this one.
func TestFormer(t *testing.T) {
	for name, run := range runs() {
		path := filepath.Join(t.TempDir(), "a.prom")
		if err := Write(path, run); err != nil {
			t.Fatal(err)
		}
		want := run.Labels
		if name == "escapes" {
			want.Destination = "bytes \uFFFD, ümlaut\u2028"
		}
		if l, success := Former(path); l != want || !success.Equal(run.LastSuccess) {
			t.Errorf("%s: got %+v, %v", name, l, success)
		}
	}
	for _, text := range []string{"", "no metrics", lastSuccess + "{", lastSuccess + `{job_name="`, lastSuccess + `{job_name="",source="",destination=""} x`} {
		path := filepath.Join(t.TempDir(), "a.prom")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, success := Former(path); l != (Labels{}) || !success.IsZero() {
			t.Errorf("%q: got %+v, %v", text, l, success)
		}
	}
	if l, success := Former(filepath.Join(t.TempDir(), "none")); l != (Labels{}) || !success.IsZero() {
		t.Errorf("without a file: got %+v, %v", l, success)
	}
}

// TestWrite leaves one file, which the exporter may read, and replaces a former one.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "assetferry.prom")
	for _, name := range []string{"safetycheck", "finished"} {
		run := runs()[name]
		if err := Write(path, run); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, run.encode()) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder holds %v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := Write(filepath.Join(dir, "none", "a.prom"), Run{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a folder that is not there: %v", err)
	}
}

// TestCheck verifies that a file with other content is not replaced.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{filepath.Join(dir, "new.prom"), write("empty.prom", ""), write("ours.prom", string(runs()["early"].encode()))} {
		if err := Check(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := Check(write("photo.jpg", "a picture")); !errors.Is(err, ErrForeign) {
		t.Errorf("another file: %v", err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none", "a.prom"), filepath.Join(dir, "photo.jpg", "a.prom")} {
		if err := Check(path); err == nil {
			t.Errorf("%s can be written", path)
		}
	}
}
