package undo

import (
	"cmp"
	"context"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// createdAssets are the assets that the undone run created, and what listings have shown of them.
// An asset takes 18 bytes: it is found by a hash, with a random seed, of the asset and everything
// that is compared except its times. A change of one of a million assets is missed once in 10^13
// times.
type createdAssets struct {
	seed       maphash.Seed
	parts      []createdPart
	containers []state.Container

	mu       sync.Mutex
	findings []finding // those that occurred; createdPart refers to them
}

// A createdPart has a part of the assets.
type createdPart struct {
	all   []createdAsset // sorted by sum
	found []uint16       // for each, 1 + position in findings; 0 if it was not listed
}

// A createdAsset is one of the assets.
type createdAsset struct {
	sum      uint64
	modified int64 // as in the receipt, in milliseconds, or one of the following
}

const (
	unknown   = math.MinInt64
	ambiguous = math.MaxInt64 // another asset has the same sum, so that listings cannot distinguish them
)

// A finding is what a listing shows of an asset.
type finding struct {
	shared  bool   // it belongs to an object of another source, too
	changed string // its parts that changed since the run
}

// findCreated reads which assets the undone run created, of several ranges of keys at once, and
// their containers. size is the maximum number of assets in a range.
func findCreated(ctx context.Context, undo *state.UndoReader, ranges []state.KeyRange, size int64) (*createdAssets, error) {
	c := &createdAssets{seed: maphash.MakeSeed(), parts: make([]createdPart, len(ranges))}
	containers := make([]map[state.Container]bool, len(ranges))
	g, ctx := errgroup.WithContext(ctx)
	for n, keys := range ranges {
		g.Go(func() error {
			all := make([]createdAsset, 0, size)
			containers[n] = map[state.Container]bool{}
			for a, err := range undo.Creations(ctx, keys) {
				if err != nil {
					return err
				}
				all = append(all, createdAsset{sum: c.sum(&a.Entry), modified: millis(a.Modified)})
				containers[n][state.Container{Category: a.Category, Folder: a.Folder}] = true
			}
			c.parts[n] = newCreatedPart(all)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, more := range containers[1:] {
		maps.Copy(containers[0], more)
	}
	c.containers = slices.SortedFunc(maps.Keys(containers[0]), func(a, b state.Container) int {
		return cmp.Or(strings.Compare(a.Category, b.Category), strings.Compare(a.Folder, b.Folder))
	})
	return c, nil
}

// newCreatedPart sorts assets by their sums.
func newCreatedPart(all []createdAsset) createdPart {
	slices.SortFunc(all, func(a, b createdAsset) int { return cmp.Compare(a.sum, b.sum) })
	for n := 1; n < len(all); n++ {
		if all[n-1].sum == all[n].sum {
			all[n-1].modified, all[n].modified = ambiguous, ambiguous
		}
	}
	return createdPart{all, make([]uint16, len(all))}
}

// count returns the number of assets.
func (c *createdAssets) count() (n int64) {
	for _, part := range c.parts {
		n += int64(len(part.all))
	}
	return n
}

// sum returns the hash of an asset.
func (c *createdAssets) sum(e *state.Entry) uint64 {
	return maphash.Comparable(c.seed, struct {
		asset, category, folder, name, extension string
		size                                     int64
	}{e.Asset, e.Category, e.Folder, e.Name, e.Extension, e.Size})
}

// at returns the asset with a hash, and where to note what listings show of it; nil if there is
// none, or more than one.
func (c *createdAssets) at(sum uint64) (a createdAsset, found *uint16) {
	for _, part := range c.parts {
		n, is := slices.BinarySearchFunc(part.all, sum, func(a createdAsset, sum uint64) int { return cmp.Compare(a.sum, sum) })
		switch {
		case is && (found != nil || part.all[n].modified == ambiguous):
			return a, nil
		case is:
			a, found = part.all[n], &part.found[n]
		}
	}
	return a, found
}

// of returns where to note what listings show of the asset of a receipt; nil if the run did not
// create it, or listings cannot distinguish it.
func (c *createdAssets) of(r state.Receipt) (found *uint16) {
	_, found = c.at(c.sum(&state.Entry{Asset: r.Asset, Category: r.Category, Folder: r.Folder, Name: r.Name, Extension: r.Extension, Size: r.Size}))
	return found
}

// isUnchanged notes a listed asset that is exactly as the run left it, and has no metadata. It
// reports whether it is one.
func (c *createdAssets) isUnchanged(a assets.Asset, shared bool) bool {
	if a.Metadata.Description != "" || len(a.Tags)+len(a.Metadata.CustomAttributes) > 0 {
		return false
	}
	created, found := c.at(c.sum(&state.Entry{Asset: a.ID, Category: a.CategoryID, Folder: a.FolderID, Name: a.Name, Extension: a.Extension, Size: a.Size}))
	if found == nil || collect.ChangedLater(state.Receipt{Modified: fromMillis(created.modified)}, a) {
		return false
	}
	c.note(found, finding{shared: shared})
	return true
}

// note notes what a listing shows of an asset. The last listing counts.
func (c *createdAssets) note(found *uint16, f finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := slices.Index(c.findings, f)
	if n < 0 {
		n, c.findings = len(c.findings), append(c.findings, f)
	}
	*found = uint16(n + 1) // there are at most 256
}

// finding returns what listings have shown of an asset, if they have shown it.
func (c *createdAssets) finding(e *state.Entry) (f finding, listed bool) {
	_, found := c.at(c.sum(e))
	if found == nil || *found == 0 {
		return f, false
	}
	return c.findings[*found-1], true
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return unknown
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == unknown {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
