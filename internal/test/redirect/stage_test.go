//go:build webserver

package redirect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

// A stage is a site with a transcript of all input and output.
type stage struct {
	*site
	service    tokens.Environment
	url        string
	transcript bytes.Buffer
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{site: newSite(t)}
	value := func(name string) (found string) {
		for _, v := range s.env {
			if rest, ok := strings.CutPrefix(v, name+"="); ok {
				found = rest
			}
		}
		return found
	}
	s.url = value("ASSETFERRY_URL")
	s.service = tokens.Environment{ID: value("ASSETFERRY_ENVIRONMENT_ID"), AccessKey: tokens.AccessKey(value("ASSETFERRY_ACCESS_KEY"))}
	s.env = append(s.env, "TZ=UTC")
	t.Cleanup(func() { s.keep(t) })
	return s
}

// keep writes the transcript to a file that stays after the test.
func (s *stage) keep(t *testing.T) {
	path := filepath.Join(t.ArtifactDir(), "transcript.txt")
	if err := os.WriteFile(path, s.transcript.Bytes(), 0o644); err != nil {
		s.Error(err)
	}
	s.Logf("the transcript is in %s", path)
}

// note writes a remark into the transcript.
func (s *stage) note(format string, args ...any) {
	fmt.Fprintf(&s.transcript, "\n# "+format+"\n", args...)
}

// say runs the program as a person at a terminal does, and verifies its exit code.
func (s *stage) say(want int, args ...string) {
	s.Helper()
	began := time.Now()
	c := exec.CommandContext(s.Context(), s.program, args...)
	c.Dir, c.Env = s.dir, s.env
	out, err := c.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		s.Fatal(err)
	}
	code := c.ProcessState.ExitCode()
	fmt.Fprintf(&s.transcript, "\n$ assetferry %s\n%s(exit %d, %.1f s)\n", shellLine(args), out, code, time.Since(began).Seconds())
	if code != want {
		s.Fatalf("assetferry %s: exit code %d, want %d\n%s", shellLine(args), code, want, out)
	}
}

// planHash returns the hash of the plan that was shown last.
func (s *stage) planHash() string {
	said := s.transcript.String()
	_, hash, _ := strings.Cut(said[strings.LastIndex(said, "Plan hash "):], "Plan hash ")
	hash, _, _ = strings.Cut(hash, "\n")
	return hash
}

func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for n, a := range args {
		if quoted[n] = a; strings.ContainsAny(a, " *'") {
			quoted[n] = fmt.Sprintf("%q", a)
		}
	}
	return strings.Join(quoted, " ")
}

// quietly runs the program without an entry in the transcript, for values that a person would read
// on the screen.
func (s *stage) quietly(args ...string) []map[string]any {
	s.Helper()
	c := exec.CommandContext(s.Context(), s.program, append(args, "--json")...)
	c.Dir, c.Env = s.dir, s.env
	out, err := c.Output()
	if err != nil {
		s.Fatalf("%v: %v", args, err)
	}
	var lines []map[string]any
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var line map[string]any
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			s.Fatal(err)
		}
		lines = append(lines, line)
	}
}

// lastRun returns the ID of the last run in the state database.
func (s *stage) lastRun() string {
	s.Helper()
	lines := s.quietly("runs")
	id, _ := lines[len(lines)-1]["run"].(string)
	return id
}

// get sends a request to the sandbox with the test's own token.
func (s *stage) get(path string, into any) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+path, nil)
	must(s, err)
	req.Header.Set("Authorization", sandboxtest.Sign(s.service.AccessKey, sandboxtest.Claims(s.service, "admin")))
	resp, err := http.DefaultClient.Do(req)
	must(s, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.Fatalf("GET %s: %s", path, resp.Status)
	}
	must(s, json.NewDecoder(resp.Body).Decode(into))
}

type folder struct {
	ID      string
	Folders []folder
}

// arrived returns the number of assets that the destination lists.
func (s *stage) arrived() (n int) {
	s.Helper()
	var categories, tops struct{ Items []folder }
	s.get("/categories?limit=500", &categories)
	for _, c := range categories.Items {
		n += s.count("categoryId=" + c.ID)
	}
	s.get("/folders", &tops)
	for _, f := range tops.Items {
		var whole folder
		s.get("/folders/"+f.ID+"?depth=1000", &whole)
		n += s.countIn(whole)
	}
	return n
}

func (s *stage) countIn(f folder) int {
	s.Helper()
	n := s.count("folderId=" + f.ID)
	for _, sub := range f.Folders {
		n += s.countIn(sub)
	}
	return n
}

func (s *stage) count(where string) int {
	s.Helper()
	var page struct{ TotalCount int }
	s.get("/assets?limit=1&"+where, &page)
	return page.TotalCount
}
