package cli

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
)

// A notice is a notification that a hook received.
type notice struct {
	body string

	Event, Text, Job, Source, Destination, Run, Class, Message, Hint, Report string
	Exit                                                                     *int
	Actions, States                                                          map[string]int64
	Bytes                                                                    int64
}

// A hook receives notifications of runs.
type hook struct {
	url string

	mu      sync.Mutex
	notices []notice
}

// startHook starts a hook; answer may be nil.
func startHook(t testing.TB, answer http.HandlerFunc) *hook {
	t.Helper()
	h := &hook{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n notice
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &n)
		}
		if err != nil {
			t.Errorf("a notification: %v\n%s", err, body)
		}
		n.body = string(body)
		h.mu.Lock()
		h.notices = append(h.notices, n)
		h.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *hook) all() []notice {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.notices)
}

// take returns the notices since the last call.
func (h *hook) take() (notices []notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	notices, h.notices = h.notices, nil
	return notices
}

// metricsIn returns the values in a metrics file, by name and distinguishing labels, and the labels
// that all metrics share.
func metricsIn(t *testing.T, path string) (values map[string]string, common string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	values = map[string]string{}
	sample := regexp.MustCompile(`(?m)^assetferry_(\w+)\{(job_name=".*",source=".*",destination=".*?")(?:,(\w+=".*"))?\} (\S+)$`)
	for _, m := range sample.FindAllStringSubmatch(string(data), -1) {
		if common != "" && common != m[2] {
			t.Errorf("other labels: %s", m[0])
		}
		values[strings.TrimSuffix(m[1]+" "+m[3], " ")], common = m[4], m[2]
	}
	return values, common
}

// TestRunStatus checks the notifications and metrics of several runs.
func TestRunStatus(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	h, dir := startHook(t, nil), t.TempDir()
	source, file := filepath.Join(dir, "src"), filepath.Join(dir, "a.prom")
	files := smallTree(6)
	files.write(t, source)
	env := append(s.variables(), "ASSETFERRY_NOTIFY="+h.url+"/hush")
	destination := s.env.ID + "/" + s.env.ID
	migrate := func(code int, want map[string]string, args ...string) (start, end notice, success string) {
		t.Helper()
		p := assetferry(t, dir, env, append([]string{"migrate", "src", "--metrics", "a.prom"}, args...)...)
		p.must(t, code)
		if text := p.stderr.String(); strings.Contains(text, "warning") {
			t.Errorf("something could not be told: %s", text)
		}
		notices := h.take()
		if end = notices[len(notices)-1]; len(notices) == 2 {
			start = notices[0]
		}
		if end.Exit == nil || *end.Exit != code {
			t.Errorf("told %s", end.body)
		}
		got, labels := metricsIn(t, file)
		if wanted := `job_name="",source="` + source + `",destination="` + destination + `"`; labels != wanted {
			t.Errorf("labels %s, want %s", labels, wanted)
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s is %q, want %q", name, got[name], value)
			}
		}
		for _, name := range []string{"start_timestamp_seconds", "completion_timestamp_seconds", "duration_seconds"} {
			if got["last_run_"+name] == "" {
				t.Errorf("%s is not there", name)
			}
		}
		return start, end, got["last_success_timestamp_seconds"]
	}

	start, end, first := migrate(exit.CodeDone, map[string]string{
		"last_run_exit_code": "0", "last_run_success": "1", "last_run_safety_check": "0", `last_run_action_objects action="create"`: "6", `last_run_action_objects action="trash"`: "0",
		`last_run_state_objects state="done"`: "6", `last_run_state_objects state="failed"`: "0", "known_objects": "6", "deleted_at_source_objects": "0", "failing_objects": "0",
	})
	if start.Event != "start" || start.Source != source || start.Destination != (s.env.ID+"/"+s.env.ID) || start.Exit != nil {
		t.Errorf("the start is %s", start.body)
	}
	if end.Event != "success" || end.Run == "" || !maps.Equal(end.Actions, map[string]int64{"create": 6}) || end.Bytes == 0 ||
		!strings.HasPrefix(end.Message, "All 6 objects are accounted for: 6 uploaded (157 B in ") || end.Report != "assetferry report --run "+end.Run {
		t.Errorf("the end is %s", end.body)
	}

	tree{"odd.xyz": "no category takes it"}.write(t, source)
	_, end, kept := migrate(exit.CodeSafetyCheck, map[string]string{"last_run_exit_code": "6", "last_run_success": "0", "last_run_safety_check": "1", "known_objects": "6", `last_run_action_objects action="unchanged"`: "6"})
	if end.Event != "failure" || end.Class != "safety_check" || end.Hint == "" || kept != first {
		t.Errorf("the end is %s, the last success %s, want %s", end.body, kept, first)
	}

	if err := os.Rename(source, source+".away"); err != nil {
		t.Fatal(err)
	}
	start, end, kept = migrate(exit.CodeError, map[string]string{"last_run_exit_code": "1", "known_objects": "", `last_run_action_objects action="create"`: ""})
	if start.Event != "" || end.Event != "failure" || end.Class != "error" || end.Source != source || kept != first {
		t.Errorf("the end is %s, the last success %s, want %s", end.body, kept, first)
	}
	if err := os.Rename(source+".away", source); err != nil {
		t.Fatal(err)
	}

	if err := os.Remove(file); err != nil { // the state database suffices
		t.Fatal(err)
	}
	_, _, kept = migrate(exit.CodeSafetyCheck, nil)
	if kept == "" {
		t.Error("without the former file the last success is not known any more")
	}
	_, end, _ = migrate(exit.CodeLimit, map[string]string{"last_run_success": "1"}, "--unsupported", "skip", "--max-requests", "1/d")
	if end.Event != "success" || end.Class != "limit" {
		t.Errorf("the end is %s", end.body)
	}
}

// TestRunStatusOfDryRun checks that a dry run sends no notification.
func TestRunStatusOfDryRun(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	h, dir := startHook(t, nil), t.TempDir()
	smallTree(2).write(t, filepath.Join(dir, "src"))
	assetferry(t, dir, append(s.variables(), "ASSETFERRY_NOTIFY="+h.url), "migrate", "src", "-n", "--metrics", "a.prom").must(t, exit.CodeDone)
	if _, err := os.Stat(filepath.Join(dir, "a.prom")); err == nil || h.all() != nil {
		t.Errorf("told %v, and there may be metrics: %v", h.all(), err)
	}
}

// TestRunStatusOfKilled checks that a killed run keeps the metrics of the previous run, so that their
// time gets old.
func TestRunStatusOfKilled(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	h, dir := startHook(t, nil), t.TempDir()
	smallTree(2).write(t, filepath.Join(dir, "src"))
	env := append(s.variables(), "ASSETFERRY_NOTIFY="+h.url)
	assetferry(t, dir, env, "migrate", "src", "--metrics", "a.prom").must(t, exit.CodeDone)
	before, err := os.ReadFile(filepath.Join(dir, "a.prom"))
	if err != nil {
		t.Fatal(err)
	}
	smallTree(4).write(t, filepath.Join(dir, "src"))
	g := hold(s, 1)
	p := assetferry(t, dir, env, "migrate", "src", "--metrics", "a.prom")
	p.follow(t)
	<-g.reached
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	close(g.open)
	after, err := os.ReadFile(filepath.Join(dir, "a.prom"))
	if err != nil || string(after) != string(before) {
		t.Errorf("a run that was killed left other metrics: %v\n%s", err, after)
	}
}

// TestRunStatusNotDelivered checks that a failed notification does not change the result of a run.
func TestRunStatusNotDelivered(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	h := startHook(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	dir := t.TempDir()
	smallTree(2).write(t, filepath.Join(dir, "src"))
	p := assetferry(t, dir, append(s.variables(), "ASSETFERRY_NOTIFY="+h.url+"/hush"), "migrate", "src", "--log-file", "log", "--json")
	stdout := p.must(t, exit.CodeDone)
	if e := lastEvent(t, stdout); e.Type != "summary" || e.Exit != exit.CodeDone {
		t.Errorf("the last line is %+v", e)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	const warning = `cannot send notification "success" to `
	for _, tc := range []struct{ text, want string }{
		{p.stderr.String(), warning + h.url + ": 403 Forbidden"},
		{string(log), strings.ReplaceAll(warning, `"`, `\"`) + h.url + ": 403 Forbidden"},
	} {
		if !strings.Contains(tc.text, tc.want) || strings.Contains(tc.text, "hush") {
			t.Errorf("it says %s", tc.text)
		}
	}
}

// TestRunStatusMistakes verifies that wrong settings are reported before any request.
func TestRunStatusMistakes(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	smallTree(2).write(t, filepath.Join(dir, "src"))
	for _, args := range [][]string{
		{"--notify", "hush"}, {"--notify", "http://hooks.example.com/hush"}, {"--notify", "never=https://hooks.example.com/hush"}, {"--notify-file", "none"},
		{"--metrics", "src/file 000.jpg"}, {"--metrics", "none/a.prom"}, {"--metrics", "src"},
	} {
		p := assetferry(t, dir, s.variables(), append([]string{"migrate", "src"}, args...)...)
		p.must(t, exit.CodeUsage)
		if text := p.stderr.String(); strings.Contains(text, "hush") || !strings.Contains(text, "Try: ") {
			t.Errorf("%v: %s", args, text)
		}
	}
}
