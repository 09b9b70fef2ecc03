package s3_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"

	"assetferry/sources"
	"assetferry/sources/s3"
	"assetferry/sources/s3/s3test"
)

func newVersionedBucket(t *testing.T, page int) *bucket {
	t.Helper()
	b := newBucket(t, "p/")
	must(t, b.backend.SetVersioningConfiguration(b.name, gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}))
	b.answer(func(next http.Handler) http.Handler { return s3test.WithVersions(b.backend, b.name, page, next) })
	return b
}

// histories reads the older versions of all objects, through the source.
func histories(t *testing.T, src *s3.Source) (found []string) {
	t.Helper()
	objects, err := list(t, src)
	must(t, err)
	for _, o := range objects {
		line := string(o.Key) + ":"
		for v, err := range src.Versions(t.Context(), o) {
			must(t, err)
			r, err := src.Open(t.Context(), v, 0)
			must(t, err)
			content, err := io.ReadAll(r)
			must(t, err)
			must(t, r.Close())
			line += " " + string(content)
		}
		found = append(found, line)
	}
	return found
}

// TestVersions verifies that all older versions are found, the newest first, whatever the size of
// pages, and that a page is requested once.
func TestVersions(t *testing.T) {
	for page, most := range map[int]int{1000: 1, 7: 9, 3: 22, 1: 40} {
		b := newVersionedBucket(t, page)
		var want []string
		for n := range 12 {
			key := fmt.Sprintf("a %02d+%%.txt", n)
			line := key + ":"
			for version := range n % 4 {
				must(t, b.put(sources.Key(key), []byte(fmt.Sprint(key, "/", version))))
				if version == 1 && n == 7 {
					must(t, b.remove(sources.Key(key))) // a delete marker is no version
				}
			}
			for version := n%4 - 2; version >= 0; version-- {
				line += fmt.Sprint(" ", key, "/", version)
			}
			if n%4 > 0 {
				want = append(want, line)
			}
		}
		src := b.source()
		b.asked()
		if diff := cmp.Diff(want, histories(t, src)); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", page, diff)
		}
		requests := 0
		for _, r := range b.asked() {
			if r.URL.Query().Has("versions") {
				requests++
			}
		}
		if requests > most {
			t.Errorf("pages of %d: %d requests, want at most %d", page, requests, most)
		}
	}
}

// TestLongPageOfVersions verifies that a page of versions with long keys is read. S3 also lists the owner
// of each version.
func TestLongPageOfVersions(t *testing.T) {
	b := newVersionedBucket(t, 1000)
	for n := range 500 {
		for _, content := range []string{"old", "new"} {
			must(t, b.put(sources.Key(fmt.Sprintf("%03d%s", n, strings.Repeat("x", 900))), []byte(content)))
		}
	}
	if found := histories(t, b.source()); len(found) != 500 || !strings.HasSuffix(found[499], ": old") {
		t.Errorf("%d histories", len(found))
	}
}

// TestVersionsOfSomeObjects verifies that objects far from each other cost two requests each.
func TestVersionsOfSomeObjects(t *testing.T) {
	b := newVersionedBucket(t, 10)
	for n := range 200 {
		must(t, b.put(sources.Key(fmt.Sprintf("%03d", n)), []byte("x")))
	}
	must(t, b.put("150", []byte("new")))
	src := b.source()
	objects, err := list(t, src)
	must(t, err)
	b.asked()
	for _, n := range []int{150, 20, 180} {
		for v, err := range src.Versions(t.Context(), objects[n]) {
			must(t, err)
			if n != 150 || v.Size != 1 {
				t.Errorf("%d has the version %+v", n, v)
			}
		}
	}
	if n := len(b.asked()); n > 6 {
		t.Errorf("%d requests", n)
	}
}

// TestVersionsOfReplacedObject verifies that versions newer than the listed object are not its
// older ones, and that a deleted version is missing.
func TestVersionsOfReplacedObject(t *testing.T) {
	b := newVersionedBucket(t, 1000)
	must(t, b.put("a", []byte("1")))
	must(t, b.put("a", []byte("22")))
	src := b.source()
	o := b.one(src)
	must(t, b.put("a", []byte("333")))
	var found []sources.Object
	for v, err := range src.Versions(t.Context(), o) {
		must(t, err)
		found = append(found, v)
	}
	if len(found) != 1 || found[0].Size != 1 {
		t.Fatalf("found %+v", found)
	}
	_, err := b.backend.DeleteObjectVersion(b.name, "p/a", gofakes3.VersionID(found[0].Version))
	must(t, err)
	if _, err := src.Open(t.Context(), found[0], 0); err == nil {
		t.Error("a deleted version was opened")
	}
}

// TestKeepsVersions verifies what a bucket says, and a service without versions.
func TestKeepsVersions(t *testing.T) {
	keeps := func(b *bucket) string {
		is, err := b.source().KeepsVersions(t.Context())
		return strings.TrimSpace(fmt.Sprint(is, " ", err != nil))
	}
	if got := keeps(newVersionedBucket(t, 1)); got != "true false" {
		t.Errorf("with versions: %s", got)
	}
	plain := newBucket(t, "")
	if got := keeps(plain); got != "false false" {
		t.Errorf("without versions: %s", got)
	}
	for code, want := range map[string]string{"NotImplemented": "false false", "AccessDenied": "false true"} {
		plain.answerWith(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>no</Message></Error>")
		})
		if got := keeps(plain); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}
