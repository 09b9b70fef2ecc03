package cli

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"html"
	"html/template"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"assetferry/internal/demo"
	"assetferry/internal/sandbox"
)

var makePictures = flag.Bool("pictures", false, "make the pictures of the README; needs Chromium")

const (
	picturesDir = "../../.github/images"
	madeFrom    = "made-from.txt" // one line per image: its name, its checksum, and the checksum of its page
)

// A picture is an image that is rendered from a page. The page is the same at any time on any
// machine.
type picture struct {
	name          string
	page          string
	width, height int
}

// TestPictures verifies that the images of the README show the current output.
//
//	go test ./cli -run TestPictures -pictures
//
// renders them again.
func TestPictures(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile(filepath.Join(picturesDir, madeFrom))
	if err != nil && !*makePictures {
		t.Fatal(err)
	}
	if *makePictures {
		pictures := session(t)
		for _, p := range pictures {
			p.render(t)
		}
		keep(t, pictures)
		if err := os.WriteFile(filepath.Join(picturesDir, madeFrom), []byte(pictureChecksums(t, pictures)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	pictures := session(t)
	if pictureChecksums(t, pictures) == string(recorded) {
		return
	}
	keep(t, pictures)
	t.Errorf("the pictures of the README are out of date; make them with: go test ./internal/cli -run TestPictures -pictures\n"+
		"With -artifacts the pages are kept in %s.\ngot\n%swant\n%s", t.ArtifactDir(), pictureChecksums(t, pictures), recorded)
}

// keep writes the pages to the artifacts of the test, for comparison.
func keep(t *testing.T, pictures []picture) {
	t.Helper()
	for _, p := range pictures {
		if err := os.WriteFile(filepath.Join(t.ArtifactDir(), p.name+".html"), []byte(p.page), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// pictureChecksums returns the content of madeFrom.
func pictureChecksums(t *testing.T, pictures []picture) string {
	t.Helper()
	var text strings.Builder
	for _, p := range pictures {
		content, err := os.ReadFile(filepath.Join(picturesDir, p.name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %x %x\n", p.name, sha256.Sum256(content), sha256.Sum256([]byte(p.page)))
	}
	return text.String()
}

// session migrates the library of the demo to a sandbox, and returns the pages that show it.
func session(t *testing.T) []picture {
	t.Helper()
	home := t.TempDir()
	if _, err := demo.WriteLibrary(filepath.Join(home, "photos")); err != nil {
		t.Fatal(err)
	}
	// The verification may run before or after the service has processed the damaged photo.
	if err := os.Remove(filepath.Join(home, "photos", "photos", "2025", "broken.jpg")); err != nil {
		t.Fatal(err)
	}
	s := startService(t, sandbox.Options{})
	program := filepath.Join(home, ".bin", "assetferry")
	linkProgram(t, program)
	run := func(args ...string) string {
		c := exec.Command(program, append(args, "--progress", "none")...)
		c.Dir = home
		c.Env = append(s.variables(), "HOME="+home, "PATH="+filepath.Dir(program), "TZ=UTC", "TMPDIR="+home)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var text strings.Builder
	show := func(args ...string) {
		fmt.Fprintf(&text, "$ assetferry %s\n%s", strings.Join(args, " "), run(args...))
	}
	show("migrate", "photos", "--unsupported", "skip")
	text.WriteString("\n")
	show("verify", "--content")
	inOneMinute(t, home)
	run("report", "--format", "html", "--output", "report.html")
	page, err := os.ReadFile(filepath.Join(home, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	terminal := folded(sameEachTime(t, text.String(), home, s))
	return []picture{
		{"terminal.png", terminalPage(terminal), 740, 19*strings.Count(terminal, "\n") + 52},
		{"report.png", sameEachTime(t, string(page), home, s), 1280, 830},
	}
}

// inOneMinute moves the progress of the run in a state database to one minute: a run that spans two
// minutes has another chart, and a slow machine may take longer than a minute.
func inOneMinute(t *testing.T, home string) {
	t.Helper()
	states, err := filepath.Glob(filepath.Join(home, ".local", "state", "assetferry", "*.db"))
	if err != nil || len(states) != 1 {
		t.Fatalf("state databases %v (%v)", states, err)
	}
	if err := os.Remove(states[0] + ".sums"); err != nil { // its checksums would reveal the change
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", states[0])
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO throughput SELECT run, 0, sum(items), sum(bytes), min(first), max(last) FROM throughput GROUP BY run;
		DELETE FROM throughput WHERE minute > 0`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatalf("move the throughput to one minute: %v", err)
	}
}

// sameEachTime replaces text that differs between runs or machines by examples.
func sameEachTime(t *testing.T, text, home string, s *service) string {
	t.Helper()
	account := ""
	if u, err := user.Current(); err == nil {
		host, _ := os.Hostname()
		account = u.Username + "@" + host
	}
	text = strings.NewReplacer(home, "/home/anna", s.url, "http://127.0.0.1:8080", s.env.ID, "d8555eb6015c0da1099f", account, "anna@studio").Replace(text)
	for _, r := range []struct {
		pattern *regexp.Regexp
		example string
	}{
		{runID, "20260501-0930-k3x7q"},
		{dateTime, "2026-05-01 09:30:00"},
		{exactly, "2026-05-01T09:30:00Z"},
		{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d`), "2026-05-01T09:30:00Z"},
		{regexp.MustCompile(`\b\d\d:\d\d\b`), "09:30"}, // in charts
		{regexp.MustCompile(`\b09:30:\d\d\b`), "09:30:00"},
		{rates, ""},
		{duration, "1.4s"},
		{regexp.MustCompile(`\b\d+(\.\d+)? seconds?\b`), "1.4 seconds"},
		{regexp.MustCompile(`\b[0-9a-f]{64}\b`), strings.Repeat("3f86d1c2", 8)},
		{regexp.MustCompile(`((?:\(asset |/assets/|asset[ =":]+))[\w-]{12}\b`), "${1}66MouR9abnS0"},
		// The version of a build from a changed checkout ends in +dirty, and pages escape the plus.
		{regexp.MustCompile(`assetferry (\(devel\)|v\d([\w.+-]|&#43;)*)`), "assetferry (devel)"},
	} {
		text = r.pattern.ReplaceAllString(text, r.example)
	}
	return text
}

// The test verifies that the pictures do not depend on how the program was built.
func TestPicturesOfAnyVersion(t *testing.T) {
	t.Parallel()
	s := &service{url: "http://127.0.0.1:1"}
	s.env.ID = "0123456789abcdef0123"
	for _, version := range []string{"(devel)", "v1.2.3", "v1.2.3-rc.1+dirty", "v0.0.0-20260501093000-0123456789ab+dirty"} {
		for _, text := range []string{version, template.HTMLEscapeString(version)} {
			const want = "Written by assetferry (devel) from"
			if got := sameEachTime(t, "Written by assetferry "+text+" from", "/home/ben", s); got != want {
				t.Errorf("%s: got %q, want %q", text, got, want)
			}
		}
	}
}

// folded breaks lines between words, as the program does on a terminal of 80 columns.
func folded(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for line = strings.TrimSuffix(line, "\n"); len(line) > 80; {
			end := strings.LastIndexByte(line[:81], ' ')
			if end <= 0 {
				break
			}
			b.WriteString(line[:end] + "\n")
			line = line[end+1:]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// terminalPage returns a page that shows text like a terminal.
func terminalPage(text string) string {
	prompt := regexp.MustCompile(`(?m)^\$ .*$`)
	text = prompt.ReplaceAllString(html.EscapeString(strings.TrimRight(text, "\n")), "<b>$0</b>")
	return `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #fff }
pre { margin: 10px; padding: 16px 20px; border-radius: 8px; background: #1d2430; color: #d6dde6;
  font: 14px/19px "DejaVu Sans Mono", Menlo, Consolas, monospace }
b { color: #fff }
</style><pre>` + text + "</pre>\n"
}

// render renders the image with Chromium.
func (p picture) render(t *testing.T) {
	t.Helper()
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte(p.page), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(filepath.Join(picturesDir, p.name))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
		"--user-data-dir=" + t.TempDir(), fmt.Sprintf("--window-size=%d,%d", p.width, p.height), "--screenshot=" + at}
	if os.Geteuid() == 0 { // the sandbox of Chromium does not work for root
		args = append(args, "--no-sandbox")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "chromium", append(args, "file://"+page)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
