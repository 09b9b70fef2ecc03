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
	all        []createdAsset // sorted by sum
	containers []state.Container

	mu       sync.Mutex
	findings []finding // those that occurred; createdAsset refers to them
}

// A createdAsset is one of the assets.
type createdAsset struct {
	sum       uint64
	modified  int64  // as in the receipt, in milliseconds, or unknown
	found     uint16 // 1 + position in findings; 0 if it was not listed
	ambiguous bool   // another asset has the same sum, so that listings cannot tell them apart
}

const unknown = math.MinInt64

// A finding is what a listing shows of an asset.
type finding struct {
	shared  bool   // it belongs to an object of another source, too
	changed string // its parts that changed since the run
}

// findCreated reads which assets the undone run created, and their containers.
func findCreated(ctx context.Context, undo *state.UndoReader, halves []state.KeyRange) (*createdAssets, error) {
	c := &createdAssets{seed: maphash.MakeSeed()}
	all, containers := make([][]createdAsset, len(halves)), make([]map[state.Container]bool, len(halves))
	g, ctx := errgroup.WithContext(ctx)
	for n, half := range halves {
		containers[n] = map[state.Container]bool{}
		g.Go(func() error {
			for a, err := range undo.Creations(ctx, half) {
				if err != nil {
					return err
				}
				containers[n][state.Container{Category: a.Category, Folder: a.Folder}] = true
				all[n] = append(all[n], createdAsset{sum: c.sum(&a.Entry), modified: millis(a.Modified)})
			}
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
	c.all = slices.Concat(all...)
	c.sort()
	return c, nil
}

// sort ends the reading; listings follow.
func (c *createdAssets) sort() {
	slices.SortFunc(c.all, func(a, b createdAsset) int { return cmp.Compare(a.sum, b.sum) })
	for n := 1; n < len(c.all); n++ {
		if c.all[n-1].sum == c.all[n].sum {
			c.all[n-1].ambiguous, c.all[n].ambiguous = true, true
		}
	}
}

// sum returns the hash of an asset.
func (c *createdAssets) sum(e *state.Entry) uint64 {
	return maphash.Comparable(c.seed, struct {
		asset, category, folder, name, extension string
		size                                     int64
	}{e.Asset, e.Category, e.Folder, e.Name, e.Extension, e.Size})
}

// at returns the asset with a hash; nil if there is none, or more than one.
func (c *createdAssets) at(sum uint64) *createdAsset {
	n, is := slices.BinarySearchFunc(c.all, sum, func(a createdAsset, sum uint64) int { return cmp.Compare(a.sum, sum) })
	if !is || c.all[n].ambiguous {
		return nil
	}
	return &c.all[n]
}

// of returns the asset of a receipt; nil if the run did not create it, or listings cannot tell it
// apart.
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
