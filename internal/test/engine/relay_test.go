//go:build unix

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"assetferry/internal/assets"
	"assetferry/internal/ratelimit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/plan"
	"assetferry/sources/s3"
	"assetferry/state"
)

// A relay connects a bucket and a service: both answer after a latency, with as little work as
// possible.
type relay struct {
	objects int
	latency time.Duration
	content []byte
	tokens  *token.Minter

	bucket, service             *httptest.Server
	dialedBucket, dialedService *atomic.Int64

	uploads atomic.Int64
}

const relayBucket, relayTag = "photos", `"9e107d9d372bb6826bd81d3542a419d6"`

func newRelay(b testing.TB, objects, size int, latency time.Duration) *relay {
	b.Helper()
	r := &relay{objects: objects, latency: latency, content: bytes.Repeat([]byte("0123456789abcdef"), size/16)}
	env := tokens.NewCredentials()
	s, err := sandbox.New(sandbox.Options{Environments: []tokens.Environment{{ID: env.EnvironmentID, AccessKey: env.AccessKey}}})
	must(b, err)
	r.tokens, err = token.NewMinter(token.NewSecret(string(env.AccessKey)), token.Claims{Environment: env.EnvironmentID})
	must(b, err)
	r.bucket, r.dialedBucket = countingServer(r.serveBucket)
	r.service, r.dialedService = countingServer(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost && q.URL.Path == "/assets" {
			r.discard(w, q)
			return
		}
		s.ServeHTTP(w, q)
	})
	b.Cleanup(func() { r.bucket.Close(); r.service.Close(); s.Close() })
	return r
}

// countingServer returns a server and the number of connections to it.
func countingServer(f http.HandlerFunc) (*httptest.Server, *atomic.Int64) {
	s, dialed := httptest.NewUnstartedServer(f), &atomic.Int64{}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dialed.Add(1)
		}
	}
	s.Start()
	return s, dialed
}

func relayKey(n int) string { return fmt.Sprintf("folder%02d/file%07d.zip", n%20, n) }

// keys returns all keys, sorted.
func (r *relay) keys() []string {
	keys := make([]string, 0, r.objects)
	for folder := range 20 {
		for n := folder; n < r.objects; n += 20 {
			keys = append(keys, relayKey(n))
		}
	}
	return keys
}

func (r *relay) serveBucket(w http.ResponseWriter, q *http.Request) {
	if q.URL.Query().Has("list-type") {
		r.list(w, q)
		return
	}
	time.Sleep(r.latency)
	h := w.Header()
	h.Set("ETag", relayTag)
	h.Set("Content-Length", strconv.Itoa(len(r.content)))
	h.Set("Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT")
	_, _ = w.Write(r.content)
}

func (r *relay) list(w http.ResponseWriter, q *http.Request) {
	first, _ := strconv.Atoi(q.URL.Query().Get("continuation-token"))
	keys := r.keys()[first:]
	more := len(keys) > 1000
	if more {
		keys = keys[:1000]
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "<ListBucketResult><Name>%s</Name><IsTruncated>%v</IsTruncated>", relayBucket, more)
	if more {
		fmt.Fprintf(&text, "<NextContinuationToken>%d</NextContinuationToken>", first+1000)
	}
	for _, k := range keys {
		fmt.Fprintf(&text, "<Contents><Key>%s</Key><Size>%d</Size><ETag>%s</ETag><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>", k, len(r.content), relayTag)
	}
	text.WriteString("</ListBucketResult>")
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write(text.Bytes())
}

// discard answers an upload as the service would, and stores nothing.
func (r *relay) discard(w http.ResponseWriter, q *http.Request) {
	head := make([]byte, 512)
	n, _ := io.ReadFull(q.Body, head)
	_, _ = io.Copy(io.Discard, q.Body)
	_, after, _ := strings.Cut(string(head[:n]), `filename="`)
	name, _, _ := strings.Cut(after, `.zip"`)
	time.Sleep(r.latency)
	id := r.uploads.Add(1)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":"asset%015d","name":%q,"extension":"zip","size":%d,"mimeType":"application/zip","categoryId":"c","folderId":"f",`+
		`"uploadedAt":"2026-01-02T03:04:05.000Z","lastModifiedAt":"2026-01-02T03:04:05.000Z","tags":[],"url":"https://cdn.example.com/w/assets/asset%015d/file",`+
		`"imageUrls":{},"metadata":{"description":"","customAttributes":{},"metadataProcessingStatus":"success"}}`, id, name, len(r.content), id)
}

// BenchmarkRelay moves objects of 20 KiB from a bucket into a service that discards them, with a
// durable state database. It is for profiles: CPU and allocations include those of the servers. The
// package internal/test/bench measures a bare loop for comparison.
func BenchmarkRelay(b *testing.B) {
	for _, c := range []struct {
		latency       time.Duration
		objects, once int
	}{{0, 10_000, 16}, {20 * time.Millisecond, 10_000, 32}, {50 * time.Millisecond, 6000, 32}} {
		b.Run(c.latency.String(), func(b *testing.B) {
			b.ReportAllocs()
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				r := newRelay(b, c.objects, 20<<10, c.latency)
				r.migrate(b, c.once, func(apply func()) {
					before := cpuTime(b)
					b.StartTimer()
					apply()
					b.StopTimer()
					used += cpuTime(b) - before
				})
				if n := r.uploads.Load(); n != int64(c.objects) {
					b.Fatalf("%d uploads, want %d", n, c.objects)
				}
				b.StartTimer()
			}
			all := float64(c.objects * b.N)
			rate := all / b.Elapsed().Seconds()
			b.ReportMetric(rate, "assets/s")
			b.ReportMetric(used.Seconds()*1e6/all, "CPU-µs/asset")
			if c.latency > 0 {
				b.ReportMetric(rate*c.latency.Seconds()/float64(c.once), "of-possible")
			}
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// migrate plans, and passes do the function that applies the plan.
func (r *relay) migrate(tb testing.TB, once int, do func(apply func())) {
	tb.Helper()
	client, err := assets.New(assets.Options{BaseURL: r.service.URL, Tokens: r.tokens, Limiter: ratelimit.New(ratelimit.Options{Max: once})})
	must(tb, err)
	defer client.CloseIdleConnections()
	rawURL, err := s3.ParseURL("s3://" + relayBucket)
	must(tb, err)
	source, err := s3.New(tb.Context(), rawURL, s3.Options{
		Endpoint: r.bucket.URL, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), Connections: migrate.Workers(once),
	})
	must(tb, err)
	defer source.CloseIdleConnections()
	store, err := state.Open(tb.Context(), filepath.Join(tb.TempDir(), "state.db"))
	must(tb, err)
	pair, err := store.Pair(tb.Context(), source.Identity(), "bench", r.service.URL)
	must(tb, err)
	rules, err := json.Marshal(migrate.DefaultRules())
	must(tb, err)
	deps := migrate.Deps{Source: source, Dest: client, State: store}
	run, err := store.Begin(tb.Context(), pair, "migrate", rules)
	must(tb, err)
	plan, err := plan.New(deps, migrate.DefaultRules()).Plan(tb.Context(), run)
	must(tb, err)
	applier := apply.New(deps, client)
	applier.Concurrency = once
	do(func() { must(tb, applier.Apply(tb.Context(), plan.Run)) })
	must(tb, store.Close())
}

// TestConnectionsAreUsedAgain verifies that the workers reuse their connections, however many
// objects there are.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	const once, objects = 20, 1000
	r := newRelay(t, objects, 1<<10, 0)
	r.migrate(t, once, func(apply func()) { apply() })
	if n := r.uploads.Load(); n != objects {
		t.Errorf("%d uploads, want %d", n, objects)
	}
	if n, most := r.dialedBucket.Load(), int64(2*migrate.Workers(once)); n > most {
		t.Errorf("%d connections to the bucket, want at most %d", n, most)
	}
	// While the window grows, a new connection may serve another request than the one that opened
	// it.
	if n := r.dialedService.Load(); n > 2*once {
		t.Errorf("%d connections to the service, want at most %d", n, 2*once)
	}
}
