package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/johannesboyne/gofakes3"

	"assetferry/sources"
	"assetferry/sources/s3"
)

func (b *bucket) store() s3.Store {
	b.tb.Helper()
	url, err := s3.ParseURL("s3://" + b.name + "/" + b.prefix)
	must(b.tb, err)
	s, err := s3.NewStore(b.tb.Context(), url, s3.Options{Endpoint: b.server.URL, Credentials: staticCredentials()})
	must(b.tb, err)
	b.tb.Cleanup(s.CloseIdleConnections)
	return s
}

// TestStore verifies that stored content is read unchanged, whatever its size and name, and that it
// is stored as one object.
func TestStore(t *testing.T) {
	b := newBucket(t, "backup/")
	s := b.store()
	if empty, err := s.IsEmpty(t.Context()); !empty || err != nil {
		t.Errorf("empty at first: %t, %v", empty, err)
	}
	for name, size := range map[string]int{"a/empty.txt": 0, "a/small %2F ü.txt": 3, "part.bin": 8 << 20, "parts.bin": 20<<20 + 1} {
		content := bytes.Repeat([]byte("0123456789abcdef!"), size/17+1)[:size]
		for range 2 { // twice: also where the object exists
			must(t, s.Write(t.Context(), name, "text/plain", int64(size), iotest.HalfReader(bytes.NewReader(content))))
		}
		n, err := s.Size(t.Context(), name)
		must(t, err)
		got, err := s.Read(t.Context(), name)
		must(t, err)
		if n != int64(size) || !bytes.Equal(got, content) {
			t.Errorf("%s: size %d, %d bytes come, want %d", name, n, len(got), size)
		}
	}
	if empty, err := s.IsEmpty(t.Context()); empty || err != nil {
		t.Errorf("empty: %t, %v", empty, err)
	}
	objects, err := list(t, b.source())
	must(t, err)
	if len(objects) != 4 || objects[0].Key != "a/empty.txt" {
		t.Errorf("%+v", objects)
	}
	for _, o := range objects {
		found, err := s.Find(t.Context(), o.Key)
		if found.Time = o.Time; found != o || err != nil { // this server has another time in lists
			t.Errorf("found %+v (%v), but listed %+v", found, err, o)
		}
	}
	for _, err := range []error{second(s.Size(t.Context(), "none")), second(s.Read(t.Context(), "none"))} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of what is not there: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestStoreRefusesOtherContent verifies that no object is created if the content does not match its
// size or checksum, and that no parts are kept.
func TestStoreRefusesOtherContent(t *testing.T) {
	errUnhealthy := errors.New("sick")
	for name, c := range map[string]struct {
		size    int64
		content io.Reader
		want    error
	}{
		"short":                 {5, strings.NewReader("four"), io.ErrUnexpectedEOF},
		"long":                  {3, strings.NewReader("four"), nil},
		"short of a part":       {20 << 20, io.LimitReader(zeros{}, 19<<20), io.ErrUnexpectedEOF},
		"longer than its parts": {20 << 20, io.LimitReader(zeros{}, 21<<20), nil},
		"cannot be read":        {20 << 20, io.MultiReader(io.LimitReader(zeros{}, 9<<20), iotest.ErrReader(errUnhealthy)), errUnhealthy},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, "")
			err := b.store().Write(t.Context(), "file", "", c.size, c.content)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			objects, err := list(t, b.source())
			must(t, err)
			if len(objects) != 0 {
				t.Errorf("%+v", objects)
			}
			begun, aborted := 0, 0
			for _, r := range b.asked() {
				if r.Method == http.MethodPost && r.URL.Query().Has("uploads") {
					begun++
				}
				if r.Method == http.MethodDelete && r.URL.Query().Has("uploadId") {
					aborted++
				}
			}
			if begun != aborted || c.size > 8<<20 && begun != 1 {
				t.Errorf("%d uploads were begun, %d taken back", begun, aborted)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestStoreFailures verifies that a part is sent again after a temporary failure, and that the
// error of a lasting one names the object.
func TestStoreFailures(t *testing.T) {
	b := newBucket(t, "backup/")
	s := b.store()
	refusals := 0
	b.answer(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && refusals < 2 {
				refusals++
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	must(t, s.Write(t.Context(), "file", "", 9<<20, io.LimitReader(zeros{}, 9<<20)))
	if n, err := s.Size(t.Context(), "file"); n != 9<<20 || err != nil || refusals != 2 {
		t.Errorf("%d bytes, %v, after %d refusals", n, err, refusals)
	}
	b.answerWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	err := s.Write(t.Context(), "file", "", 4, strings.NewReader("four"))
	if e, ok := errors.AsType[*sources.Error](err); !ok || e.Op != "write" || !strings.HasPrefix(err.Error(), "write s3://photos/backup/file: 403") {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := s.Write(ctx, "file", "", 4, strings.NewReader("four")); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestStoreVersions verifies that versions of a file have marks, in one piece and in parts, that a
// migration does not see the marks, and that the request for a version is not repeated.
func TestStoreVersions(t *testing.T) {
	b := newVersionedBucket(t, 1000)
	s := b.store()
	if kept, err := s.KeepsNewVersions(t.Context()); !kept || err != nil {
		t.Errorf("a bucket with versions: %t, %v", kept, err)
	}
	if _, err := s.Latest(t.Context(), "file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first version: %v", err)
	}
	for n, size := range []int64{3, 9 << 20, 4} {
		mark := fmt.Sprint("mark.", n)
		must(t, s.WriteVersion(t.Context(), "file", "text/plain", mark, size, io.LimitReader(zeros{}, size)))
		if got, err := s.Latest(t.Context(), "file"); got != mark || err != nil {
			t.Errorf("the mark is %q, %v; want %q", got, err, mark)
		}
	}
	src := b.source()
	var sizes []int64
	for v, err := range src.Versions(t.Context(), b.one(src)) {
		must(t, err)
		sizes = append(sizes, v.Size)
	}
	if !slices.Equal(sizes, []int64{9 << 20, 3}) {
		t.Errorf("the older versions have %d bytes", sizes)
	}
	r, err := src.Open(t.Context(), b.one(src), 0)
	must(t, err)
	d, err := r.(sources.Describer).Describe(t.Context())
	must(t, errors.Join(err, r.Close()))
	if d.Metadata != nil || d.ContentType != "text/plain" {
		t.Errorf("described as %+v", d)
	}
	for _, size := range []int64{4, 9 << 20} {
		lost := 0 // requests that are executed, but not answered
		b.answer(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				creates := r.Method == http.MethodPut && !r.URL.Query().Has("uploadId") || r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
				if !creates {
					next.ServeHTTP(w, r)
					return
				}
				lost++
				next.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
		})
		mark := fmt.Sprint("lost.", size)
		err := s.WriteVersion(t.Context(), "file", "", mark, size, io.LimitReader(zeros{}, size))
		if got, lerr := s.Latest(t.Context(), "file"); err == nil || lost != 1 || got != mark || lerr != nil {
			t.Errorf("%d bytes: %v after %d requests; the mark is %q, %v", size, err, lost, got, lerr)
		}
	}
}

// TestKeepsNewVersions verifies that a bucket that never had versions, or has none from now on, keeps
// none, and that the error names the permission.
func TestKeepsNewVersions(t *testing.T) {
	b := newVersionedBucket(t, 1000)
	s := b.store()
	must(t, b.backend.SetVersioningConfiguration(b.name, gofakes3.VersioningConfiguration{Status: gofakes3.VersioningSuspended}))
	if kept, err := s.KeepsNewVersions(t.Context()); kept || err != nil {
		t.Errorf("suspended: %t, %v", kept, err)
	}
	if kept, err := newBucket(t, "").store().KeepsNewVersions(t.Context()); kept || err != nil {
		t.Errorf("never: %t, %v", kept, err)
	}
	b.answerWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	_, err := s.KeepsNewVersions(t.Context())
	if e, ok := errors.AsType[*sources.Error](err); !ok || !strings.Contains(e.Hint, "s3:GetBucketVersioning") {
		t.Errorf("forbidden: %v", err)
	}
}
