package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
)

// versionsOf returns the contents of the versions of an object, the oldest first.
func (b *bucket) versionsOf(t *testing.T, key string) (all string) {
	t.Helper()
	found, err := b.backend.ListBucketVersions(b.name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []gofakes3.VersionID // they ascend
	for _, item := range found.Versions {
		if v, ok := item.(*gofakes3.Version); ok && v.Key == key {
			ids = append(ids, v.VersionID)
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		o, err := b.backend.GetObjectVersion(b.name, key, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(o.Contents)
		if err != nil {
			t.Fatal(err)
		}
		all += " " + string(content)
	}
	return all
}

// TestKillExportWithVersions kills an export at each request that writes into the bucket, before the
// server executes it and after, and repeats the command. It verifies that the versions of each object
// are the revisions of its asset, in order and none twice.
func TestKillExportWithVersions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process that was killed cannot be told from one that failed")
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
	variables := func(b *bucket) []string {
		return append(append(s.variables(), b.variables()...), "AWS_ACCESS_KEY_ID=anybody", "AWS_SECRET_ACCESS_KEY=anything")
	}
	assetferry(t, t.TempDir(), variables(b), "migrate", "s3://photos", "--versions", "9").must(t, exit.CodeDone)
	const writes = 1 + 3 + 1 + 2 + 3 + 1 // the manifest, revisions and sidecars, and the manifest
	hits := make([]int, writes)
	for n := range hits {
		hits[n] = n + 1
	}
	one := random.IntN(writes - 2)
	for _, n := range longtest.Size(hits[one:one+2], hits) {
		for _, executed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %t", n, executed), func(t *testing.T) {
				t.Parallel()
				killExport(t, n, executed, variables)
			})
		}
	}
}

func killExport(t *testing.T, n int, executed bool, variables func(*bucket) []string) {
	to, dir := startBucket(t, "backups"), t.TempDir()
	if err := to.keepVersions(); err != nil {
		t.Fatal(err)
	}
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
	p := assetferry(t, dir, variables(to), arguments...)
	mu.Lock() // until the process is known
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	kill.Store(p.Process)
	mu.Unlock()
	if code, err := exitCode(p.Wait()); code != -1 {
		t.Fatalf("it did not die: %d, %v\n%s%s", code, err, p.stdout.String(), p.stderr.String())
	}
	assetferry(t, dir, variables(to), arguments...).must(t, exit.CodeDone)
	got := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		got[name] = to.versionsOf(t, "x/Documents/"+name+".txt")
	}
	if diff := gocmp.Diff(map[string]string{"a": " 22 333 4444", "b": " x", "c": " y z"}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if last := lastEvent(t, assetferry(t, dir, variables(to), arguments...).must(t, exit.CodeDone)); last.Actions["unchanged"] != 3 || len(last.Actions) != 1 {
		t.Errorf("the next export did %v", last.Actions)
	}
}
