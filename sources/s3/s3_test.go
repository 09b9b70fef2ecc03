package s3_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/johannesboyne/gofakes3"

	"assetferry/sources"
	"assetferry/sources/s3/s3test"
	"assetferry/sources/sourcetest"
)

// TestSource runs the shared source tests with and without a prefix, with a server that lists keys
// unchanged and one that encodes them on request.
func TestSource(t *testing.T) {
	for name, test := range map[string]struct {
		prefix string
		wrap   func(http.Handler) http.Handler
	}{
		"bucket, plain":   {"", nil},
		"prefix, encoded": {"my lib+%/", encoding},
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
				b := newBucket(tb, test.prefix)
				b.answer(func(next http.Handler) http.Handler {
					if test.wrap != nil {
						next = test.wrap(next)
					}
					return s3test.WithVersions(b.backend, b.name, 5, next)
				})
				if b.prefix != "" { // keys next to it
					must(tb, b.put("", nil))
					other := &bucket{name: b.name, backend: b.backend}
					for _, key := range []sources.Key{"my lib+%", "my lib+%.jpg", "my lib", "my lib+%0/x", "z"} {
						must(tb, other.put(key, []byte("not ours")))
					}
				}
				for _, f := range files {
					must(tb, b.put(f.Key, f.Content))
				}
				src := b.source()
				return sourcetest.Fixture{
					Source:         src,
					Put:            func(f sourcetest.File) error { return b.put(f.Key, f.Content) },
					Remove:         b.remove,
					Vanish:         func() error { return b.backend.ForceDeleteBucket(b.name) },
					StopBackground: src.CloseIdleConnections,
					KeepVersions:   b.enableVersions,
					DropVersion: func(o sources.Object) error {
						_, err := b.backend.DeleteObjectVersion(b.name, b.prefix+string(o.Key), gofakes3.VersionID(o.Version))
						return err
					},
				}
			}, sourcetest.Storable(storable))
		})
	}
}

// storable drops keys that the server cannot return, because XML cannot represent them.
func storable(keys ...sources.Key) bool {
	for _, k := range keys {
		if !utf8.ValidString(string(k)) || strings.ContainsFunc(string(k), func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r", r) }) {
			return false
		}
	}
	return true
}
