package s3server

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// revisions returns a line for each asset: the key of its object, and the contents of its revisions,
// the oldest first.
func (s service) revisions() (lines []string, err error) {
	all, _, err := s.assets()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		at, err := url.Parse(a.url)
		if err != nil {
			return nil, err
		}
		asset := path.Dir(at.Path) // /ENVIRONMENT/assets/ID/file
		var found struct{ Items []struct{ ID string } }
		if err := s.getJSON("/assets/"+path.Base(asset)+"/revisions", &found); err != nil {
			return nil, err
		}
		line := a.key + ":"
		for _, r := range slices.Backward(found.Items) { // the newest comes first
			content, err := s.get(path.Join(asset, "revisions", r.ID, "file"))
			if err != nil {
				return nil, err
			}
			line += " " + string(content)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines, nil
}

// TestVersions migrates the versions of objects from the S3 server: versions from before versioning was
// enabled and while it is suspended, whose ID is null, deleted versions, delete markers, and more
// versions than one response lists.
func TestVersions(t *testing.T) {
	ctx := t.Context()
	b := newBucket(t)
	put := func(key string, contents ...string) {
		t.Helper()
		for _, content := range contents {
			must(t, b.put(ctx, key, []byte(content)))
		}
	}
	put("before.txt", "null")
	must(t, b.keepVersions(ctx, types.BucketVersioningStatusEnabled))
	put("before.txt", "second")
	put("deleted and back.txt", "1", "22")
	must(t, b.remove(ctx, "deleted and back.txt")) // a delete marker
	put("deleted and back.txt", "333")
	put("dropped.txt", "1", "22", "333", "4444")
	must(t, b.remove(ctx, "gone.txt")) // only a delete marker
	put("gone too.txt", "1")
	must(t, b.remove(ctx, "gone too.txt"))
	put("folder/single.txt", "only")
	var writers sync.WaitGroup // this server takes its time for each version
	for n := range 8 {
		writers.Go(func() {
			for version := range 130 {
				if err := b.put(ctx, fmt.Sprintf("folder/many %d.txt", n), []byte(fmt.Sprint("version ", version))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	put("suspended.txt", "1", "22")
	must(t, b.keepVersions(ctx, types.BucketVersioningStatusSuspended))
	put("suspended.txt", "lost", "null")

	src := b.source(t)
	objects, err := list(t, src)
	must(t, err)
	for _, o := range objects {
		if o.Key != "dropped.txt" {
			continue
		}
		for v, err := range src.Versions(ctx, o) {
			must(t, err)
			if v.Size == 2 {
				must(t, b.dropVersion(ctx, "dropped.txt", v.Version))
			}
		}
	}

	p := build(t)
	s, _ := p.sandbox(t)
	args := []string{"migrate", "s3://" + b.name, "--endpoint", gateway.url, "--unsupported", "create", "--versions", "3", "--json"}
	if done, code := p.run(t, s, 0, args...); done != 13 || code != 0 {
		t.Errorf("%d objects, exit code %d", done, code)
	}
	want := []string{
		"before.txt: null second",
		"deleted and back.txt: 1 22 333",
		"dropped.txt: 1 333 4444",
		"folder/single.txt: only",
		"suspended.txt: 1 22 null",
	}
	for n := range 8 {
		want = append(want, fmt.Sprintf("folder/many %d.txt: version 127 version 128 version 129", n))
	}
	slices.Sort(want)
	got, err := s.revisions()
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("revisions: %q, want %q", got, want)
	}
	if done, code := p.run(t, s, 0, args...); done != 0 || code != 0 {
		t.Errorf("the next run: %d objects, exit code %d", done, code)
	}
	must(t, b.keepVersions(ctx, types.BucketVersioningStatusEnabled))
	put("before.txt", "third", "fourth")
	args[0] = "sync"
	if done, code := p.run(t, s, 0, args...); done != 1 || code != 0 {
		t.Errorf("the sync: %d objects, exit code %d", done, code)
	}
	got, err = s.revisions()
	must(t, err)
	want[0] += " third fourth"
	if !slices.Equal(got, want) {
		t.Errorf("revisions after the sync: %q, want %q", got, want)
	}
}
