package cli

import (
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
)

// The test verifies that tags cost one request for each uploaded object, and none for objects that
// are planned, known or adopted; all other metadata comes with the content.
func TestRequestsForTags(t *testing.T) {
	const objects = 12
	dir := t.TempDir()
	files := smallTree(objects)
	files.write(t, filepath.Join(dir, "src"))
	b := startBucket(t, "photos")
	if err := b.putTree(filepath.Join(dir, "src")); err != nil {
		t.Fatal(err)
	}
	for key := range files {
		b.tag(key, "place", "Oslo")
	}
	var contents, tags, versioning, others atomic.Int64
	b.wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Query().Has("tagging"):
				tags.Add(1)
			case r.URL.Query().Has("list-type"), r.Method == http.MethodHead: // the latter for the manifest of an export
			case r.URL.Query().Has("versioning"):
				versioning.Add(1)
			case r.Method == http.MethodGet:
				contents.Add(1)
			default:
				others.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	s, plain := startService(t, sandbox.Options{}), startService(t, sandbox.Options{})
	for _, call := range []struct {
		name           string
		service        *service
		args           []string
		contents, tags int64
	}{
		{"plan", s, []string{"plan", "s3://photos", "--s3-tags"}, 0, 0},
		{"migrate", s, []string{"migrate", "s3://photos", "--s3-tags"}, objects, objects},
		{"nothing is new", s, []string{"migrate", "s3://photos", "--s3-tags"}, 0, 0},
		{"all of it is adopted", s, []string{"migrate", "s3://photos", "--s3-tags", "--state", "another.db"}, 0, 0}, // version tags are MD5 checksums
		{"without tags", plain, []string{"migrate", "s3://photos", "--state", "plain.db"}, objects, 0},
	} {
		contents.Store(0)
		tags.Store(0)
		versioning.Store(0)
		env := append(append(call.service.variables(), b.variables()...), "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret")
		assetferry(t, dir, env, call.args...).must(t, exit.CodeDone)
		if asks := call.name == "plan"; (versioning.Load() == 1) != asks { // whether the bucket keeps versions
			t.Errorf("%s: %d requests about versions", call.name, versioning.Load())
		}
		if contents.Load() != call.contents || tags.Load() != call.tags || others.Load() != 0 {
			t.Errorf("%s: %d requests for contents, %d for tags and %d others; want %d, %d and 0",
				call.name, contents.Load(), tags.Load(), others.Load(), call.contents, call.tags)
		}
	}
}
