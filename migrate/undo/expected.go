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
// An asset takes 24 bytes: it is found by a hash, with a random seed, of the asset and everything
// that is compared except its times. A change of one of a million assets is missed once in 10^13
// times.
type createdAssets struct {
	seed       maphash.Seed
	parts      [][]createdAsset // each sorted by sum
	containers []state.Container

	mu       sync.Mutex
	findings []finding // those that occurred; createdAsset refers to them
}

// A createdAsset is one of the assets.
type createdAsset struct {
	sum       uint64
	modified  int64  // as in the receipt, in milliseconds, or unknown
	found     uint16 // 1 + position in findings; 0 if it was not listed
	ambiguous bool   // another asset has the same sum, so that listings cannot distinguish them
}

const unknown = math.MinInt64

// A finding is what a listing shows of an asset.
type finding struct {
	shared  bool   // it belongs to an object of another source, too
	changed string // its parts that changed since the run
}

// findCreated reads which assets the undone run created, of several ranges of keys at once, and
// their containers. size is the maximum number of assets in a range.
func findCreated(ctx context.Context, undo *state.UndoReader, ranges []state.KeyRange, size int64) (*createdAssets, error) {
	c := &createdAssets{seed: maphash.MakeSeed(), parts: make([][]createdAsset, len(ranges))}
	containers := make([]map[state.Container]bool, len(ranges))
	g, ctx := errgroup.WithContext(ctx)
	for n, keys := range ranges {
		g.Go(func() error {
			c.parts[n] = make([]createdAsset, 0, size)
			containers[n] = map[state.Container]bool{}
			for a, err := range undo.Creations(ctx, keys) {
				if err != nil {
					return err
				}
				c.parts[n] = append(c.parts[n], createdAsset{sum: c.sum(&a.Entry), modified: millis(a.Modified)})
				containers[n][state.Container{Category: a.Category, Folder: a.Folder}] = true
			}
			sortCreated(c.parts[n])
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

// sortCreated sorts assets by their sums.
func sortCreated(all []createdAsset) {
	slices.SortFunc(all, func(a, b createdAsset) int { return cmp.Compare(a.sum, b.sum) })
	for n := 1; n < len(all); n++ {
		if all[n-1].sum == all[n].sum {
			all[n-1].ambiguous, all[n].ambiguous = true, true
		}
	}
}

// count returns the number of assets.
func (c *createdAssets) count() (n int64) {
	for _, part := range c.parts {
		n += int64(len(part))
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

// at returns the asset with a hash; nil if there is none, or more than one.
func (c *createdAssets) at(sum uint64) (found *createdAsset) {
	for _, part := range c.parts {
		n, is := slices.BinarySearchFunc(part, sum, func(a createdAsset, sum uint64) int { return cmp.Compare(a.sum, sum) })
		switch {
		case is && (found != nil || part[n].ambiguous):
			return nil
		case is:
			found = &part[n]
		}
	}
	return found
}

// of returns the asset of a receipt; nil if the run did not create it, or listings cannot
// distinguish it.
func (c *createdAssets) of(r state.Receipt) *createdAsset {
	return c.at(c.sum(&state.Entry{Asset: r.Asset, Category: r.Category, Folder: r.Folder, Name: r.Name, Extension: r.Extension, Size: r.Size}))
}

// isUnchanged notes a listed asset that is exactly as the run left it, and has no metadata. It
// reports whether it is one.
func (c *createdAssets) isUnchanged(a assets.Asset, shared bool) bool {
	if a.Metadata.Description != "" || len(a.Tags)+len(a.Metadata.CustomAttributes) > 0 {
		return false
	}
	created := c.at(c.sum(&state.Entry{Asset: a.ID, Category: a.CategoryID, Folder: a.FolderID, Name: a.Name, Extension: a.Extension, Size: a.Size}))
	if created == nil || collect.ChangedLater(state.Receipt{Modified: fromMillis(created.modified)}, a) {
		return false
	}
	c.note(created, finding{shared: shared})
	return true
}

// note notes what a listing shows of an asset. The last listing counts.
func (c *createdAssets) note(a *createdAsset, f finding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := slices.Index(c.findings, f)
	if n < 0 {
		n, c.findings = len(c.findings), append(c.findings, f)
	}
	a.found = uint16(n + 1) // there are at most 256
}

// finding returns what listings have shown of an asset, if they have shown it.
func (c *createdAssets) finding(e *state.Entry) (f finding, listed bool) {
	a := c.at(c.sum(e))
	if a == nil || a.found == 0 {
		return f, false
	}
	return c.findings[a.found-1], true
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
