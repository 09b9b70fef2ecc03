package engine

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"assetferry/migrate"
	"assetferry/migrate/plan/identical"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/sources/s3"
)

// tagging is a source like a bucket, whose version tags may be checksums of the content.
type tagging struct {
	*memory.Source
	tags map[sources.Key]string
	read *atomic.Int64 // the number of objects
}

func newTagging(w *world) tagging {
	return tagging{w.source, map[sources.Key]string{}, &atomic.Int64{}}
}

// put stores an object with the version tag that a function returns for its content.
func (t tagging) put(tag func(content string) string, key sources.Key, content string) {
	t.Source.Put(key, []byte(content))
	t.tags[key] = tag(content)
}

func (t tagging) Traits() sources.Traits {
	traits := t.Source.Traits()
	traits.ContentTags = true
	return traits
}

func (t tagging) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for o, err := range t.Source.Objects(ctx, after) {
			o.VersionTag = t.tags[o.Key]
			if !yield(o, err) {
				return
			}
		}
	}
}

func (t tagging) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	t.read.Add(1)
	if o.VersionTag != t.tags[o.Key] {
		return nil, sources.ErrChanged
	}
	plain, err := t.object(ctx, o.Key)
	if err != nil {
		return nil, err
	}
	return t.Source.Open(ctx, plain, offset)
}

// object returns an object as the source in memory has it.
func (t tagging) object(ctx context.Context, key sources.Key) (sources.Object, error) {
	for o, err := range t.Source.Objects(ctx, "") {
		if err != nil || o.Key == key {
			return o, err
		}
	}
	return sources.Object{}, fs.ErrNotExist
}

// bucket returns the same objects with the same version tags through the S3 adapter and a server.
func (t tagging) bucket(w *world) sources.Source {
	w.Helper()
	server := httptest.NewServer(t)
	w.Cleanup(server.Close)
	source, err := s3.New(w.Context(), s3.URL{Bucket: "photos"}, s3.Options{
		Endpoint: server.URL, Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	})
	must(w, err)
	w.Cleanup(source.CloseIdleConnections)
	return source
}

func (t tagging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("list-type") {
		t.list(w, r)
		return
	}
	key := sources.Key(strings.TrimPrefix(r.URL.Path, "/photos/"))
	o, err := t.object(r.Context(), key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	content, err := t.Source.Open(r.Context(), o, 0)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	text, _ := io.ReadAll(content) // never fails
	w.Header().Set("ETag", `"`+t.tags[key]+`"`)
	http.ServeContent(w, r, "", o.Time, bytes.NewReader(text)) // this respects If-Match
}

func (t tagging) list(w http.ResponseWriter, r *http.Request) {
	type contents struct {
		Key, ETag    string
		Size         int64
		LastModified time.Time
	}
	answer := struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		IsTruncated bool
		Contents    []contents
	}{}
	for o, err := range t.Objects(r.Context(), sources.Key(r.URL.Query().Get("start-after"))) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer.Contents = append(answer.Contents, contents{string(o.Key), `"` + o.VersionTag + `"`, o.Size, o.Time})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(answer) // the client detects an incomplete body
}

func randomTag(string) string {
	tag := make([]byte, 16)
	_, _ = rand.Read(tag) // never fails
	return hex.EncodeToString(tag)
}

func sumTag(content string) string {
	tag := md5.Sum([]byte(content))
	return hex.EncodeToString(tag[:])
}

// whateverTagsAre runs a test with each combination of version tags for the first and for later
// objects, with the source itself and through S3.
func whateverTagsAre(t *testing.T, test func(w *world, objects tagging, source sources.Source, before, after func(content string) string)) {
	parts := 1
	inParts := func(content string) string {
		parts++ // copied in parts of another size
		return sumTag(content) + "-" + strconv.Itoa(parts)
	}
	for name, tag := range map[string]struct{ before, after func(string) string }{
		"of the content":      {sumTag, sumTag},
		"of encrypted ones":   {randomTag, randomTag},
		"encrypted meanwhile": {sumTag, randomTag},
		"in parts":            {inParts, inParts},
		"in parts since":      {sumTag, inParts},
		"no more in parts":    {inParts, sumTag},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			objects := newTagging(w)
			test(w, objects, objects, tag.before, tag.after)
		})
		t.Run(name+" by S3", func(t *testing.T) {
			w := newWorld(t)
			objects := newTagging(w)
			test(w, objects, objects.bucket(w), tag.before, tag.after)
		})
	}
}

// TestMovesWhateverTagsAre verifies that the assets of objects with new keys move, whether their
// version tags are checksums of the content, only look like checksums, as with encryption, or come
// from multipart uploads.
func TestMovesWhateverTagsAre(t *testing.T) {
	t.Parallel()
	whateverTagsAre(t, func(w *world, objects tagging, source sources.Source, before, after func(string) string) {
		d := w.deps()
		d.Source = source
		objects.put(before, "old/a.jpg", "content a")
		objects.put(before, "old/b.jpg", "content b")
		w.syncWith(d, syncing())
		w.source.Delete("old/a.jpg")
		w.source.Delete("old/b.jpg")
		objects.put(after, "new/a.jpg", "content a")
		objects.put(after, "new/b.jpg", "content b")
		objects.put(after, "new/c.jpg", "content c")
		plan := w.syncWith(d, syncing())
		w.wantStates(plan, map[string]int64{"move done": 2, "create done": 1})
		w.wantSound()
	})
}

// TestEqualObjectsShareAnAssetWhateverTagsAre verifies that identical objects share one asset,
// however their version tags are made, whether they are uploaded in one run or the asset already
// exists.
func TestEqualObjectsShareAnAssetWhateverTagsAre(t *testing.T) {
	t.Parallel()
	whateverTagsAre(t, func(w *world, objects tagging, source sources.Source, before, after func(string) string) {
		d := w.deps()
		d.Source = source
		objects.put(before, "a.jpg", "same")
		objects.put(before, "b.jpg", "else")
		objects.put(before, "c.jpg", "same")
		objects.put(after, "dir/e.jpg", "same")
		plan := w.syncWith(d, joining())
		w.wantStates(plan, map[string]int64{"create done": 2, "adopt done": 2})
		objects.put(after, "d.jpg", "same")
		plan = w.syncWith(d, joining())
		w.wantStates(plan, map[string]int64{"unchanged skipped": 4, "adopt done": 1})
		w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "a.jpg", "d.jpg": "a.jpg", "dir/e.jpg": "a.jpg"})
		w.wantContents(map[string]int{"same": 1, "else": 1})
		w.wantSound()
	})
}

// TestTagsThatAreChecksumsSpareReading verifies that few objects are read if version tags are
// checksums of the content, regardless of the tags of objects that were stored elsewhere or on
// another day.
func TestTagsThatAreChecksumsSpareReading(t *testing.T) {
	w := newWorld(t)
	objects := newTagging(w)
	d := w.deps()
	d.Source = objects
	for n := range 200 {
		objects.put(sumTag, sources.Key(fmt.Sprintf("plain/%03d.jpg", n)), fmt.Sprintf("content %03d", n/2))
	}
	for n := range 10 {
		objects.put(randomTag, sources.Key(fmt.Sprintf("encrypted/%03d.jpg", n)), fmt.Sprintf("content %03d of an encrypted one", n/2))
	}
	w.wantDryRun(d, joining(), map[string]int64{"create planned": 105, "adopt planned": 105})
	if n, most := objects.read.Load(), int64(identical.EnoughTags+10); n > most {
		t.Errorf("%d objects were read, want at most %d", n, most)
	}
}

// TestOneTagThatIsNoChecksum verifies that one version tag that is no checksum makes the tags of
// the same day and folder unreliable, even if many others are checksums.
func TestOneTagThatIsNoChecksum(t *testing.T) {
	w := newWorld(t)
	objects := newTagging(w)
	d := w.deps()
	d.Source = objects
	for n := range 2 * identical.EnoughTags {
		objects.put(sumTag, sources.Key(fmt.Sprintf("dir/%03d.jpg", n)), fmt.Sprintf("content %03d", n))
	}
	objects.put(randomTag, "dir/000 again.jpg", "content 000")
	objects.put(randomTag, "dir/zzz.jpg", "content 039")
	w.wantDryRun(d, joining(), map[string]int64{"create planned": 40, "adopt planned": 2})
}

func (w *world) wantDryRun(d migrate.Deps, r migrate.Rules, want map[string]int64) {
	w.Helper()
	plan, err := w.dryRunWith(d, r)
	must(w, err)
	w.wantStates(plan, want)
}
