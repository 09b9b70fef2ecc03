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

// The test verifies that the estimate of a plan matches the number of requests of the migration,
// for uploads, adoptions, a new category, and new folders in new, known and existing places.
func TestEstimateOfRequests(t *testing.T) {
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
		estimated := estimatedRequests(t, call("plan"))
		s.drain()
		call("migrate")
		// One answer may list the folders of several categories, depending on the order of the requests.
		if made := int64(len(s.drain())); made > estimated+1 || made < estimated-1 {
			t.Errorf("run %d: an estimate of %d requests; the run took %d", n, estimated, made)
		}
	}
	if text := call("plan"); strings.Contains(text, `"estimate"`) {
		t.Errorf("an estimate of no requests: %s", text)
	}
}

// estimatedRequests returns the number of requests in the estimate of a plan.
func estimatedRequests(t *testing.T, plan string) int64 {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(plan), "\n")
	var summary struct {
		Estimate struct {
			Requests    int64
			SecondsHigh *float64 `json:"seconds_high"`
		}
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &summary); err != nil {
		t.Fatal(err)
	}
	if summary.Estimate.SecondsHigh != nil {
		t.Errorf("too little is measured for %v seconds", *summary.Estimate.SecondsHigh)
	}
	return summary.Estimate.Requests
}
