package ckfinder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/sources"
	"assetferry/sources/ckfinder/ckfindertest"
)

// large returns content whose period is long, so that a misplaced part is noticed.
func large() []byte {
	b := make([]byte, 3<<20+1)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
}

// isRead reports whether a request is one for content, and not for its first byte.
func isRead(r *http.Request) bool {
	return r.URL.Query().Has("fileName") && r.Header.Get("Range") != "bytes=0-0"
}

// cutting breaks the first answers with content off, after some bytes each, and calls onCut after each.
func cutting(times int64, after int, onCut func()) func(http.Handler) http.Handler {
	var cuts atomic.Int64
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !isRead(r) || cuts.Add(1) > times {
				next.ServeHTTP(w, r)
				return
			}
			got := httptest.NewRecorder()
			next.ServeHTTP(got, r)
			for name, values := range got.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(got.Code)
			body := got.Body.Bytes()
			_, _ = w.Write(body[:min(after, len(body)-1)])
			_ = http.NewResponseController(w).Flush()
			if onCut != nil {
				onCut()
			}
			panic(http.ErrAbortHandler)
		})
	}
}

func one(t *testing.T, src sources.Source) sources.Object {
	t.Helper()
	objects, err := list(t, src)
	must(t, err)
	if len(objects) != 1 || objects[0].Obstacle != "" {
		t.Fatalf("listed %+v", objects)
	}
	return objects[0]
}

func read(ctx context.Context, src sources.Source, o sources.Object, offset int64) ([]byte, error) {
	r, err := src.Open(ctx, o, offset)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// TestCutContent verifies that interrupted content is resumed where it ended, with connectors of
// different abilities.
func TestCutContent(t *testing.T) {
	for name, knobs := range map[string]ckfindertest.Knobs{
		"ranges": {}, "no ranges": {NoRanges: true}, "no lengths": {NoLengths: true}, "no validators": {NoValidators: true}, "neither": {NoValidators: true, NoRanges: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := ckfindertest.New(t, "Images")
			c.Set(knobs)
			c.Put("Images/a.jpg", large())
			src := newSource(t, c, "")
			o := one(t, src)
			for _, offset := range []int64{0, 1 << 20} {
				c.Wrap(cutting(3, 2<<20, nil))
				if got, err := read(t.Context(), src, o, offset); err != nil || !bytes.Equal(got, large()[offset:]) {
					t.Errorf("from %d: %d bytes and %v", offset, len(got), err)
				}
			}
		})
	}
}

// TestCutAndChanged verifies that content which changes between two connections is never mixed.
func TestCutAndChanged(t *testing.T) {
	other := bytes.Repeat([]byte("n"), len(large()))
	for name, knobs := range map[string]ckfindertest.Knobs{"validators": {}, "no validators": {NoValidators: true}, "last modified": {NoETags: true}} {
		t.Run(name, func(t *testing.T) {
			c := ckfindertest.New(t, "Images")
			c.Set(knobs)
			c.Put("Images/a.jpg", large())
			src := newSource(t, c, "")
			o := one(t, src)
			c.Wrap(cutting(1, 2<<20, func() { c.Put("Images/a.jpg", other) }))
			if got, err := read(t.Context(), src, o, 0); !errors.Is(err, sources.ErrChanged) {
				t.Errorf("%d bytes and %v", len(got), err)
			}
		})
	}
}

// TestCutAgainAndAgain verifies that content which is interrupted repeatedly ends with an error.
func TestCutAgainAndAgain(t *testing.T) {
	c := ckfindertest.New(t, "Images")
	c.Put("Images/a.jpg", large())
	src := newSource(t, c, "")
	o := one(t, src)
	c.Wrap(cutting(1<<30, 1000, nil))
	got, err := read(t.Context(), src, o, 0)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "cut off 5 times") || !bytes.HasPrefix(large(), got) {
		t.Errorf("%d bytes and %v", len(got), err)
	}
}

// TestPageInThePlaceOfContent verifies that an HTML page is never taken for content, even if it has
// the listed length.
func TestPageInThePlaceOfContent(t *testing.T) {
	c := ckfindertest.New(t, "Images")
	page := []byte("<html>" + strings.Repeat("log in ", 100))
	c.Put("Images/a.jpg", page)
	src := newSource(t, c, "")
	o := one(t, src)
	c.Wrap(instead(command("Proxy"), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page)
	}))
	if got, err := read(t.Context(), src, o, 0); err == nil || !strings.Contains(err.Error(), "web page") {
		t.Errorf("%d bytes and %v", len(got), err)
	}
	objects, err := list(t, src)
	if err != nil || objects[0].Obstacle != sources.Unreadable {
		t.Errorf("listed %+v, %v", objects, err)
	}
}

// TestTextsThatLookLikeErrors verifies that content which looks like a page or an error is accepted
// as a file while the session is valid, but never as an image.
func TestTextsThatLookLikeErrors(t *testing.T) {
	c := ckfindertest.New(t, "Images")
	page, document := []byte("<html>a page"), []byte(`{"error": {"message": "of a file"}}`)
	for key, content := range map[string][]byte{"Images/a.html": page, "Images/b.json": document, "Images/c.jpg": []byte(`[{"message": "no such file"}]`), "Images/d.jpg": []byte("no JSON")} {
		c.Put(key, content)
	}
	types := map[string]string{"a.html": "text/html", "b.json": "application/json", "c.jpg": "application/json", "d.jpg": "application/problem+json"}
	c.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(typed{w, types[r.URL.Query().Get("fileName")]}, r)
		})
	})
	src := newSource(t, c, "")
	objects, err := list(t, src)
	must(t, err)
	for n, want := range []string{string(page), string(document), "", "no JSON"} {
		o := objects[n]
		got, err := read(t.Context(), src, o, 0)
		if string(got) != want || want == "" && (err == nil || !strings.Contains(err.Error(), "JSON instead of the content") || isFatal(err)) || want != "" && err != nil {
			t.Errorf("%s: %q and %v", o.Key, got, err)
		}
	}
}

// typed sets another content type on an answer.
type typed struct {
	http.ResponseWriter
	kind string
}

func (w typed) WriteHeader(status int) {
	if w.kind != "" {
		w.Header().Set("Content-Type", w.kind)
	}
	w.ResponseWriter.WriteHeader(status)
}

// TestOpenAfterTheSession verifies the error after a session has lost its rights: it is about the
// item, or about the whole source.
func TestOpenAfterTheSession(t *testing.T) {
	c := ckfindertest.New(t, "Images")
	c.Set(ckfindertest.Knobs{Session: "of-the-test"})
	c.Put("Images/a.jpg", []byte("content"))
	src := newSource(t, c, "")
	o := one(t, src)
	c.Break("Proxy Images/a.jpg", 103)
	if _, err := read(t.Context(), src, o, 0); !errors.Is(err, fs.ErrPermission) || isFatal(err) {
		t.Errorf("a file that is refused: %v", err)
	}
	c.Change(func(k *ckfindertest.Knobs) { k.Session, k.LoginPage = "another", true })
	if _, err := read(t.Context(), src, o, 0); !isFatal(err) {
		t.Errorf("after the session: %v", err)
	}
}

// TestOpenWithoutValidators verifies that without an ETag or a date, a file is looked up again
// before it is read, and that folders which are listed fast are listed again.
func TestOpenWithoutValidators(t *testing.T) {
	c := ckfindertest.New(t, "Images")
	c.Set(ckfindertest.Knobs{NoValidators: true})
	c.Put("Images/a.jpg", []byte("old"))
	src := newSource(t, c, "")
	o := one(t, src)
	c.Asked()
	_, err := read(t.Context(), src, o, 0)
	must(t, err)
	if asked := c.Asked(); len(asked) != 2 || asked[1].Get("command") != "GetFiles" {
		t.Errorf("asked for %v", asked)
	}
	c.Put("Images/a.jpg", []byte("new"))
	if _, err := read(t.Context(), src, o, 0); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("another version: %v", err)
	}
	if want := time.Date(2024, 1, 2, 3, 5, 0, 0, time.UTC); !o.Time.Equal(want) {
		t.Errorf("changed at %v, want %v", o.Time, want)
	}
}

// TestExactSizeAndTime verifies that sizes and times are exact if the connector reports exact ones.
func TestExactSizeAndTime(t *testing.T) {
	c := ckfindertest.New(t, "Images")
	c.Put("Images/a.jpg", make([]byte, 5000))
	src := newSource(t, c, "")
	o := one(t, src)
	if o.Size != 5000 || !o.Time.Equal(time.Date(2024, 1, 2, 3, 5, 5, 0, time.UTC)) || !strings.HasPrefix(o.VersionTag, `202401020305 5 "`) {
		t.Errorf("listed %+v", o)
	}
}

func TestDescribe(t *testing.T) {
	for name, test := range map[string]struct {
		knobs ckfindertest.Knobs
		want  string
	}{
		"escaped":   {ckfindertest.Knobs{}, "/userfiles/images/a%20b+c/%C3%BC%20100%25%20%231.jpg"},
		"as it is":  {ckfindertest.Knobs{RawURLs: true}, "/userfiles/images/a%20b+c/%C3%BC%20100%25%20%231.jpg"},
		"not there": {ckfindertest.Knobs{NoURLs: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := ckfindertest.New(t, "Images")
			c.Set(test.knobs)
			for n := range 5 {
				c.Put(fmt.Sprintf("Images/a b+c/%d.jpg", n), []byte("content"))
			}
			c.Put("Images/a b+c/ü 100% #1.jpg", []byte("content"))
			listed := newSource(t, c, "")
			objects, err := list(t, listed)
			must(t, err)
			c.Asked()
			for _, src := range []sources.Catalog{listed, newSource(t, c, "")} { // the second one has not listed anything
				var last sources.Description
				for _, o := range objects {
					last, err = src.Describe(t.Context(), o)
					must(t, err)
				}
				got := last.Fields["old_url"]
				if test.want == "" && len(got) != 0 || test.want != "" && (len(got) != 1 || got[0] != strings.TrimSuffix(c.URL, "/ckfinder/connector")+test.want) {
					t.Errorf("%q, want %q", got, test.want)
				}
			}
			if asked := c.Asked(); len(asked) != 1 {
				t.Errorf("asked %d times, for %v", len(asked), asked)
			}
		})
	}
}

func isFatal(err error) bool { return sources.IsAuth(err) }
