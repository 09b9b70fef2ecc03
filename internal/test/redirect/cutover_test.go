//go:build webserver

package redirect

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

const (
	filesVariable = "ASSETFERRY_CUTOVER_FILES"
	oldPrefix     = "/media/"
)

// fileCount returns the number of files in the library.
func fileCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv(filesVariable)
	if text == "" {
		return 400
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 {
		t.Fatalf("%s is %q, want a number of 100 or more", filesVariable, text)
	}
	return n
}

func TestCutOver(t *testing.T) {
	s := newStage(t)
	n := fileCount(t)
	pilot := n / 10
	l := newLibrary(t, filepath.Join(s.dir, "photos"), n)

	s.note("Before the weekend: a rehearsal on the sandbox, with %d files.", n)
	s.say(0, "doctor", "./photos")
	s.say(6, "plan", "./photos")
	s.say(0, "plan", "./photos", "--unsupported", "skip", "--probe", "--output", "PLAN.jsonl")
	approved := s.planHash()

	s.note("A pilot of %d, looked at and taken back.", pilot)
	s.say(0, "migrate", "./photos", "--unsupported", "skip", "--limit", strconv.Itoa(pilot))
	s.expect(pilot)
	s.say(0, "verify", "--content")
	s.say(0, "urls", "--check")
	run := s.lastRun()
	s.say(0, "undo", "--run", run)
	s.expect(pilot)
	s.say(0, "undo", "--run", run, "--apply", "--yes")
	s.expect(0)

	s.note("The bulk: the plan that was approved, and nothing else.")
	s.say(0, "apply", "PLAN.jsonl", "--hash", approved, "--approved-by", "Jo Miller")
	s.expect(n)

	s.note("The delta: what came until the freeze.")
	for i := range n / 100 {
		l.add(t, n+i)
	}
	s.say(0, "plan", "./photos", "--unsupported", "skip")
	s.say(0, "migrate", "./photos", "--unsupported", "skip")
	s.expect(len(l.files))

	s.note("Proof, and the report for those who asked for it.")
	s.say(0, "verify", "--content")
	s.say(0, "report")
	s.say(0, "report", "--format", "html", "--output", "report.html")

	s.note("The switch: old URLs lead to the new ones.")
	s.say(0, "urls", "--check", "--all")
	s.say(0, "urls", "--old-prefix", oldPrefix, "--format", "nginx", "--output", "assetferry.conf")
	web := serveNginx(t, filepath.Join(s.dir, "assetferry.conf"), linesOf(t, filepath.Join(s.dir, "assetferry.conf")))
	s.note("nginx serves the old URLs, with the lines that the file itself asks for.")
	s.followAll(web, l)
	s.say(0, "status")
	s.say(0, "runs")
}

// expect compares the number of assets that the destination reports.
func (s *stage) expect(want int) {
	s.Helper()
	got := s.arrived()
	s.note("The sandbox itself has %d assets.", got)
	if got != want {
		s.Fatalf("the destination has %d assets, want %d", got, want)
	}
}

// followAll requests every file at its old URL, as browsers do. Each must permanently redirect to
// its content.
func (s *stage) followAll(web string, l *library) {
	s.Helper()
	var first *http.Response
	client := &http.Client{CheckRedirect: func(next *http.Request, via []*http.Request) error {
		first = next.Response
		return nil
	}}
	led := 0
	for key, content := range l.files {
		first = nil
		old := web + (&url.URL{Path: oldPrefix + key}).EscapedPath()
		resp, err := client.Get(old)
		must(s, err)
		got, err := io.ReadAll(resp.Body)
		must(s, err)
		must(s, resp.Body.Close())
		switch {
		case resp.StatusCode != http.StatusOK || !bytes.Equal(got, content):
			s.Errorf("%s leads to %s of %d bytes, want %d", old, resp.Status, len(got), len(content))
		case first == nil || first.StatusCode != http.StatusMovedPermanently:
			s.Errorf("%s does not lead there for good", old)
		default:
			led++
		}
	}
	resp, err := client.Get(web + oldPrefix + "2024/01/drawing.sketchy")
	must(s, err)
	must(s, resp.Body.Close())
	if resp.StatusCode != http.StatusNotFound {
		s.Errorf("what was left out: %s", resp.Status)
	}
	s.note("All %d old URLs were asked of nginx: %d lead to their content with 301, byte for byte; what was left out is 404.", len(l.files), led)
	if led != len(l.files) {
		s.Errorf("%d of %d URLs lead to their content", led, len(l.files))
	}
}
