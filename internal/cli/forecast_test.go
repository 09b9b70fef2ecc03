package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
)

// A forecast counts the requests that carrying out the plan then takes: uploads,
// adoptions, a category and folders to be made, in places that are new, known or
// somebody else's.
func TestForecastOfCalls(t *testing.T) {
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	write := func(key string) {
		path := filepath.Join(src, filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	call := func(name string) string {
		return assetferry(t, dir, s.variables(), name, src, "--unsupported", "create", "--json").must(t, exit.CodeDone)
	}
	if err := s.upload("Images", "there.jpg", []byte("there.jpg")); err != nil {
		t.Fatal(err)
	}
	for n, keys := range [][]string{
		{"there.jpg", "one.jpg", "a/b/c/two.txt", "a/b/three.txt", "odd.xyz"},
		{"a/b/four.txt", "a/b/new/five.txt", "new/six.jpg"},
	} {
		for _, key := range keys {
			write(key)
		}
		promised := callsIn(t, call("plan"))
		s.drain()
		call("migrate")
		// Whether one answer tells the folders of several categories depends on who asks first.
		if made := int64(len(s.drain())); made > promised+1 || made < promised-1 {
			t.Errorf("run %d: a forecast of %d requests, and it took %d", n, promised, made)
		}
	}
	if text := call("plan"); strings.Contains(text, "forecast") {
		t.Errorf("a forecast of nothing: %s", text)
	}
}

// callsIn are the requests that the summary of a plan forecasts.
func callsIn(t *testing.T, plan string) int64 {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(plan), "\n")
	var summary struct {
		PlanEstimate struct {
			Calls       int64
			SecondsHigh *float64 `json:"seconds_high"`
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil {
		t.Fatal(err)
	}
	if summary.PlanEstimate.SecondsHigh != nil {
		t.Errorf("too little is measured for %v seconds", *summary.PlanEstimate.SecondsHigh)
	}
	return summary.PlanEstimate.Calls
}
