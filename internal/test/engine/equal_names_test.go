package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"assetferry/migrate"
)

// A costWitness records what a plan will read at most.
type costWitness struct {
	migrate.Silent
	reports []string
}

func (w *costWitness) Comparing(objects, fromSource, fromDestination int64) {
	w.reports = append(w.reports, fmt.Sprint(objects, fromSource, fromDestination))
}

// TestChecksumsOfSourceSaveReading verifies that an object whose version tag is the MD5 checksum of
// the asset in its place is not read, that a tag which does not match is no evidence, and that the
// plan reports its cost first.
func TestChecksumsOfSourceSaveReading(t *testing.T) {
	encrypted := func(content string) string { return sumTag("key " + content) }
	for name, tc := range map[string]struct {
		tag  func(content string) string
		read int64
	}{"checksums": {sumTag, 1}, "encrypted": {encrypted, 3}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			objects := newTagging(w)
			objects.put(tc.tag, "a.jpg", "same")
			objects.put(tc.tag, "b.jpg", "alike")
			objects.put(tc.tag, "c.jpg", "other")
			objects.put(tc.tag, "d.jpg", "longer")
			w.upload(w.images, "", "a.jpg", "same")
			w.upload(w.images, "", "b.jpg", "alike")
			w.upload(w.images, "", "c.jpg", "OTHER")
			w.upload(w.images, "", "d.jpg", "long")
			cost := &costWitness{}
			d := w.deps()
			d.Source, d.Watch = objects, cost
			plan, err := w.dryRunWith(d, migrate.DefaultRules())
			must(w, err)
			w.wantStates(plan, map[string]int64{"adopt planned": 2, "conflict conflict": 2})
			if got := objects.read.Load(); got != tc.read {
				t.Errorf("%d objects were read, want %d", got, tc.read)
			}
			if len(cost.reports) != 1 || cost.reports[0] != "3 14 14" {
				t.Errorf("reported %q, want 3 objects and 14 bytes on either side", cost.reports)
			}
		})
	}
}

// failingDownloads is a destination that fails one download.
type failingDownloads struct {
	migrate.Reader
	n       atomic.Int64
	failing int64
	err     error
}

func (d *failingDownloads) Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if d.n.Add(1) == d.failing {
		return nil, 0, d.err
	}
	return d.Reader.Download(ctx, url, offset)
}

// TestComparisonsAcrossPages verifies that several pages of objects with equal names are matched,
// and that an outage during any of the comparisons ends the plan with its error, so that no object
// counts as different because of it.
func TestComparisonsAcrossPages(t *testing.T) {
	w := newWorld(t)
	const objects = 2*migrate.PageSize + 100
	w.putMany(objects)
	w.migrate(migrate.DefaultRules())
	w.loseState()
	for _, failing := range []int64{1, migrate.PageSize + 500, objects} {
		outage := errors.New("outage")
		d := w.deps()
		d.Dest = &failingDownloads{Reader: w.client, failing: failing, err: outage}
		if _, err := w.dryRunWith(d, migrate.DefaultRules()); !errors.Is(err, outage) {
			t.Errorf("download %d: got %v, want the outage", failing, err)
		}
	}
	w.wantStates(w.plan(migrate.DefaultRules()), map[string]int64{"adopt planned": objects})
}
