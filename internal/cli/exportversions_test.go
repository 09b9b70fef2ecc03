package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// writtenFiles is the number of files that the export writes: the manifest, six revisions, three sidecars,
// and the manifest again.
const writtenFiles = 1 + 6 + 3 + 1

// TestKillExportWithVersions kills an export at each request that writes into the bucket, before the
// server executes it and after, and repeats the command. It verifies that a migration of the bucket
// makes the same revisions, in order and none twice, and that an interrupted export is not migrated.
func TestKillExportWithVersions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that was killed looks like one that failed")
	}
	t.Parallel()
	random := seedtest.Rand(t)
	s, b := startService(t, sandbox.Options{}), startBucket(t, "photos")
	if err := b.keepVersions(); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"a.txt 1", "a.txt 22", "a.txt 333", "a.txt 4444", "b.txt x", "c.txt y", "c.txt z"} {
		key, content, _ := strings.Cut(v, " ")
		if err := b.put(key, content); err != nil {
			t.Fatal(err)
		}
	}
	assetferry(t, t.TempDir(), variablesOf(s, b), "migrate", "s3://photos", "--versions", "9").must(t, exit.CodeDone)
	hits := make([]int, writtenFiles)
	for n := range hits {
		hits[n] = n + 1
	}
	one := random.IntN(writtenFiles - 1)
	for _, n := range longtest.Size(hits[one:one+2], hits) {
		for _, executed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %t", n, executed), func(t *testing.T) {
				t.Parallel()
				killExport(t, s, n, executed)
			})
		}
	}
}

func variablesOf(s *service, b *bucket) []string {
	return append(append(s.variables(), b.variables()...), "AWS_ACCESS_KEY_ID=anybody", "AWS_SECRET_ACCESS_KEY=anything")
}

func killExport(t *testing.T, s *service, n int, executed bool) {
	to, dir := startBucket(t, "backups"), t.TempDir()
	var kill atomic.Pointer[os.Process]
	var mu sync.Mutex // a request is killed before the next one is counted
	left := n
	to.wrap(func(inner http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPut {
				inner.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if left--; left != 0 {
				inner.ServeHTTP(w, r)
				return
			}
			if executed {
				inner.ServeHTTP(httptest.NewRecorder(), r)
			}
			if err := kill.Load().Kill(); err != nil {
				t.Error(err)
			}
		})
	})
	arguments := []string{"export", "s3://backups/x", "--versions", "3", "-j", "1", "--json"}
	p := assetferry(t, dir, variablesOf(s, to), arguments...)
	mu.Lock() // until the process is known
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	kill.Store(p.Process)
	mu.Unlock()
	if code, err := exitCode(p.Wait()); code != -1 {
		t.Fatalf("it did not die: %d, %v\n%s%s", code, err, p.stdout.String(), p.stderr.String())
	}
	second := startService(t, sandbox.Options{})
	migrate := func(code int) {
		assetferry(t, dir, variablesOf(second, to), "migrate", "s3://backups/x", "--versions", "9").must(t, code)
	}
	if n < writtenFiles || !executed {
		migrate(exit.CodeError) // it is incomplete
	}
	assetferry(t, dir, variablesOf(s, to), arguments...).must(t, exit.CodeDone)
	if last := lastEvent(t, assetferry(t, dir, variablesOf(s, to), arguments...).must(t, exit.CodeDone)); last.Actions["unchanged"] != 3 || len(last.Actions) != 1 {
		t.Errorf("the next export did %v", last.Actions)
	}
	migrate(exit.CodeDone)
	got, err := second.revisions()
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"Documents/a.txt: 22 333 4444", "Documents/b.txt: x", "Documents/c.txt: y z"}, got); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
}
