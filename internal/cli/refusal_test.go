package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
)

// The test verifies a bucket that rejects requests of a run: an error for one object is reported
// for that object, an error for all objects stops the run, and both runs can be resumed after a
// fix.
func TestBucketThatRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status     int
		code       string
		of         string // key of the only object that is rejected; empty: all
		exit       int
		done, rest int64
		state, say string
	}{
		"expired":   {400, "ExpiredToken", "", exit.CodeAuth, 0, 12, "planned", "Try: renew the credentials (for example, aws sso login) and run the same command again"},
		"archived":  {403, "InvalidObjectState", "file 006.jpg", exit.CodeItems, 11, 1, "failed", "in an archive storage class"},
		"forbidden": {403, "AccessDenied", "file 006.jpg", exit.CodeItems, 11, 1, "failed", "403 AccessDenied"},
		"gone":      {404, "NoSuchKey", "file 006.jpg", exit.CodeItems, 11, 1, "changed", "deleted at the source after it was listed"},
		"changed":   {412, "PreconditionFailed", "file 006.jpg", exit.CodeItems, 11, 1, "changed", "changed since it was listed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := smallTree(12)
			files.write(t, filepath.Join(dir, "src"))
			b := startBucket(t, "photos")
			if err := b.putTree(filepath.Join(dir, "src")); err != nil {
				t.Fatal(err)
			}
			b.wrap(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Has("list-type") || test.of != "" && r.URL.Path != "/photos/"+test.of {
						next.ServeHTTP(w, r)
						return
					}
					w.WriteHeader(test.status)
					fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", test.code)
				})
			})
			s := startService(t, sandbox.Options{})
			env := append(append(s.variables(), b.variables()...), "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret")
			migrate := func() *process { return assetferry(t, dir, env, "migrate", "s3://photos", "--json", "-j", "2") }
			p := migrate()
			sum := lastEvent(t, p.must(t, test.exit))
			if sum.States["done"] != test.done || sum.States[test.state] != test.rest {
				t.Errorf("states %v", sum.States)
			}
			if said := p.stdout.String() + p.stderr.String(); !strings.Contains(said, test.say) {
				t.Errorf("no output contains %q: %s", test.say, said)
			}
			b.wrap(nil)
			migrate().must(t, exit.CodeDone)
			files.check(t, s)
		})
	}
}
