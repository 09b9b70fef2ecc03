package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// An arrived is a source of a hundred uploaded images, in a folder.
type arrived struct {
	*service
	dir string
}

const pictures = 100

func arrive(t *testing.T) arrived {
	t.Helper()
	a := arrived{startService(t, sandbox.Options{}), t.TempDir()}
	for n := range pictures {
		a.write(t, n, "before")
	}
	a.sync(t, exit.CodeDone)
	a.drain()
	return a
}

func (a arrived) path(n int) string { return filepath.Join(a.dir, "src", fmt.Sprintf("%03d.jpg", n)) }

// write gives a file a content with the signature of an image.
func (a arrived) write(t *testing.T, n int, text string) {
	t.Helper()
	tree{fmt.Sprintf("%03d.jpg", n): fmt.Sprintf("\xff\xd8\xff picture %d, %s", n, text)}.write(t, filepath.Join(a.dir, "src"))
}

func (a arrived) sync(t *testing.T, exit int, switches ...string) string {
	t.Helper()
	p := assetferry(t, a.dir, a.variables(), append([]string{"sync", "src"}, switches...)...)
	p.must(t, exit)
	return p.stdout.String() + p.stderr.String()
}

// wrote returns the requests since the last call that may have changed something.
func (a arrived) wrote() []string {
	return slices.DeleteFunc(a.drain(), func(r string) bool { return strings.HasPrefix(r, "GET ") || strings.HasPrefix(r, "HEAD ") })
}

func (a arrived) remove(t *testing.T, n int) {
	t.Helper()
	for n := range n {
		if err := os.Remove(a.path(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// The test verifies that syncs of sources with typical failures write nothing, and end with the
// exit code and the message for the failure.
func TestUnhealthySource(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		harm     func(*testing.T, arrived)
		switches []string
		exit     int
		say      string
	}{
		"not mounted": {func(t *testing.T, a arrived) {
			if err := os.Rename(filepath.Join(a.dir, "src"), filepath.Join(a.dir, "elsewhere")); err != nil {
				t.Fatal(err)
			}
		}, nil, exit.CodeError, "does not exist"},
		"empty":                {func(t *testing.T, a arrived) { a.remove(t, pictures) }, nil, exit.CodeSafetyCheck, "the source is empty, but 100 of its objects were uploaded before"},
		"without its sentinel": {func(*testing.T, arrived) {}, []string{"--sentinel", "here.txt"}, exit.CodeSafetyCheck, "the source has no here.txt, but --sentinel requires it; nothing was uploaded"},
		"encrypted": {func(t *testing.T, a arrived) {
			for n := range 15 {
				tree{fmt.Sprintf("%03d.jpg", n): fmt.Sprintf("anything but a picture, %d", n)}.write(t, filepath.Join(a.dir, "src"))
			}
		}, nil, exit.CodeSafetyCheck, "15 of 15 changed objects that were read have a type that does not match their names"},
		"changed all over": {func(t *testing.T, a arrived) {
			for n := range 21 {
				a.write(t, n, "changed")
			}
		}, nil, exit.CodeSafetyCheck, "21 assets would be replaced, moved or get new metadata, of 100 known objects"},
		"by other rules": {func(*testing.T, arrived) {}, []string{"--exclude", "01*"}, exit.CodeSafetyCheck, `--exclude was not set, is ["01*"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := arrive(t)
			test.harm(t, a)
			switches := append([]string{"--delete", "trash", "--grace-period", "0s"}, test.switches...)
			for range 2 { // a timer starts it repeatedly
				if said := a.sync(t, test.exit, switches...); !strings.Contains(said, test.say) {
					t.Errorf("no output contains %q: %s", test.say, said)
				}
			}
			if wrote := a.wrote(); len(wrote) > 0 {
				t.Errorf("it wrote %q", wrote)
			}
		})
	}
}

// The test verifies each limit of sync: at the limit, one beyond it, and beyond it with an
// override. The short form runs a quarter of the cases.
func TestLimitsOfSync(t *testing.T) {
	t.Parallel()
	random := seedtest.Rand(t)
	removing := []string{"--delete", "trash", "--grace-period", "0s"}
	for name, test := range map[string]struct {
		change       int // number of changed images
		remove       int
		switches     []string
		exit         int
		trashes      bool
		sendsChanges bool
	}{
		"deletes at the limit":     {1, 3, []string{"--max-delete", "3", "--max-delete-percent", "50"}, exit.CodeDone, true, true},
		"deletes beyond it":        {1, 3, []string{"--max-delete", "2", "--max-delete-percent", "50"}, exit.CodeSafetyCheck, false, true},
		"deletes at their part":    {1, 7, []string{"--max-delete-percent", "7"}, exit.CodeDone, true, true},
		"deletes beyond it by 1":   {1, 8, []string{"--max-delete-percent", "7"}, exit.CodeSafetyCheck, false, true},
		"deletes with consent":     {1, 8, []string{"--max-delete-percent", "7", "--accept-deletes", "8"}, exit.CodeDone, true, true},
		"deletes with too little":  {1, 8, []string{"--max-delete-percent", "7", "--accept-deletes", "7", "--yes"}, exit.CodeSafetyCheck, false, true},
		"a few deletes":            {1, 5, nil, exit.CodeDone, true, true},
		"no more than a few":       {1, 6, nil, exit.CodeSafetyCheck, false, true},
		"a few of no part at all":  {1, 1, []string{"--max-delete-percent", "0"}, exit.CodeSafetyCheck, false, true},
		"changes at the limit":     {30, 0, []string{"--max-changes", "30", "--max-changes-percent", "100"}, exit.CodeDone, false, true},
		"changes beyond it":        {31, 0, []string{"--max-changes", "30", "--max-changes-percent", "100"}, exit.CodeSafetyCheck, false, false},
		"changes at their part":    {30, 0, []string{"--max-changes-percent", "30"}, exit.CodeDone, false, true},
		"changes beyond that":      {31, 0, []string{"--max-changes-percent", "30"}, exit.CodeSafetyCheck, false, false},
		"changes with consent":     {31, 0, []string{"--max-changes-percent", "30", "--accept-changes", "31"}, exit.CodeDone, false, true},
		"changes with too little":  {31, 0, []string{"--max-changes-percent", "30", "--accept-changes", "30", "--yes"}, exit.CodeSafetyCheck, false, false},
		"a few are never too many": {20, 0, []string{"--max-changes-percent", "1"}, exit.CodeDone, false, true},
	} {
		if !longtest.Takes(random, 4) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := arrive(t)
			a.remove(t, test.remove)
			a.sync(t, exit.CodeDone, removing...) // detects the deletions for the first time
			for n := range test.change {
				a.write(t, pictures-1-n, "changed")
			}
			a.drain()
			said := a.sync(t, test.exit, append(test.switches, removing...)...)
			wrote := a.wrote()
			trashed := slices.Contains(wrote, "POST /assets/trash")
			if trashed != test.trashes || (len(wrote) > 0 && !(trashed && len(wrote) == 1)) != test.sendsChanges {
				t.Errorf("it wrote %q\n%s", wrote, said)
			}
			if test.exit == exit.CodeSafetyCheck && (!strings.Contains(said, "known object") || !strings.Contains(said, "--accept-")) {
				t.Errorf("it does not say what was too much, and the way out: %s", said)
			}
		})
	}
}

// The test verifies syncs of a bucket whose listing is denied, or ends too early.
func TestUnhealthyBucket(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of     string // query parameter of the rejected requests
		status int
		code   string
		exit   int
	}{
		"forbidden":   {"list-type", http.StatusForbidden, "AccessDenied", exit.CodeAuth},
		"not there":   {"list-type", http.StatusNotFound, "NoSuchBucket", exit.CodeError},
		"half listed": {"continuation-token", http.StatusBadRequest, "InvalidArgument", exit.CodeError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBucket(t, "photos")
			for n := range 8 {
				if err := b.put(fmt.Sprintf("%d.jpg", n), fmt.Sprint(n)); err != nil {
					t.Fatal(err)
				}
			}
			a := arrived{startService(t, sandbox.Options{}), t.TempDir()}
			env := append(append(a.variables(), b.variables()...), "AWS_ACCESS_KEY_ID=anybody", "AWS_SECRET_ACCESS_KEY=anything")
			sync := func() *process {
				return assetferry(t, a.dir, env, "sync", "s3://photos", "--delete", "trash", "--grace-period", "0s")
			}
			var refuses atomic.Bool
			b.wrap(func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					query := r.URL.Query()
					if refuses.Load() && query.Has(test.of) {
						w.WriteHeader(test.status)
						fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", test.code)
						return
					}
					if query.Has("list-type") {
						query.Set("max-keys", "3")
						r.URL.RawQuery = query.Encode()
					}
					next.ServeHTTP(w, r)
				})
			})
			sync().must(t, exit.CodeDone)
			a.drain()
			refuses.Store(true)
			for range 2 {
				p := sync()
				p.must(t, test.exit)
				if said := p.stderr.String(); !strings.Contains(said, "list s3://photos") || !strings.Contains(said, test.code) {
					t.Errorf("it says %s", said)
				}
			}
			if wrote := a.wrote(); len(wrote) > 0 {
				t.Errorf("it wrote %q", wrote)
			}
			refuses.Store(false)
			sync().must(t, exit.CodeDone)
			if wrote := a.wrote(); len(wrote) > 0 {
				t.Errorf("once it was well it wrote %q", wrote)
			}
		})
	}
}
