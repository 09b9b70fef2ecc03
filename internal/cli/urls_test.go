package cli

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
)

// A brought is a migrated library at a service, with its state database.
type brought struct {
	testing.TB
	*service
	dir string
}

func bring(t *testing.T, library tree) *brought {
	t.Helper()
	b := &brought{t, startService(t, sandbox.Options{}), t.TempDir()}
	library.write(t, filepath.Join(b.dir, "src"))
	b.ferry(exit.CodeDone, "migrate", "src")
	return b
}

// ferry runs a command, and returns stdout and stderr.
func (b *brought) ferry(want int, args ...string) (stdout, stderr string) {
	b.Helper()
	p := assetferry(b, b.dir, b.variables(), args...)
	p.must(b, want)
	return p.stdout.String(), p.stderr.String()
}

// deliver makes the service deliver files with another handler.
func (b *brought) deliver(how http.HandlerFunc) {
	b.wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/file") {
				how(w, r)
			} else {
				next.ServeHTTP(w, r)
			}
		})
	})
}

func wantIn(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("got %s, want something with %q", text, w)
		}
	}
}

// The test verifies that urls omits assets of a category that the state database does not know.
func TestURLsOfUnknownPrivacy(t *testing.T) {
	b := bring(t, tree{"one.jpg": "one", "two.txt": "two"})
	states, err := filepath.Glob(filepath.Join(b.dir, "state", "assetferry", "*.db"))
	if err != nil || len(states) != 1 {
		t.Fatalf("state databases %v (%v)", states, err)
	}
	if err := os.Remove(states[0] + ".sums"); err != nil { // its checksums would reveal the change
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", states[0])
	if err == nil {
		_, err = db.ExecContext(t.Context(), `DELETE FROM categories WHERE name = 'Images'`)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := b.ferry(exit.CodeDone, "urls")
	if strings.Contains(stdout, "one.jpg") || !strings.Contains(stdout, "two.txt") {
		t.Errorf("got %s", stdout)
	}
	wantIn(t, stderr, "Omitted: 1 URL in categories of unknown privacy", "Try: check the categories:\n  assetferry verify")
	stdout, _ = b.ferry(exit.CodeDone, "urls", "--json")
	wantIn(t, stdout, `"urls":1,"verified":0,"omitted":{"privacy_unknown":1}`)
	b.ferry(exit.CodeDone, "verify")
	stdout, _ = b.ferry(exit.CodeDone, "urls")
	wantIn(t, stdout, "/one.jpg\t")
}

// The test verifies that --run lists only the assets that one run uploaded or adopted.
func TestURLsOfRun(t *testing.T) {
	b := bring(t, tree{"one.jpg": "one"})
	tree{"two.txt": "two"}.write(t, filepath.Join(b.dir, "src"))
	stdout, _ := b.ferry(exit.CodeDone, "migrate", "src", "--json")
	run := lastEvent(t, stdout).Run
	stdout, _ = b.ferry(exit.CodeDone, "urls", "--run", run)
	if !strings.HasPrefix(stdout, "/two.txt\t") || strings.Count(stdout, "\n") != 1 {
		t.Errorf("got %s", stdout)
	}
	stdout, _ = b.ferry(exit.CodeDone, "urls", "--run", run, "--check", "--all")
	wantIn(t, stdout, "Checked 1 of 1 URL: all lead to their assets (")
}

// The test verifies that a private asset that the public can read is the most severe result of a
// check.
func TestURLsCheckPrivacy(t *testing.T) {
	b := bring(t, tree{"one.jpg": "one", "two.txt": "two"})
	if err := b.makePrivate("Images"); err != nil {
		t.Fatal(err)
	}
	b.ferry(exit.CodeDone, "verify")
	stdout, _ := b.ferry(exit.CodeDone, "urls", "--check")
	wantIn(t, stdout, "Checked 1 of 1 URL: all lead to their assets (", "Checked 1 of 1 URL of private assets: none can be read")
	b.deliver(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "3") })
	stdout, stderr := b.ferry(exit.CodeDifference, "urls", "--check")
	wantIn(t, stdout, "! one.jpg: ALARM: private asset, readable by everyone at http://", "1 can be read by EVERYONE")
	wantIn(t, stderr, "Try: check in the service")
	stdout, _ = b.ferry(exit.CodeDifference, "urls", "--check", "--json")
	wantIn(t, stdout, `"key":"one.jpg"`, `"field":"privacy","want":"401","got":"200"`)
}

// The test verifies that sizes are compared if the service returns them, with and without HEAD.
func TestURLsCheckSize(t *testing.T) {
	b := bring(t, tree{"one.jpg": "one"})
	b.deliver(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Range", "bytes 0-0/4")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write([]byte("o"))
	})
	stdout, _ := b.ferry(exit.CodeDifference, "urls", "--check")
	wantIn(t, stdout, "has 4 bytes instead of 3", "Checked 1 of 1 URL: 1 does not lead to its asset (")
	b.deliver(func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() })
	_, stderr := b.ferry(exit.CodeDone, "urls", "--check")
	wantIn(t, stderr, "Size not compared: 1 URL without a content length.")
}

// The test verifies that an existing map is replaced as a whole or kept.
func TestURLsKeepTheMapThatIsThere(t *testing.T) {
	b := bring(t, tree{"one.jpg": "one"})
	path := filepath.Join(b.dir, "map")
	if err := os.WriteFile(path, []byte("former"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.ferry(exit.CodeNoSuch, "urls", "--output", "map", "--run", "20260101-0000-aaaaa")
	if text, err := os.ReadFile(path); err != nil || string(text) != "former" {
		t.Errorf("the map is %q (%v)", text, err)
	}
	b.ferry(exit.CodeDone, "urls", "--output", "map")
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "/one.jpg\t") {
		t.Errorf("the map is %q (%v)", text, err)
	}
	if left, err := filepath.Glob(filepath.Join(b.dir, ".map*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
