//go:build curl

// Package curl calls every operation of the sandbox with curl, on the built program: a client that
// is independent of ours. The files calls.txt and calls_ai.txt list the calls.
//
//	go test -tags curl ./internal/test/curl -artifacts
package curl

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/sandbox/openapitest"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/test/built"
)

//go:embed *.txt
var calls embed.FS

// A session runs curl in a shell that keeps values of answers in variables.
type session struct {
	testing.TB
	calls       string                   // the file with the calls
	token       func(path string) string // the default value of Authorization
	dir         string                   // where curl finds files and writes the answer
	environment []string
	transcript  bytes.Buffer
}

func TestEveryOperation(t *testing.T) {
	base, _, env := startProgram(t)
	s := newSession(t, "calls.txt", func(path string) string { return "$" + role(path) })
	s.setenv("environment", env.ID)
	for _, role := range []string{"user", "admin", "superadmin"} {
		s.setenv(role, sandboxtest.Sign(env.AccessKey, sandboxtest.Claims(env, role)))
	}
	s.callAll(t, startChecker(t, base, openapitest.Around))
}

func TestEveryOperationOfTheAIService(t *testing.T) {
	_, base, env := startProgram(t)
	s := newSession(t, "calls_ai.txt", func(string) string { return "Bearer $token" })
	s.setenv("token", aiservicetest.Sign(env.AccessKey, aiservicetest.Claims(env, "tester", "ai:admin")))
	beside, err := aiservice.New(aiservice.Options{Environments: []tokens.Environment{env}}) // its token endpoint has the same path
	if err != nil {
		t.Fatal(err)
	}
	s.setenv("tokens", beside.TokenPath())
	if err := beside.Close(); err != nil {
		t.Error(err)
	}
	s.callAll(t, startChecker(t, base, openapitest.AI().Around))
}

func newSession(t *testing.T, calls string, token func(path string) string) *session {
	s := &session{TB: t, calls: calls, token: token, dir: t.TempDir()}
	s.copyFiles("testdata")
	return s
}

// callAll makes the calls of a file, and verifies that they include every operation.
func (s *session) callAll(t *testing.T, checker checker) {
	s.setenv("url", checker.url)
	text, err := calls.ReadFile(s.calls)
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			fmt.Fprintf(&s.transcript, "%s\n\n", line)
		} else if line != "" {
			s.call(n+1, line)
		}
	}
	path := filepath.Join(t.ArtifactDir(), "transcript.txt")
	if err := os.WriteFile(path, s.transcript.Bytes(), 0o600); err != nil {
		t.Error(err)
	}
	for _, op := range checker.Operations() {
		if !slices.Contains(checker.Called(), op) {
			t.Errorf("%s is not called in %s", op, s.calls)
		}
	}
}

// startProgram builds assetferry and runs its sandbox until the test ends. It returns the URLs of
// the asset management service and of the AI content service.
func startProgram(t *testing.T) (assets, ai string, env tokens.Environment) {
	t.Helper()
	values := built.Sandbox(t, built.Program(t, t.TempDir()), append(os.Environ(), "HOME="+t.TempDir()))
	return values["ASSETFERRY_URL"], values["ASSETFERRY_AI_URL"], tokens.Environment{
		ID: values["ASSETFERRY_ENVIRONMENT_ID"], AccessKey: tokens.AccessKey(values["ASSETFERRY_ACCESS_KEY"]),
	}
}

// A checker is a proxy between curl and the program.
type checker struct {
	*openapitest.Checker
	url string
}

// startChecker starts a proxy that compares requests and answers with the OpenAPI description.
func startChecker(t *testing.T, base string, around func(testing.TB, http.Handler) *openapitest.Checker) checker {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	c := around(t, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = r.In.Host // URLs in answers contain it
		if r.Out.Body != nil {
			// The proxy reads the whole request now, because it must not read more of it once an
			// answer begins.
			body, err := io.ReadAll(r.In.Body)
			if err != nil {
				t.Error(err)
			}
			r.Out.Body = io.NopCloser(bytes.NewReader(body))
		}
	}})
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return checker{c, server.URL}
}

// copyFiles copies the files to upload to the directory of curl.
func (s *session) copyFiles(from string) {
	s.Helper()
	if err := os.CopyFS(s.dir, os.DirFS(from)); err != nil {
		s.Fatal(err)
	}
}

func (s *session) setenv(name, value string) { s.environment = append(s.environment, name+"="+value) }

// call makes the call of one line:
//
//	STATUS METHOD PATH ARGUMENT... => NAME=FIELD...
//
// The shell expands the path and the arguments. Unless they name a token, the call has that of the
// session, which may have the least role that the path needs. A field of the answer, such as
// items.0.id, becomes a variable.
func (s *session) call(n int, line string) {
	s.Helper()
	line, keep, _ := strings.Cut(line, " => ")
	words := append(strings.SplitN(line, " ", 4), "")
	status, method, path, arguments := words[0], words[1], words[2], words[3]
	if method == "HEAD" {
		method = "HEAD --head"
	}
	if !strings.Contains(arguments, "Authorization") {
		arguments = fmt.Sprintf(`-H "Authorization: %s" `, s.token(path)) + arguments
	}
	command := strings.TrimSpace(fmt.Sprintf(`curl -sS -X %s "$url%s" %s`, method, path, arguments))
	c := exec.CommandContext(s.Context(), "sh", "-c", command+` -D headers -o body -w "%{http_code}"`)
	c.Dir, c.Env = s.dir, append(os.Environ(), s.environment...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	got, err := c.Output()
	if err != nil {
		s.Fatalf("%s:%d: %s: %v: %s", s.calls, n, command, err, stderr.Bytes())
	}
	body := s.note(command)
	if string(got) != status {
		s.Errorf("%s:%d: %s: status %s, want %s: %.400s", s.calls, n, command, got, status, body)
	}
	for word := range strings.FieldsSeq(keep) {
		name, field, _ := strings.Cut(word, "=")
		value, err := lookUp(body, field)
		if err != nil {
			s.Fatalf("%s:%d: %s: %v", s.calls, n, word, err)
		}
		s.setenv(name, value)
	}
}

// role returns the least role that a path needs.
func role(path string) string {
	for _, role := range []string{"superadmin", "admin"} {
		if strings.HasPrefix(path, "/"+role+"/") {
			return role
		}
	}
	return "user"
}

// note adds a call to the transcript and returns the body of the answer.
func (s *session) note(command string) []byte {
	s.Helper()
	headers, err := os.ReadFile(filepath.Join(s.dir, "headers"))
	if err != nil {
		s.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(s.dir, "body"))
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	_ = os.Remove(filepath.Join(s.dir, "body")) // curl does not write an empty body
	shown := string(body)
	if strings.Contains(shown, "\x00") || len(shown) > 2000 {
		shown = fmt.Sprintf("(%d bytes)", len(body))
	}
	fmt.Fprintf(&s.transcript, "$ %s\n%s%s\n\n", command, bytes.ReplaceAll(headers, []byte("\r\n"), []byte("\n")), strings.TrimSpace(shown))
	return body
}

// lookUp returns a field, such as items.0.id, of a JSON document.
func lookUp(body []byte, field string) (string, error) {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return "", err
	}
	for key := range strings.SplitSeq(field, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(at) {
				return "", fmt.Errorf("the answer has no item %s: %.400s", key, body)
			}
			v = at[i]
		}
	}
	text, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("the answer has no text at %s: %.400s", field, body)
	}
	return text, nil
}
