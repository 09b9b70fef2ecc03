package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

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
