package s3server

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"assetferry/internal/test/seedtest"
)

// TestExportVersions exports assets with their revisions to the S3 server, and kills the program after
// some of them, several times. Then a migration to a second sandbox has the same revisions, none doubled,
// as verify confirms.
func TestExportVersions(t *testing.T) {
	const assets, kills = 40, 5
	ctx, dice := t.Context(), seedtest.Rand(t)
	from, to := newBucket(t), newBucket(t)
	must(t, from.keepVersions(ctx, types.BucketVersioningStatusEnabled))
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
	if done, code := p.run(t, s, 0, args...); done != 0 || code != 0 {
		t.Errorf("the next export: %d assets, exit code %d", done, code)
	}

	second := program{p.path, t.TempDir()}
	other, _ := second.sandbox(t)
	if done, code := second.run(t, other, 0, "migrate", "s3://"+to.name+"/x", "--endpoint", gateway.url, "--versions", "4", "--json"); done != assets || code != 0 {
		t.Errorf("the way back: %d objects, exit code %d", done, code)
	}
	if got, err := other.revisions(); err != nil || !slices.Equal(got, want) {
		t.Errorf("revisions: %q (%v), want %q", got, err, want)
	}
	if _, code := second.run(t, other, 0, "verify", "--revisions", "--content", "--json"); code != 0 {
		t.Errorf("verify ended with %d", code)
	}
}
