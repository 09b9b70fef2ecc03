package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
)

// noise returns content in which a misplaced part is noticed.
func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
}

// cutting interrupts each answer to a GetObject after a number of bytes.
func cutting(after int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("list-type") {
				next.ServeHTTP(w, r)
				return
			}
			got := httptest.NewRecorder()
			next.ServeHTTP(got, r)
			for name, values := range got.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(got.Code)
			w.Write(got.Body.Bytes()[:min(after, got.Body.Len())]) // less than announced, so that the connection is closed
		})
	}
}

func TestResume(t *testing.T) {
	b := newBucket(t, "p/")
	content := noise(5<<20 + 7)
	must(t, b.put("a", content))
	src := b.source()
	o := b.one(src)
	b.answer(cutting(1<<20 + 1))
	b.asked()
	r, err := src.Open(t.Context(), o, 3)
	must(t, err)
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, content[3:]) {
		t.Errorf("%d bytes of %d and %v", len(got), len(content)-3, err)
	}
	must(t, r.Close())
	asked := b.asked()
	for i, r := range asked {
		if want := fmt.Sprintf("bytes=%d-", 3+i*(1<<20+1)); r.Header.Get("Range") != want || r.Header.Get("If-Match") != `"`+o.VersionTag+`"` {
			t.Errorf("request %d asks for %q if it is %q", i, r.Header.Get("Range"), r.Header.Get("If-Match"))
		}
	}
	if len(asked) != 5 {
		t.Errorf("%d requests, want 5", len(asked))
	}
}

// TestResumeIsBounded verifies that reading fails after several connections without progress.
func TestResumeIsBounded(t *testing.T) {
	for _, after := range []int{0, 1, 1000} {
		b := newBucket(t, "")
		must(t, b.put("a", noise(100_000)))
		src := b.source()
		o := b.one(src)
		b.answer(cutting(after))
		b.asked()
		r, err := src.Open(t.Context(), o, 0)
		must(t, err)
		got, err := io.ReadAll(r)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 5*after || !strings.Contains(err.Error(), "cut off 5 times") {
			t.Errorf("after %d bytes and %v", len(got), err)
		}
		if n := len(b.asked()); n != 5 {
			t.Errorf("%d requests, want 5", n)
		}
		if class, _ := retry.Classify(err); class != retry.Transient {
			t.Errorf("class %s", class)
		}
		must(t, r.Close())
	}
}

// readCut reads an object whose first connection breaks off, with a change before
// the second.
func (b *bucket) readCut(change func()) ([]byte, error) {
	b.tb.Helper()
	src := b.source()
	o := b.one(src)
	b.answer(cutting(1000))
	r, err := src.Open(b.tb.Context(), o, 0)
	must(b.tb, err)
	defer r.Close()
	start := make([]byte, 1000)
	_, err = io.ReadFull(r, start)
	must(b.tb, err)
	b.answer(nil)
	change()
	rest, err := io.ReadAll(r)
	return append(start, rest...), err
}

func TestResumeOfWhatChanged(t *testing.T) {
	b := newBucket(t, "")
	must(t, b.put("a", noise(5000)))
	got, err := b.readCut(func() { must(t, b.put("a", bytes.Repeat([]byte("n"), 5000))) })
	if !errors.Is(err, sources.ErrChanged) || len(got) != 1000 {
		t.Errorf("%d bytes and %v", len(got), err)
	}
	got, err = b.readCut(func() { must(t, b.remove("a")) })
	if !errors.Is(err, fs.ErrNotExist) || len(got) != 1000 {
		t.Errorf("%d bytes and %v", len(got), err)
	}
}

// TestResumeOfAnOldVersion verifies that in a bucket with versioning, the version that was opened
// is read to its end.
func TestResumeOfAnOldVersion(t *testing.T) {
	b := newBucket(t, "")
	b.keepVersions()
	content := noise(5000)
	must(t, b.put("a", content))
	got, err := b.readCut(func() { must(t, b.put("a", []byte("new"))) })
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes and %v", len(got), err)
	}
	version := false
	for _, r := range b.asked() {
		version = version || r.URL.Query().Get("versionId") != ""
	}
	if !version {
		t.Error("no version was asked for")
	}
}

// TestResumeWithoutPermissionForVersions verifies that the ETag is used if the credentials may not
// read versions, which need a permission of their own.
func TestResumeWithoutPermissionForVersions(t *testing.T) {
	b := newBucket(t, "")
	b.keepVersions()
	content := noise(5000)
	must(t, b.put("a", content))
	got, err := b.readCut(func() {
		b.answer(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("versionId") {
					refuse(http.StatusForbidden, "AccessDenied", "Access Denied")(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
	})
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes and %v", len(got), err)
	}
}

// TestAnswersThatDoNotFit verifies that an answer which does not match the listed object is
// refused.
func TestAnswersThatDoNotFit(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	send := func(tag, length string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", tag)
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			if length == "" { // no length
				http.NewResponseController(w).Flush()
			}
			body := "0123456789012345"
			if n, err := strconv.Atoi(length); err == nil {
				body = body[:n]
			}
			io.WriteString(w, body)
		}
	}
	object := sources.Object{Key: "a", Size: 10, VersionTag: "tag", Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		offset int64
		want   string
	}{
		"another version":           {send(`"other"`, "16"), 0, sources.ErrChanged.Error()},
		"another version, no tag":   {send("", "16", "Last-Modified", "Fri, 02 Jan 2026 03:04:06 GMT"), 0, sources.ErrChanged.Error()},
		"the time without its rest": {send("", "10", "Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT"), 0, ""},
		"longer":                    {send(`"tag"`, "16"), 0, "16 bytes instead of the listed 10"},
		"longer, not announced":     {send(`"tag"`, ""), 0, "more than the listed 10 bytes"},
		"shorter":                   {send(`"tag"`, "5"), 0, "5 bytes instead of the listed 10"},
		"no range":                  {send(`"tag"`, "10"), 5, "returned another range"},
		"another range":             {send(`"tag"`, "6", "Content-Range", "bytes 4-9/10"), 5, "returned another range"},
		"a range of another object": {send(`"tag"`, "5", "Content-Range", "bytes 5-9/16"), 5, "16 bytes instead of the listed 10"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, "")
			b.answerWith(test.answer)
			r, err := b.source().Open(t.Context(), object, test.offset)
			if err == nil {
				_, err = io.ReadAll(r)
				must(t, r.Close())
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestOffsets(t *testing.T) {
	b := newBucket(t, "")
	must(t, b.put("a", []byte("0123456789")))
	src := b.source()
	o := b.one(src)
	for _, offset := range []int64{-1, 11} {
		if _, err := src.Open(t.Context(), o, offset); err == nil {
			t.Errorf("offset %d is taken", offset)
		}
	}
	r, err := src.Open(t.Context(), o, 4)
	must(t, err)
	must(t, r.Close())
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("reading what is closed: %v", err)
	}
}
