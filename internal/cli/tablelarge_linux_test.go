package cli

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/test/longtest"
)

// A moody server serves contents that depend on their names, and makes some of the requests fail in
// typical ways. The failures depend on the path only, so they are reproducible.
type moody struct {
	requests, cuts, refusals, whole, lies atomic.Int64
	attempts                              sync.Map // number of requests by path
}

func contentOf(name string) []byte {
	h := fnv.New64a()
	h.Write([]byte(name))
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	content := make([]byte, 64+random.IntN(256))
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	return content
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.requests.Add(1)
	counter, _ := m.attempts.LoadOrStore(r.URL.Path, new(atomic.Int64))
	h := fnv.New64a()
	h.Write([]byte(r.URL.Path))
	random := rand.New(rand.NewPCG(h.Sum64(), uint64(counter.(*atomic.Int64).Add(1))))
	content := contentOf(path.Base(r.URL.Path))
	w.Header().Set("Etag", fmt.Sprintf(`"%x"`, h.Sum64()))
	switch mood := random.IntN(10_000); {
	case mood < 3: // rarely, because each one costs a second
		m.refusals.Add(1)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case mood < 100:
		m.refusals.Add(1)
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case mood < 300 && r.Method == http.MethodGet:
		m.lies.Add(1)
		w.Header().Set("Content-Length", strconv.Itoa(len(content)+1+random.IntN(100)))
		_, _ = w.Write(content)
		return
	case mood < 2300 && r.Method == http.MethodGet:
		m.cuts.Add(1)
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:random.IntN(len(content))])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case mood < 5000 && r.Header.Get("Range") != "":
		m.whole.Add(1)
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(content))
}

// A clerk verifies all uploads.
type clerk struct {
	watched atomic.Int64 // ID of the uploading process; 0 until it is known
	peak    atomic.Int64 // peak memory of that process, in KiB

	mu    sync.Mutex
	seen  map[string]int
	wrong []string
}

func (c *clerk) look(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/assets" {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = c.note(r.Header.Get("Content-Type"), body)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if pid := c.watched.Load(); pid != 0 {
				c.peak.Store(max(c.peak.Load(), peakOf(pid)))
			}
		}
		next.ServeHTTP(w, r)
	})
}

// peakOf returns the peak memory of a running process in KiB, and 0 for an ended one. The value
// that the system reports for an ended process includes the memory of its parent.
func peakOf(pid int64) (kib int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	if _, rest, found := strings.Cut(string(status), "VmHWM:"); found {
		_, _ = fmt.Sscan(rest, &kib)
	}
	return kib
}

func (c *clerk) note(contentType string, body []byte) error {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	form := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for {
		part, err := form.NextPart()
		if err != nil {
			return err
		}
		if part.FormName() != "file" {
			continue
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen[part.FileName()]++
		if !bytes.Equal(content, contentOf(part.FileName())) {
			c.wrong = append(c.wrong, part.FileName())
		}
		return nil
	}
}

var rowsFlag = flag.Int("rows", 1_500, "of the table of TestALargeTableOverABadServer")

// The test migrates a large table in random order from a server that closes connections, rejects
// requests, ignores ranges and sends wrong lengths. It verifies that every object is uploaded once
// with its content, and that memory does not grow with the table. The long form, which .ci/run runs
// separately, is
//
//	go test ./cli -run TestALargeTable -rows 100000 -v
func TestALargeTableOverABadServer(t *testing.T) {
	t.Parallel()
	rows, most := *rowsFlag, int64(200<<10) // KiB
	if longtest.Raced {
		most = 1 << 20
	}
	bad := &moody{}
	server := httptest.NewServer(bad)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("Asset URL,Folder,Title,File size\n")
	for _, n := range rand.New(rand.NewPCG(1, 2)).Perm(rows) {
		name := fmt.Sprintf("image-%06d.jpg", n)
		size := strconv.Itoa(len(contentOf(name)))
		if n%10 == 0 {
			size = "" // a HEAD request finds it
		}
		fmt.Fprintf(&b, "%s/%d/%s,Folder %03d,\"Number %d\nof many\",%s\n", server.URL, n, name, n%200, n, size)
	}
	if err := os.WriteFile(filepath.Join(dir, "export.csv"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startService(t, sandbox.Options{})
	c := &clerk{seen: map[string]int{}}
	s.wrap(c.look)
	p := commandWithin(t, 40*time.Minute, dir, s.variables(), "migrate", "table:export.csv", "--allow-private-networks", "--wait", "2m", "-j", "64")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	c.watched.Store(int64(p.Process.Pid))
	if code, err := exitCode(p.Wait()); code != exit.CodeDone || err != nil {
		t.Fatalf("exit code %d (%v)\n%s", code, err, p.stderr.String())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) != rows || len(c.wrong) > 0 {
		t.Errorf("%d of %d objects arrived, and other content of %.200q", len(c.seen), rows, c.wrong)
	}
	for name, times := range c.seen {
		if times != 1 {
			t.Errorf("%s arrived %d times", name, times)
		}
	}
	if bad.cuts.Load() == 0 || bad.refusals.Load() == 0 || bad.whole.Load() == 0 || bad.lies.Load() == 0 {
		t.Errorf("the server was too good: %+v", bad)
	}
	peak := c.peak.Load()
	t.Logf("%d requests for %d rows: %d answers broke off, %d were refusals, %d whole ones for a part, %d with a wrong length; %d MiB of memory",
		bad.requests.Load(), rows, bad.cuts.Load(), bad.refusals.Load(), bad.whole.Load(), bad.lies.Load(), peak>>10)
	if peak > most || peak == 0 {
		t.Errorf("%d KiB of memory, at most %d are allowed", peak, most)
	}
}
