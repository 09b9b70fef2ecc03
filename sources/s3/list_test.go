package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/sources"
	"assetferry/sources/s3"
)

// TestListingsThatCannotBeTrusted verifies that an untrustworthy listing ends with an error.
func TestListingsThatCannotBeTrusted(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) }
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>")
	}
	more := page{IsTruncated: true, NextContinuationToken: "1", Contents: entries("p/a", "p/b")}
	noSize := entries("p/a")
	noSize[0].Size = nil
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"goes back":                 {pages(page{Contents: entries("p/b", "p/a")}), `"p/a" after "p/b"`},
		"goes back on another page": {pages(more, page{Contents: entries("p/aa")}), `"p/aa" after "p/b"`},
		"repeats a key":             {pages(page{Contents: entries("p/a", "p/a")}), `"p/a" twice`},
		"repeats a page":            {pages(more, page{Contents: more.Contents}), `"p/a" after "p/b"`},
		"repeats a token":           {pages(more, page{IsTruncated: true, NextContinuationToken: "1"}), "does not advance"},
		"goes on nowhere":           {pages(page{IsTruncated: true, Contents: entries("p/a")}), "no continuation token"},
		"has other keys":            {pages(page{Contents: entries("q/a")}), "without the prefix"},
		"has no size":               {pages(page{Contents: noSize}), "no size"},
		"is the prefix":             {pages(page{Contents: entries("p/")}), "itself is an object of 10 bytes"},
		"is encoded badly":          {pages(page{EncodingType: "url", Contents: entries("p/%zz")}), "invalid encoded key"},
		"is an error":               {text("<Error><Code>InternalError</Code><Message>no</Message></Error>"), "500 InternalError: no"},
		"is empty":                  {text(""), "not a listing"},
		"is something else":         {text("<html><body>Welcome"), "invalid response"},
		"breaks off as XML":         {text("<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated><Contents><Key>p/a</Key>"), "invalid response"},
		"breaks off":                {cut, "invalid response"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, "p/")
			b.answerWith(test.answer)
			_, err := list(t, b.source())
			e, ok := errors.AsType[*sources.Error](err)
			if !ok || e.Op != "list" || e.Source != "s3://photos/p/" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestEmptyPages verifies that a listing ends with an error after too many empty pages.
func TestEmptyPages(t *testing.T) {
	b := newBucket(t, "")
	asked := 0
	b.answerWith(func(w http.ResponseWriter, r *http.Request) {
		asked++
		pages(page{IsTruncated: true, NextContinuationToken: fmt.Sprint("token", asked)})(w, r)
	})
	if _, err := list(t, b.source()); err == nil || !strings.Contains(err.Error(), "does not advance") || asked != 1001 {
		t.Errorf("%d pages, then %v", asked, err)
	}
}

func TestListing(t *testing.T) {
	b := newBucket(t, "")
	empty := int64(0)
	marker := entry{Key: "c_$folder$", Size: &empty, LastModified: "2026-01-02T03:04:05.000Z", ETag: `"tag"`}
	slash := marker
	slash.Key = "d/"
	made := entries("a%2Bb+c", "e/", "f", "g", "h", "i", "j")
	for i, change := range []func(*entry){
		func(*entry) {},
		func(*entry) {}, // has content, and so is no marker
		func(e *entry) { e.StorageClass = "GLACIER" },
		func(e *entry) { e.StorageClass = "DEEP_ARCHIVE"; e.RestoreStatus = &restore{IsRestoreInProgress: true} },
		func(e *entry) {
			e.StorageClass, e.RestoreStatus = "GLACIER", &restore{RestoreExpiryDate: "2200-01-01T00:00:00Z"}
		},
		func(e *entry) {
			e.StorageClass, e.RestoreStatus = "GLACIER", &restore{RestoreExpiryDate: "2020-01-01T00:00:00Z"}
		},
		func(e *entry) { e.StorageClass, e.LastModified, e.ETag = "GLACIER_IR", "0001-01-01T00:00:00Z", "bare" },
	} {
		change(&made[i])
	}
	made = slices.Insert(made, 1, marker, slash)
	b.answerWith(pages(page{EncodingType: "url", Contents: made}))
	got, err := list(t, b.source())
	must(t, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []sources.Object{
		{Key: "a+b c", Size: 10, Time: at, VersionTag: "tag"},
		{Key: "c_$folder$", Time: at, VersionTag: "tag", Obstacle: sources.FolderMarker},
		{Key: "d/", Time: at, VersionTag: "tag", Obstacle: sources.FolderMarker},
		{Key: "e/", Size: 10, Time: at, VersionTag: "tag"},
		{Key: "f", Size: 10, Time: at, VersionTag: "tag", Obstacle: sources.Archived},
		{Key: "g", Size: 10, Time: at, VersionTag: "tag", Obstacle: sources.Archived},
		{Key: "h", Size: 10, Time: at, VersionTag: "tag"},
		{Key: "i", Size: 10, Time: at, VersionTag: "tag", Obstacle: sources.Archived},
		{Key: "j", Size: 10, VersionTag: "bare"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	r := b.asked()[0]
	if q := r.URL.Query(); q.Get("encoding-type") != "url" || q.Get("list-type") != "2" || r.Header.Get("X-Amz-Optional-Object-Attributes") != "RestoreStatus" {
		t.Errorf("asked for %s with %v", r.URL, r.Header)
	}
}

// TestStartAfterThatIsIgnored verifies the listing of a service that ignores StartAfter: earlier
// keys are skipped.
func TestStartAfterThatIsIgnored(t *testing.T) {
	b := newBucket(t, "p/")
	b.answerWith(pages(page{Contents: entries("p/a", "p/b", "p/c")}))
	var got []sources.Key
	for o, err := range b.source().Objects(t.Context(), "a") {
		must(t, err)
		got = append(got, o.Key)
	}
	if want := []sources.Key{"b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if after := b.asked()[0].URL.Query().Get("start-after"); after != "p/a" {
		t.Errorf("start-after is %q", after)
	}
}

// TestPrefixThatIsNotThere verifies that a mistyped prefix is an error and not an empty library.
func TestPrefixThatIsNotThere(t *testing.T) {
	b := newBucket(t, "p/")
	b.prefix = ""
	must(t, b.put("p.jpg", nil))
	b.prefix = "p/"
	_, err := list(t, b.source())
	e, ok := errors.AsType[*sources.Error](err)
	if !ok || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(e.Hint, "check the prefix") {
		t.Errorf("got %v", err)
	}
	must(t, b.put("", nil)) // the folder itself
	if objects, err := list(t, b.source()); len(objects) > 0 || err != nil {
		t.Errorf("an empty folder has %v (%v)", objects, err)
	}
}

// TestVersionedBucket verifies that only current versions are listed, and no deleted objects.
func TestVersionedBucket(t *testing.T) {
	b := newBucket(t, "")
	b.keepVersions()
	for _, content := range []string{"first", "second"} {
		must(t, b.put("a", []byte(content)))
		must(t, b.put("b", []byte(content)))
	}
	must(t, b.remove("b"))
	if o := b.one(b.source()); o.Key != "a" || o.Size != 6 {
		t.Errorf("got %+v", o)
	}
}

// TestHowRequestsAreMade verifies that each request says who pays if the requester does, and that
// requests without credentials are not signed.
func TestHowRequestsAreMade(t *testing.T) {
	b := newBucket(t, "")
	must(t, b.put("a", []byte("content")))
	for name, test := range map[string]struct {
		change       func(*s3.Options)
		payer        string
		signed, tags bool
	}{
		"signed":         {func(*s3.Options) {}, "", true, false},
		"requester pays": {func(o *s3.Options) { o.RequesterPays, o.Tags = true, true }, "requester", true, true},
		"anonymous":      {func(o *s3.Options) { o.Anonymous = true }, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			src := b.source(test.change)
			o := b.one(src)
			r, err := src.Open(t.Context(), o, 0)
			must(t, err)
			_, err = r.(sources.Describer).Describe(t.Context())
			must(t, errors.Join(err, r.Close()))
			asked := b.asked()
			if want := map[bool]int{false: 2, true: 3}[test.tags]; len(asked) != want {
				t.Errorf("%d requests, want %d", len(asked), want)
			}
			for _, r := range asked {
				if signed := r.Header.Get("Authorization") != ""; signed != test.signed || r.Header.Get("X-Amz-Request-Payer") != test.payer {
					t.Errorf("%s %s with %v", r.Method, r.URL, r.Header)
				}
			}
		})
	}
}

// TestALargePage verifies that a page without an end is not kept in memory.
func TestALargePage(t *testing.T) {
	b := newBucket(t, "")
	var sent atomic.Int64
	b.answerWith(func(w http.ResponseWriter, _ *http.Request) {
		line := bytes.Repeat([]byte(" "), 1<<20)
		for n := 0; n < 1<<10; n++ {
			if _, err := w.Write(line); err != nil {
				return
			}
			sent.Add(int64(len(line)))
		}
	})
	if _, err := list(t, b.source()); err == nil || !strings.Contains(err.Error(), "a page of the listing has more than") {
		t.Errorf("got %v", err)
	}
	if n := len(b.asked()); n != 1 || sent.Load() > 1<<29 {
		t.Errorf("%d requests, %d bytes were sent", n, sent.Load())
	}
}
