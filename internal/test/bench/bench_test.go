package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"assetferry/internal/test/longtest"

	"go.uber.org/goleak"
)

// TestMain makes the test binary act as the helper processes that the bench starts.
func TestMain(m *testing.M) {
	if done, err := inMode(context.Background(), os.Args[1:]); done {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// TestEveryFigure measures every figure with few objects and verifies that the table is complete.
// The speeds have no meaning.
func TestEveryFigure(t *testing.T) {
	var out bytes.Buffer
	b, err := newBench(t.Context(), &out, longtest.Size(10_000, 2000), "", peerNone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(b.dir); err != nil {
			t.Error(err)
		}
	})
	b.given = true // building it for release takes too long
	rows, err := b.all(regexp.MustCompile("."))
	if err != nil {
		t.Error(err)
	}
	t.Log(out.String())
	if printed := strings.Count(out.String(), "| reached |") + strings.Count(out.String(), "missed") + strings.Count(out.String(), string(noPeer)); printed < len(figures) || len(rows) != printed {
		t.Errorf("the table has %d rows of %d, for %d figures", printed, len(rows), len(figures))
	}
	for _, r := range resultsOf(rows) {
		if strings.HasPrefix(r.Figure, "plan of") && (r.CPUSeconds <= 0 || r.Counts["statements"] == 0 || r.Counts["prepared"] == 0 ||
			r.Counts["transactions"] == 0 || r.Counts["allocations"] == 0 || r.Counts["requests to the source"] == 0 || r.Counts["requests to the destination"] == 0) {
			t.Errorf("of a plan, this is known: %+v", r)
		}
	}
}

func TestLibrary(t *testing.T) {
	for _, l := range []library{
		{objects: 3000, folders: 1, size: 100}, {objects: 3000, folders: 7, size: 100}, {objects: 3000, folders: 7, size: 100, sidecars: true},
	} {
		last := ""
		for n := range l.objects {
			key := l.key(n)
			if key <= last {
				t.Fatalf("key %q comes after %q", key, last)
			}
			if got, ok := l.number(key); !ok || got != n {
				t.Fatalf("%q is object %d (%t), want %d", key, got, ok, n)
			}
			last = key
		}
		for _, n := range []int{16, 17} {
			var whole, rest bytes.Buffer
			if err := l.writeContent(&whole, n, 0); err != nil || int64(whole.Len()) != l.sizeOf(n) {
				t.Errorf("content of %d bytes: %v", whole.Len(), err)
			}
			if err := l.writeContent(&rest, n, 5); err != nil || !bytes.Equal(rest.Bytes(), whole.Bytes()[5:]) {
				t.Errorf("the content from byte 5 on is %q (%v), want the end of %q", rest.Bytes(), err, whole.Bytes())
			}
		}
	}
}

// TestServiceChecksWhatArrives verifies that the stand-in for the service refuses wrong uploads.
// Otherwise the bench could measure a broken migration.
func TestServiceChecksWhatArrives(t *testing.T) {
	l := library{objects: 2, folders: 1, size: 20}
	s := newService(l, 0)
	stamp := fmt.Sprintf("%0*d", stampLength, 1)
	if _, ok := s.keep(theCategory, "photo-0000000.jpg", stamp, 20); ok {
		t.Error("took the content of another object")
	}
	if _, ok := s.keep(theCategory, "photo-0000001.jpg", stamp, 20); !ok {
		t.Error("refused an object of the library")
	}
	s.keep(theCategory, "photo-0000001.jpg", stamp, 20)
	if err := s.arrived.check(2); err == nil || !strings.Contains(err.Error(), "got 1 objects, want 2; 1 duplicates, 1 not in the library") {
		t.Errorf("got %v", err)
	}
}

// TestBucketChecksWhatArrives verifies that the bucket refuses wrong uploads. Otherwise the bench
// could compare with a broken copy.
func TestBucketChecksWhatArrives(t *testing.T) {
	b := &bucket{library: library{objects: 3, folders: 1, size: 20}}
	content := func(n int) string { return fmt.Sprintf("%0*dmore", stampLength, n) }
	put := func(name, key, content string) int {
		recorder := httptest.NewRecorder()
		b.ServeHTTP(recorder, httptest.NewRequest(http.MethodPut, "/"+name+"/"+key, strings.NewReader(content)))
		return recorder.Code
	}
	for _, c := range []struct {
		why, bucket, key, content string
		want                      int
	}{
		{"an object", emptyName, b.key(0), content(0), http.StatusOK},
		{"another object", emptyName, b.key(1), content(1), http.StatusOK},
		{"a full bucket", bucketName, b.key(2), content(2), http.StatusNotImplemented},
	} {
		if got := put(c.bucket, c.key, c.content); got != c.want {
			t.Errorf("%s: got %d, want %d", c.why, got, c.want)
		}
	}
	if err := b.arrived.check(2); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ why, key, content string }{
		{"the content of another object", b.key(2), content(1)},
		{"a shorter content", b.key(2), content(2)[1:]},
		{"no content", b.key(2), ""},
		{"a key from elsewhere", "elsewhere.jpg", content(2)},
	} {
		if got := put(emptyName, c.key, c.content); got != http.StatusBadRequest {
			t.Errorf("%s: got %d, want a refusal", c.why, got)
		}
	}
	put(emptyName, b.key(1), content(1))
	if err := b.arrived.check(2); err == nil || !strings.Contains(err.Error(), "got 2 objects, want 2; 1 duplicates, 4 not in the library") {
		t.Errorf("got %v", err)
	}
}

// TestBucketLists reads the whole bucket page by page, with and without folders.
func TestBucketLists(t *testing.T) {
	b := &bucket{library: library{objects: 2500, folders: 3, size: 100}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	for _, c := range []struct {
		query                 string
		keys, prefixes, asked int
	}{
		{"", 2500, 0, 3},
		{"&delimiter=/", 0, 1, 1},
		{"&delimiter=/&prefix=archive/", 0, 3, 1},
		{"&delimiter=/&prefix=archive/folder-0001/", 833, 0, 1},
		{"&start-after=" + b.key(2000), 499, 0, 1},
		{"&prefix=elsewhere/", 0, 0, 1},
	} {
		keys, prefixes, last, token := 0, 0, "", ""
		b.lists.Store(0)
		for more := true; more; more = token != "" {
			resp, err := http.Get(server.URL + "/" + bucketName + "?list-type=2" + c.query + token)
			if err != nil {
				t.Fatal(err)
			}
			var page struct {
				Contents              []struct{ Key string }
				CommonPrefixes        []struct{ Prefix string }
				NextContinuationToken string
			}
			err = xml.NewDecoder(resp.Body).Decode(&page)
			if err = errors.Join(err, resp.Body.Close()); err != nil {
				t.Fatal(err)
			}
			for _, o := range page.Contents {
				if o.Key <= last {
					t.Fatalf("%s: key %q comes after %q", c.query, o.Key, last)
				}
				last = o.Key
			}
			keys, prefixes = keys+len(page.Contents), prefixes+len(page.CommonPrefixes)
			if token = page.NextContinuationToken; token != "" {
				token = "&continuation-token=" + token
			}
		}
		if asked := int(b.lists.Load()); keys != c.keys || prefixes != c.prefixes || asked != c.asked {
			t.Errorf("%s: %d keys, %d prefixes in %d pages, want %+v", c.query, keys, prefixes, asked, c)
		}
	}
}
