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
	all        []createdAsset // sorted by sum
	found      []uint16       // for each, 1 + position in findings; 0 if it was not listed
	containers []state.Container

	mu       sync.Mutex
	findings []finding // those that occurred; found refers to them
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

// findCreated reads which assets the undone run created, and their containers. size is the expected
// number of assets.
func findCreated(ctx context.Context, undo *state.UndoReader, size int64) (*createdAssets, error) {
	c := &createdAssets{seed: maphash.MakeSeed(), all: make([]createdAsset, 0, size)}
	containers := map[state.Container]bool{}
	for a, err := range undo.Creations(ctx) {
		if err != nil {
			return nil, err
		}
		c.all = append(c.all, createdAsset{sum: c.sum(&a.Entry), modified: millis(a.Modified)})
		containers[state.Container{Category: a.Category, Folder: a.Folder}] = true
	}
	c.containers = slices.SortedFunc(maps.Keys(containers), func(a, b state.Container) int {
		return cmp.Or(strings.Compare(a.Category, b.Category), strings.Compare(a.Folder, b.Folder))
	})
	c.sort()
	return c, nil
}

// sort ends the reading; listings follow.
func (c *createdAssets) sort() {
	all := c.all
	slices.SortFunc(all, func(a, b createdAsset) int { return cmp.Compare(a.sum, b.sum) })
	for n := 1; n < len(all); n++ {
		if all[n-1].sum == all[n].sum {
			all[n-1].modified, all[n].modified = ambiguous, ambiguous
		}
	}
	c.found = make([]uint16, len(all))
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
	n, is := slices.BinarySearchFunc(c.all, sum, func(a createdAsset, sum uint64) int { return cmp.Compare(a.sum, sum) })
	if !is || c.all[n].modified == ambiguous {
		return a, nil
	}
	return c.all[n], &c.found[n]
}

// of returns where to note what listings show of the asset of a receipt; nil if the run did not
// create it, or listings cannot distinguish it.
func (c *createdAssets) of(r state.Receipt) (found *uint16) {
	_, found = c.at(c.sum(&state.Entry{Asset: r.Asset, Category: r.Category, Folder: r.Folder, Name: r.Name, Extension: r.Extension, Size: r.Size}))
	return found
}

// isUnchanged notes a listed asset that is exactly as the run left it, and has no metadata. It
// reports whether it is one, and whether this is the first listing that shows it.
func (c *createdAssets) isUnchanged(a assets.Asset, shared bool) (is, isFirst bool) {
	if a.Metadata.Description != "" || len(a.Tags)+len(a.Metadata.CustomAttributes) > 0 {
		return false, false
	}
	created, found := c.at(c.sum(&state.Entry{Asset: a.ID, Category: a.CategoryID, Folder: a.FolderID, Name: a.Name, Extension: a.Extension, Size: a.Size}))
	if found == nil || collect.ChangedLater(state.Receipt{Modified: fromMillis(created.modified)}, a) {
		return false, false
	}
	return true, c.note(found, finding{shared: shared})
}

// note notes what a listing shows of an asset, and reports whether it is the first one. The last
// listing counts.
func (c *createdAssets) note(found *uint16, f finding) (isFirst bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := slices.Index(c.findings, f)
	if n < 0 {
		n, c.findings = len(c.findings), append(c.findings, f)
	}
	isFirst = *found == 0
	*found = uint16(n + 1) // there are at most 256
	return isFirst
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
