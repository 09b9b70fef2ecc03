package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/tokens"
)

// TestSecretsOfOptions is TestSecrets for options that give the AI content service access to
// images. The service receives the secret, but no output contains it, even if the service repeats
// it.
func TestSecretsOfOptions(t *testing.T) {
	t.Parallel()
	environment := tokens.Environment{ID: "5f0c8a1be27d934610fe", AccessKey: "an-access-key"}
	const headers = `[{"domain":"https://example.com/","headers":{"authorization":"Bearer ` + mark + `\"quoted"}}]`
	l := newLeakTest(t)
	page := filepath.Join(l.dir, "page.html")
	if err := os.WriteFile(page, []byte(`<!doctype html><html lang="en"><p><img src="https://example.com/photo.jpg"></p>`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startService(t, sandbox.Options{Environments: []tokens.Environment{environment}})
	w := startWordsOf(t, aiservice.Options{Environments: []tokens.Environment{environment}})
	arrived := 0
	w.wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/documents/process" {
				next.ServeHTTP(rw, r)
				return
			}
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"extraHttpHeaders":`+headers) {
				arrived++
			}
			rw.WriteHeader(http.StatusBadRequest)
			_, _ = rw.Write(body) // a client that closed the connection reports it
		})
	})
	l.env = append(s.variables(), w.variables()...)
	l.env = append(l.env, "IMAGE_HEADERS="+headers)
	runs := 0
	for _, form := range [][]string{nil, {"--json"}, {"--verbose", "--log-file", "log"}} {
		for _, option := range []string{"extraHttpHeaders=@" + l.input(t, "headers", headers), "extraHttpHeaders=env:IMAGE_HEADERS"} {
			p := assetferry(t, l.dir, l.env, append([]string{"enrich", "documents", page, "--yes", "--option", option}, form...)...)
			if code := p.run(t); code == exit.CodeDone {
				t.Errorf("%v: exit code %d\n%s", p.Args, code, p.stderr.String())
			}
			runs++
			for _, leak := range append(leaks("stdout", p.stdout.Bytes()), leaks("stderr", p.stderr.Bytes())...) {
				t.Errorf("%v: %s", p.Args, leak)
			}
		}
	}
	if arrived != runs {
		t.Errorf("the headers arrived %d of %d times", arrived, runs)
	}
	l.searchFiles(t)
}
