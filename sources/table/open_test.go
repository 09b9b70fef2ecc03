package table_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/remote"
	"assetferry/sources/table"
)

func read(tb testing.TB, s sources.Source, o sources.Object, offset int64) ([]byte, error) {
	tb.Helper()
	r, err := s.Open(tb.Context(), o, offset)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// bytesOf returns content with a long period.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
}

// cutting interrupts each answer to GET after a number of bytes.
func cutting(after int, ranges bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				next.ServeHTTP(w, r)
				return
			}
			if !ranges {
				r.Header.Del("Range")
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			for name, v := range answer.Header() {
				w.Header()[name] = v
			}
			w.WriteHeader(answer.Code)
			body := answer.Body.Bytes()
			w.Write(body[:min(after, len(body))])
			w.(http.Flusher).Flush()
			if after < len(body) {
				panic(http.ErrAbortHandler)
			}
		})
	}
}

func TestABodyThatBreaksOffIsTakenUp(t *testing.T) {
	content := bytesOf(1000)
	for _, columns := range [][]string{{"url"}, {"url", "size"}} {
		m := newManager(t, "t.csv")
		m.export(columns, []string{m.put("a.jpg", content), "1000"}[:len(columns)])
		m.answer(cutting(200, true))
		s := m.source()
		o := one(t, s)
		m.asked()
		got, err := read(t, s, o, 0)
		if err != nil || !bytes.Equal(got, content) {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
		asked := m.asked()
		if len(asked) != 5 || asked[4].Header.Get("Range") != "bytes=800-" || asked[4].Header.Get("If-Match") != `"v1"` || asked[4].Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%d requests, the last one with %v", len(asked), asked[len(asked)-1].Header)
		}
	}
}

func TestABodyThatDoesNotComeToItsEnd(t *testing.T) {
	m := newManager(t, "t.csv")
	m.export([]string{"url"}, []string{m.put("a.jpg", bytesOf(1000))})
	m.answer(cutting(1, false))
	s := m.source()
	_, err := read(t, s, one(t, s), 0)
	if class, _ := retry.Classify(err); !errors.Is(err, io.ErrUnexpectedEOF) || class != retry.Transient {
		t.Errorf("got %v", err)
	}
}

// TestAVersionThatComesInBetween verifies that content which changes between two connections is
// never mixed.
func TestAVersionThatComesInBetween(t *testing.T) {
	for _, columns := range [][]string{{"url"}, {"url", "size"}} {
		m := newManager(t, "t.csv")
		m.export(columns, []string{m.put("a.jpg", bytesOf(1000)), "1000"}[:len(columns)])
		s := m.source()
		o := one(t, s)
		m.answer(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					defer m.put("a.jpg", make([]byte, 1000))
				}
				cutting(200, true)(next).ServeHTTP(w, r)
			})
		})
		if _, err := read(t, s, o, 0); !errors.Is(err, sources.ErrChanged) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAnswersThatAreNoContent(t *testing.T) {
	for status, want := range map[int]struct {
		is    error
		class retry.Class
		hint  string
	}{
		401: {fs.ErrPermission, retry.Permanent, "ASSETFERRY_SOURCE_HEADERS"},
		403: {fs.ErrPermission, retry.Permanent, "ASSETFERRY_SOURCE_HEADERS"},
		404: {fs.ErrNotExist, retry.Permanent, ""},
		410: {fs.ErrNotExist, retry.Permanent, ""},
		412: {sources.ErrChanged, retry.Permanent, "run the same command again"},
		416: {sources.ErrChanged, retry.Permanent, "run the same command again"},
		418: {nil, retry.Permanent, ""},
		304: {nil, retry.Permanent, ""},
		500: {nil, retry.Transient, ""},
		429: {nil, retry.Throttled, ""},
	} {
		m := newManager(t, "t.csv")
		m.export([]string{"url", "size"}, []string{m.put("a.jpg", []byte("content")), "7"})
		m.answer(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if status == http.StatusTooManyRequests {
					w.Header().Set("Retry-After", "60")
				}
				w.WriteHeader(status)
			})
		})
		s := m.source()
		_, err := read(t, s, one(t, s), 0)
		e, ok := errors.AsType[*sources.Error](err)
		class, wait := retry.Classify(err)
		if !ok || e.Key != "a.jpg" || want.is != nil && !errors.Is(err, want.is) || class != want.class || !strings.Contains(e.Hint, want.hint) || (wait > 0) != (status == 429) {
			t.Errorf("%d: got %v (%s after %v), hint %q", status, err, class, wait, e.Hint)
		}
		if wanted := map[bool]int{true: 5, false: 1}[status == 500]; len(m.asked()) != wanted {
			t.Errorf("%d: not %d requests", status, wanted)
		}
	}
}

func TestLengthsThatAreNotTrue(t *testing.T) {
	const content = "twelve bytes"
	for _, test := range []struct {
		lies int32 // times
		want string
	}{
		{2, ""},
		{1000, "the server has 90 bytes instead of the listed 12"},
	} {
		var asked atomic.Int32
		m := newManager(t, "t.csv")
		m.export([]string{"url", "size"}, []string{m.put("a.jpg", []byte(content)), "12"})
		m.answer(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) > test.lies {
					next.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Length", "90")
				io.WriteString(w, content)
			})
		})
		s := m.source()
		got, err := read(t, s, one(t, s), 0)
		if test.want == "" && (err != nil || string(got) != content) || test.want != "" && (err == nil || !strings.HasSuffix(err.Error(), test.want)) {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestMoreThanIsListed(t *testing.T) {
	m := newManager(t, "t.csv")
	m.export([]string{"url", "size"}, []string{m.put("a.jpg", []byte("x")), "12"})
	m.answer(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush() // so that there is no Content-Length
			io.WriteString(w, "thirteen byte")
		})
	})
	s := m.source()
	if _, err := read(t, s, one(t, s), 0); err == nil || !strings.Contains(err.Error(), "more than the listed 12 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestChecksumsAreCompared(t *testing.T) {
	content := []byte("content")
	sum := md5.Sum(content)
	for _, test := range []struct{ checksum, want string }{
		{hex.EncodeToString(sum[:]), ""},
		{"md5:" + strings.ToUpper(hex.EncodeToString(sum[:])), ""},
		{strings.Repeat("0", 32), "but the table has 00000000000000000000000000000000"},
		{strings.Repeat("0", 40), "the content has the sha1 "},
		{strings.Repeat("0", 64), "the content has the sha256 "},
	} {
		m := newManager(t, "t.csv")
		m.export([]string{"url", "size", "checksum"}, []string{m.put("a.jpg", content), "7", test.checksum})
		s := m.source()
		o := one(t, s)
		if _, err := read(t, s, o, 0); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v", test.checksum, err)
		}
		if got, err := read(t, s, o, 3); err != nil || string(got) != "tent" { // a range has no checksum
			t.Errorf("%s: got %q, %v", test.checksum, got, err)
		}
	}
}

func TestReadersDescribe(t *testing.T) {
	m := newManager(t, "t.csv")
	m.export([]string{"url", "size", "title"}, []string{m.put("a.jpg", []byte("x")), "1", "A quay"})
	s := m.source()
	r, err := s.Open(t.Context(), one(t, s), 0)
	must(t, err)
	defer r.Close()
	d, err := r.(sources.Describer).Describe(t.Context())
	if err != nil || d.ContentType != "image/jpeg" || d.Fields["title"][0] != "A quay" {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestHeadersGoToOneHost(t *testing.T) {
	headers, err := remote.ParseHeaders("X-Api-Key: hush-hush")
	must(t, err)
	withHeaders := func(o *table.Options) { o.Headers = headers }
	m := newManager(t, "t.csv")
	other := newManager(t, "t.csv")
	m.export([]string{"url"}, []string{m.put("a.jpg", []byte("x"))})
	s := m.source(withHeaders)
	_, err = read(t, s, one(t, s), 0)
	must(t, err)
	for _, r := range m.asked() {
		if r.Header.Get("X-Api-Key") != "hush-hush" {
			t.Errorf("%s without the header", r.Method)
		}
	}

	m.export([]string{"url"}, []string{m.put("a.jpg", []byte("x"))}, []string{other.put("b.jpg", []byte("x"))})
	_, err = m.open(withHeaders)
	if e, ok := errors.AsType[*table.HostsError](err); !ok || len(e.Hosts) != 2 {
		t.Errorf("got %v", err)
	}
	s = m.source(withHeaders, func(o *table.Options) { o.Hosts = []string{strings.TrimPrefix(other.server.URL, "http://")} })
	if _, err = list(t, s); err != nil {
		t.Fatal(err)
	}
	if got := m.asked()[0].Header.Get("X-Api-Key") + other.asked()[0].Header.Get("X-Api-Key"); got != "hush-hush" {
		t.Errorf("sent to both: %q", got)
	}
}

// TestErrorsHoldNoSecrets verifies that errors do not contain credentials that a server repeats.
func TestErrorsHoldNoSecrets(t *testing.T) {
	headers, err := remote.ParseHeaders("Authorization: Bearer hush-hush")
	must(t, err)
	m := newManager(t, "t.csv")
	m.export([]string{"key", "url"}, []string{"a.jpg", m.put("a.jpg", []byte("x")) + "?token=hush-hush"})
	for _, answer := range []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.String()+"&hush-hush", http.StatusFound)
		},
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "hush-hush://x", http.StatusFound) },
		func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Encoding", "hush-hush") },
		func(w http.ResponseWriter, r *http.Request) { http.Error(w, "hush-hush", http.StatusForbidden) },
	} {
		m.answer(func(http.Handler) http.Handler { return answer })
		s := m.source(func(o *table.Options) { o.Headers = headers })
		objects, err := list(t, s)
		if text := fmt.Sprint(objects, err); strings.Contains(text, "hush-hush") || !strings.Contains(text, "127.0.0.1") {
			t.Errorf("told: %s", text)
		}
		_, err = read(t, s, sources.Object{Key: "a.jpg", Size: 1}, 0)
		if err == nil || strings.Contains(err.Error(), "hush-hush") {
			t.Errorf("told: %v", err)
		}
	}
}

func TestATableThatIsTakenAwayWhileItIsRead(t *testing.T) {
	m := newManager(t, "t.csv")
	m.export([]string{"url", "size"}, []string{m.put("a.jpg", []byte("x")), strconv.Itoa(1)})
	s := m.source()
	o := one(t, s)
	m.write("url,size\n")
	if _, err := read(t, s, o, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a row that is gone: %v", err)
	}
	m.write("size,url\n\"")
	if _, err := read(t, s, o, 0); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "mistake") {
		t.Errorf("a table that is broken by now: %v", err)
	}
}

// TestDocumentInThePlaceOfContent verifies that a JSON document is not accepted as an image,
// whatever the status is. A JSON file is accepted, and so is an image that has the right type.
func TestDocumentInThePlaceOfContent(t *testing.T) {
	m := newManager(t, "t.csv")
	contents := map[string]string{"a.jpg": ` {"error": "no such asset"}`, "b.json": `{"error": "of a file"}`, "c.mp4": "[]", "d.png": "no JSON", "e": "{}"}
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		all = append(all, []string{m.put(name, []byte(contents[name]))})
	}
	m.export([]string{"url"}, all...)
	m.answer(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(typed{w}, r) })
	})
	s := m.source()
	objects, err := list(t, s)
	must(t, err)
	for _, o := range objects {
		got, err := read(t, s, o, 0)
		if name := string(o.Key); name == "a.jpg" || name == "c.mp4" {
			if e, ok := errors.AsType[*sources.Error](err); !ok || !strings.Contains(e.Error(), "JSON instead of the content") || e.Hint == "" {
				t.Errorf("%s: %q and %v", name, got, err)
			}
		} else if err != nil || string(got) != contents[name] {
			t.Errorf("%s: %q and %v", name, got, err)
		}
	}
	if len(objects) != len(contents) {
		t.Errorf("%d objects instead of the listed", len(objects))
	}
}

// typed sets the content type of an answer to JSON.
type typed struct{ http.ResponseWriter }

func (w typed) WriteHeader(status int) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.ResponseWriter.WriteHeader(status)
}
