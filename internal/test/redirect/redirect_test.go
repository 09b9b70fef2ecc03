//go:build webserver

// Package redirect makes real web servers redirect old URLs by the maps that the urls command of
// the built program writes: the old URL of a file must lead to its content, whatever the file's
// name. It also tries out a whole cut-over by the run-book (assetferry help cutover), and writes a
// transcript of all input and output.
//
// The function for CloudFront runs in Node.js, and the file for Netlify is read by the matcher of
// Netlify, the npm package netlify-redirector.
//
//	ASSETFERRY_NETLIFY=FOLDER go test -tags webserver ./internal/test/redirect
//	ASSETFERRY_CUTOVER_FILES=5000 go test -tags webserver -run CutOver -v -artifacts ./internal/test/redirect
package redirect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assetferry/internal/test/built"
)

// hostile are names with a special meaning to a web server, to its configuration or in a URL.
var hostile = []string{
	"2024/spring/harbour.jpg", "Photo.jpg", "photo.jpg", "PHOTO.jpg", "Ordner/a.jpg", "ordner/a.jpg", "a b.jpg", " begins with a blank.jpg",
	`say "cheese".jpg`, `back\slash\.jpg`, `\n.jpg`, "$uri.jpg", "${x}.jpg", "$1%1.jpg", "a;b{c}.jpg", "~^tilde.jpg", "default.jpg", "#hash.jpg", "100%.jpg",
	"%41.jpg", "%2e%2e.jpg", "what?.jpg", "a&b=c+d.jpg", "o'clock.jpg", "Åse.jpg", "A\u030ase nfd.jpg", "日本/写真.jpg", "a.b*c(d)[e]|f^g.jpg", "<b>.jpg", "`id`.jpg",
	"=1.jpg", "a:b@c.jpg", "a,b!.jpg", "\u00a0.jpg", "...jpg", "..a/b.jpg", "index.html/x.jpg", ".htaccess.jpg",
	"long " + strings.Repeat("x", 240) + ".jpg", strings.Repeat("folder/", 60) + "deep.jpg",
	strings.Repeat(strings.Repeat("d", 218)+"/", 4) + "nearly too long for Apache.jpg",
}

// lineage is a path so deep that only nginx accepts a line for it.
var lineage = strings.Repeat(strings.Repeat("l", 230)+"/", 15) + "deep.jpg"

// unverified is the name of an object that was uploaded after the verification.
const unverified = "late.jpg"

// A site is a library that was migrated, with the files whose old URLs must redirect.
type site struct {
	testing.TB
	dir     string
	program string
	env     []string
}

func TestRedirects(t *testing.T) {
	s := newSite(t)
	for _, name := range hostile {
		s.put(name)
	}
	s.put(lineage)
	s.run("migrate", "library")
	s.run("verify")
	s.put(unverified)
	s.run("migrate", "library")

	for name, c := range map[string]struct {
		start   func(*testing.T, *site) string
		lineage int
	}{
		"nginx":                  {startNginx, http.StatusMovedPermanently},
		"apache":                 {startApache, http.StatusNotFound},
		"apache with a database": {startApacheWithDatabase, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			base := c.start(t, s)
			if code, _ := ask(t, base+"/files/"+lineage); code != c.lineage {
				t.Errorf("what is too deep for Apache: answered with %d, want %d", code, c.lineage)
			}
			for _, name := range hostile {
				s.follow(t, base, name, http.StatusMovedPermanently)
			}
			s.follow(t, base, unverified, http.StatusFound)
			for _, path := range []string{"/files/", "/files/nothing.jpg", "/Photo.jpg", "/files/pHOTO.jpg", "/files/2024/spring/harbour.jpg/"} {
				if code, to := ask(t, base+path); code != http.StatusNotFound {
					t.Errorf("%s: answered with %d to %q", path, code, to)
				}
			}
		})
	}
}

// follow requests an old URL and follows the redirect to the content.
func (s *site) follow(t *testing.T, base, name string, want int) {
	t.Helper()
	code, to := ask(t, base+(&url.URL{Path: "/files/" + name}).EscapedPath()+"?width=400")
	if code != want {
		t.Errorf("%q: answered with %d to %q, want %d", name, code, to, want)
		return
	}
	s.leadsTo(t, name, to)
}

// leadsTo verifies that a new URL leads to the content of a file.
func (s *site) leadsTo(t *testing.T, name, to string) {
	t.Helper()
	resp, err := http.Get(to)
	if err != nil {
		t.Errorf("%q: %v", name, err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != contentOf(name) {
		t.Errorf("%q leads to %s: %d, %q (%v)", name, to, resp.StatusCode, body, err)
	}
}

// ask returns the status of an answer, and the target of its redirect.
func ask(t *testing.T, rawURL string) (status int, location string) {
	t.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer c.CloseIdleConnections()
	resp, err := c.Get(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Location")
}

func contentOf(name string) string { return "content of " + name }

// newSite builds the program and runs its sandbox until the test ends.
func newSite(t *testing.T) *site {
	t.Helper()
	dir := publicDir(t)
	s := &site{TB: t, dir: dir, program: built.Program(t, dir)}
	s.env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_DATA_HOME="+filepath.Join(dir, "data"))
	for name, value := range built.Sandbox(t, s.program, s.env) {
		s.env = append(s.env, name+"="+value)
	}
	return s
}

// put writes a file of the library.
func (s *site) put(name string) {
	s.Helper()
	path := filepath.Join(s.dir, "library", filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(contentOf(name)), 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// run runs the program in the folder of the site.
func (s *site) run(args ...string) {
	s.Helper()
	c := exec.Command(s.program, args...)
	c.Dir, c.Env = s.dir, s.env
	if out, err := c.CombinedOutput(); err != nil {
		s.Fatalf("assetferry %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// writeMap makes the program write a map, and returns its path and the configuration lines in its
// first comment.
func (s *site) writeMap(t *testing.T, format string) (path, lines string) {
	t.Helper()
	path = filepath.Join(s.dir, format+".map")
	s.run("urls", "--format", format, "--old-prefix", "https://old.example.com/files/", "--output", path)
	return path, linesOf(t, path)
}

// linesOf returns the configuration lines in the first comment of a map.
func linesOf(t *testing.T, path string) (lines string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#     (.*)$`).FindAllSubmatch(text, -1) {
		lines += string(m[1]) + "\n"
	}
	return lines
}

// serve starts a web server and waits until it prints that it is ready. If it ends before, the test
// fails with its output.
func serve(t *testing.T, ready string, c *exec.Cmd) {
	t.Helper()
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("%v (the packages are nginx-light and apache2)", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait() // each server has another exit code for the end
	})
	said, err := readUntil(stderr, ready)
	if err != nil {
		t.Fatalf("%s: %v:\n%s", filepath.Base(c.Path), err, said)
	}
	go io.Copy(io.Discard, stderr)
}

// readUntil reads up to and including a text.
func readUntil(r io.Reader, text string) (said []byte, err error) {
	b := make([]byte, 4096)
	for !bytes.Contains(said, []byte(text)) {
		n, err := r.Read(b)
		said = append(said, b[:n]...)
		if err != nil {
			return said, errors.Join(fmt.Errorf("it never said %q", text), err)
		}
	}
	return said, nil
}
