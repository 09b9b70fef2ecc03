//go:build rclone

package ratelimit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/rclone"
)

// A user runs the program with one rclone, and with the sandbox as destination.
type user struct {
	*testing.T
	program string
	dir     string
	environ []string
}

// build builds the program.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "assetferry")
	c := exec.Command("go", "build", "-o", program, "assetferry/cmd/assetferry")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// forEachRclone runs a test with each rclone at the same time: it mostly waits.
func forEachRclone(t *testing.T, program, config string, test func(user)) {
	for _, path := range append([]string{"rclone"}, filepath.SplitList(os.Getenv("ASSETFERRY_TEST_RCLONE"))...) {
		p, err := rclone.Find(t.Context(), path, os.Environ())
		must(t, err)
		t.Run(p.Version.String(), func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "af") // the path of t.TempDir may be too long for a socket
			must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			must(t, os.WriteFile(filepath.Join(dir, "rclone.conf"), []byte(config), 0o600))
			test(user{t, program, dir, []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_DATA_HOME=" + dir + "/data", "XDG_RUNTIME_DIR=" + dir,
				"ASSETFERRY_URL=sandbox", "ASSETFERRY_RCLONE=" + p.Path, "RCLONE_CONFIG=" + dir + "/rclone.conf",
			}})
		})
	}
}

// run runs the program, which must end with exit code 0, and returns its output.
func (u user) run(args ...string) (stdout, stderr string) {
	u.Helper()
	c := exec.Command(u.program, args...)
	c.Dir, c.Env = u.dir, u.environ
	var out, notes bytes.Buffer
	c.Stdout, c.Stderr = &out, &notes
	if err := c.Run(); err != nil {
		u.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, &out, &notes)
	}
	u.Logf("%s\n%s%s", strings.Join(args, " "), &out, &notes)
	return out.String(), notes.String()
}

// migrates plans and migrates the library behind a limit, and verifies that every object has arrived.
func (u user) migrates(source string, l *limit) {
	all := []string{"--unsupported", "create", "--fallback-category", "Files"}
	out, _ := u.run(append([]string{"plan", source}, all...)...)
	if want := fmt.Sprintf("Listing: %d folders in ", folders+1); !strings.Contains(out, want) {
		u.Errorf("the plan does not show the rate of the listing: %q", want)
	}
	u.run(append([]string{"migrate", source}, all...)...)
	out, _ = u.run("status", "--json")
	var last struct{ States map[string]int }
	must(u, json.Unmarshal([]byte(out), &last))
	if len(last.States) != 1 || last.States["done"] != folders*inFolder() {
		u.Errorf("states %v, want %d done", last.States, folders*inFolder())
	}
	u.run("verify", "--content")
	if l.refused == 0 || l.banned < len(banAt) {
		u.Errorf("the storage refused too little: %s", l)
	}
	u.Log(l)
}

func TestGoogleCloudStorage(t *testing.T) {
	program := build(t)
	config := "[bucket]\ntype = google cloud storage\nanonymous = true\n"
	forEachRclone(t, program, config, func(u user) {
		l := newLimit(u.T, &bucket{name: "library", objects: library()})
		server := httptest.NewServer(l)
		defer server.Close()
		u.environ = append(u.environ, "RCLONE_GCS_ENDPOINT="+server.URL+"/storage/v1/")
		u.migrates("rclone:bucket:library", l)
	})
}
