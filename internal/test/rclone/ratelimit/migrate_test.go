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

// forEachRclone runs a test with each rclone.
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
// It returns the notes of the plan.
func (u user) migrates(source string, l *limit) (notes string) {
	u.Helper()
	all := []string{"--unsupported", "create", "--fallback-category", "Files"}
	out, notes := u.run(append([]string{"plan", source}, all...)...)
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
	return notes
}

// TestMigrations runs all at the same time: they mostly wait.
func TestMigrations(t *testing.T) {
	program := build(t)
	t.Run("Google Cloud Storage", func(t *testing.T) {
		t.Parallel()
		forEachRclone(t, program, "[bucket]\ntype = google cloud storage\nanonymous = true\n", fromBucket)
	})
	t.Run("Google Drive", func(t *testing.T) {
		t.Parallel()
		forEachRclone(t, program, driveConfig, fromDrive)
	})
}

func fromBucket(u user) {
	l := newLimit(u.T, &bucket{name: "library", objects: library()})
	server := httptest.NewServer(l)
	defer server.Close()
	u.environ = append(u.environ, "RCLONE_GCS_ENDPOINT="+server.URL+"/storage/v1/")
	u.migrates("rclone:bucket:library", l)
}

// fromDrive also verifies the advice to create a client ID: the remote uses that of rclone.
func fromDrive(u user) {
	l := newLimit(u.T, &drive{library()})
	p := newProxy(u.T, driveHost, l)
	authority := filepath.Join(u.dir, "authority.pem")
	must(u, os.WriteFile(authority, p.certificate, 0o600))
	u.environ = append(u.environ, "HTTPS_PROXY="+p.url, "RCLONE_CA_CERT="+authority)
	notes := u.migrates("rclone:drive:", l)
	if strings.Count(notes, "https://rclone.org/drive/#making-your-own-client-id") != 1 {
		u.Errorf("the plan does not advise once to use a client ID of one's own:\n%s", notes)
	}
}
