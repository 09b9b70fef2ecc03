package s3server

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"assetferry/sources"
	"assetferry/sources/s3"
	"assetferry/sources/sourcetest"
)

func (b *bucket) source(tb testing.TB, change ...func(*s3.Options)) *s3.Source {
	tb.Helper()
	o := s3.Options{Endpoint: gateway.url, Credentials: staticCredentials(secretKey)}
	for _, c := range change {
		c(&o)
	}
	src, err := s3.New(tb.Context(), s3.URL{Bucket: b.name}, o)
	must(tb, err)
	tb.Cleanup(src.CloseIdleConnections)
	return src
}

func TestSource(t *testing.T) {
	sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
		b := newBucket(tb)
		for _, f := range files {
			must(tb, b.put(tb.Context(), string(f.Key), f.Content))
		}
		src := b.source(tb)
		return sourcetest.Fixture{
			Source: src,
			Put:    func(f sourcetest.File) error { return b.put(tb.Context(), string(f.Key), f.Content) },
			Remove: func(k sources.Key) error { return b.remove(tb.Context(), string(k)) },
			Vanish: b.vanish,

			KeepVersions: func() error { return b.keepVersions(tb.Context(), types.BucketVersioningStatusEnabled) },
			DropVersion:  func(o sources.Object) error { return b.dropVersion(tb.Context(), string(o.Key), o.Version) },
			StopBackground: func() {
				src.CloseIdleConnections()
				http.DefaultClient.CloseIdleConnections()
			},
		}
	}, sourcetest.Storable(storable))
}

// storable reports whether this server can store all of some keys: its objects are files.
func storable(keys ...sources.Key) bool {
	for i, k := range keys {
		if k.Check() != nil || slices.ContainsFunc(strings.Split(string(k), "/"), func(s string) bool { return len(s) > 255 }) {
			return false
		}
		for _, other := range keys[:i] {
			if strings.HasPrefix(string(k), string(other)+"/") || strings.HasPrefix(string(other), string(k)+"/") {
				return false
			}
		}
	}
	return true
}

// TestWrongSecret verifies that the server verifies signatures, which the other tests rely on.
func TestWrongSecret(t *testing.T) {
	b := newBucket(t)
	must(t, b.put(t.Context(), "a", []byte("content")))
	src := b.source(t, func(o *s3.Options) { o.Credentials = staticCredentials("another") })
	objects, err := list(t, src)
	if len(objects) > 0 || !sources.IsAuth(err) || !strings.Contains(err.Error(), "SignatureDoesNotMatch") {
		t.Errorf("got %+v and %v", objects, err)
	}
}

func list(tb testing.TB, src sources.Source) (objects []sources.Object, err error) {
	for o, e := range src.Objects(tb.Context(), "") {
		if e != nil {
			return objects, e
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// TestDescribe verifies that the source returns the metadata of an object unchanged.
func TestDescribe(t *testing.T) {
	b := newBucket(t)
	must(t, b.describe(t.Context(), "a", "image/png", map[string]string{"Author": "Ann"}, "place=Oslo"))
	src := b.source(t, func(o *s3.Options) { o.Tags = true })
	objects, err := list(t, src)
	if len(objects) != 1 || err != nil {
		t.Fatalf("got %+v and %v", objects, err)
	}
	r, err := src.Open(t.Context(), objects[0], 0)
	must(t, err)
	d, err := r.(sources.Describer).Describe(t.Context())
	must(t, errors.Join(err, r.Close()))
	if d.ContentType != "image/png" || d.Metadata["author"] != "Ann" || d.Tags["place"] != "Oslo" {
		t.Errorf("got %+v", d)
	}
}
