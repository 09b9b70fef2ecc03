package s3server

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"assetferry/internal/test/seedtest"
)

// histories returns a line for each object but sidecars and the manifest: its key without the prefix,
// and the contents of its versions, the oldest first.
func (b *bucket) histories(ctx context.Context, prefix string) (lines []string, err error) {
	contents := map[string]string{}
	pages := s3.NewListObjectVersionsPaginator(b.client, &s3.ListObjectVersionsInput{Bucket: &b.name, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Versions {
			if strings.HasSuffix(*v.Key, ".json") {
				continue
			}
			content, err := b.version(ctx, v)
			if err != nil {
				return nil, err
			}
			contents[*v.Key] = " " + content + contents[*v.Key] // the newest comes first
		}
	}
	for key, versions := range contents {
		lines = append(lines, strings.TrimPrefix(key, prefix)+":"+versions)
	}
	slices.Sort(lines)
	return lines, nil
}

func (b *bucket) version(ctx context.Context, v types.ObjectVersion) (string, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: v.Key, VersionId: v.VersionId})
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	content, err := io.ReadAll(out.Body)
	return string(content), err
}

// TestExportVersions exports assets with their revisions to the S3 server, and kills the program after
// some of them, several times. Then the versions of each object are the revisions of its asset, none
// doubled, and a migration to a second sandbox has the same revisions, as verify confirms.
func TestExportVersions(t *testing.T) {
	const assets, kills = 40, 5
	ctx, dice := t.Context(), seedtest.Rand(t)
	from, to := newBucket(t), newBucket(t)
	for _, b := range []*bucket{from, to} {
		must(t, b.keepVersions(ctx, types.BucketVersioningStatusEnabled))
	}
	var want []string
	for n := range assets {
		line := fmt.Sprintf("a %02d.txt:", n)
		for version := range n%6 + 1 {
			content := fmt.Sprint("content", n, "/", version)
			must(t, from.put(ctx, fmt.Sprintf("a %02d.txt", n), []byte(content)))
			if version >= n%6+1-4 {
				line += " " + content
			}
		}
		want = append(want, line)
	}
	p := build(t)
	s, _ := p.sandbox(t)
	if done, code := p.run(t, s, 0, "migrate", "s3://"+from.name, "--endpoint", gateway.url, "--unsupported", "create", "--versions", "9", "--json"); done != assets || code != 0 {
		t.Fatalf("%d objects, exit code %d", done, code)
	}
	args := []string{"export", "s3://" + to.name + "/x", "--endpoint", gateway.url, "--versions", "4", "--json", "-j", "4"}
	for range kills {
		if _, code := p.run(t, s, 1+dice.IntN(assets/(kills+2)), args...); runtime.GOOS != "windows" && code != -1 {
			t.Fatalf("exit code %d before it was killed", code)
		}
	}
	if _, code := p.run(t, s, 0, args...); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	got, err := to.histories(ctx, "x/Documents/")
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("versions in the bucket: %q, want %q", got, want)
	}
	if done, code := p.run(t, s, 0, args...); done != 0 || code != 0 {
		t.Errorf("the next export: %d assets, exit code %d", done, code)
	}

	second := program{p.path, t.TempDir()}
	other, _ := second.sandbox(t)
	if done, code := second.run(t, other, 0, "migrate", "s3://"+to.name+"/x", "--endpoint", gateway.url, "--versions", "4", "--json"); done != assets || code != 0 {
		t.Errorf("the way back: %d objects, exit code %d", done, code)
	}
	if got, err = other.revisions(); err != nil || !slices.Equal(got, want) {
		t.Errorf("revisions: %q (%v), want %q", got, err, want)
	}
	if _, code := second.run(t, other, 0, "verify", "--revisions", "--content", "--json"); code != 0 {
		t.Errorf("verify ended with %d", code)
	}

	must(t, to.keepVersions(ctx, types.BucketVersioningStatusSuspended))
	args[1] = "s3://" + to.name + "/y"
	if _, code := p.run(t, s, 0, args...); code != 2 {
		t.Errorf("a bucket that keeps no new versions: exit code %d", code)
	}
}
