package inventory

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"maps"
	"slices"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/state"
)

// LikenessOf returns a hash of the place, name and size of an asset. Names are compared as they are
// but for their Unicode form, and for the case of extensions, which services need not keep.
func LikenessOf(e state.Entry) int64 {
	h := fnv.New64a()
	for _, s := range []string{e.Category, e.Folder, migrate.NormalName(e.Name), migrate.FoldName(e.Extension), fmt.Sprint(e.Size)} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return int64(h.Sum64())
}

// EntryOfReceipt returns the asset of a receipt as an entry.
func EntryOfReceipt(r state.Receipt) state.Entry {
	return state.Entry{Asset: r.Asset, Category: r.Category, Folder: r.Folder, Name: r.Name, Extension: r.Extension, Size: r.Size, URL: r.URL}
}

// IsAlike reports whether two assets have the same place, name and size.
func IsAlike(a, b state.Entry) bool {
	return a.Category == b.Category && a.Folder == b.Folder && a.Size == b.Size &&
		migrate.NormalName(a.Name) == migrate.NormalName(b.Name) && migrate.FoldName(a.Extension) == migrate.FoldName(b.Extension)
}

// ExpectedAssets returns the IDs of expected foreign assets: those that a plan saw in a place
// before it used the place, and those that belong to an object of another source in this state
// database.
func ExpectedAssets(ctx context.Context, j *state.Store, pair state.Pair, ids []string) (map[string]bool, error) {
	known := map[string]bool{}
	for chunk := range slices.Chunk(ids, migrate.PageSize) {
		namesakes, err := j.Namesakes(ctx, pair.ID, chunk)
		if err != nil {
			return nil, err
		}
		shared, err := j.SharedAssets(ctx, pair, chunk)
		if err != nil {
			return nil, err
		}
		maps.Copy(known, namesakes)
		maps.Copy(known, shared)
	}
	return known, nil
}

// An Ownership is the owner of a listed asset.
type Ownership uint8

// The owners: unknown, a receipt of ours, or one that [ExpectedAssets] knows.
const (
	ForeignAsset Ownership = iota
	OwnAsset
	ExpectedAsset
)

// A named asset is one in a place, by hashes of its name and size and of its id.
type named struct {
	name, asset uint64
	whose       Ownership
}

// A NameCounter collects the names of the assets in one place to count duplicate names. It takes 24
// bytes for each asset, and no requests.
type NameCounter struct {
	seed maphash.Seed
	All  []named
}

// NewNameCounter returns a counter of no names.
func NewNameCounter() *NameCounter { return &NameCounter{seed: maphash.MakeSeed()} }

// Add notes the name and size of an asset and whose it is. It may be noted twice.
func (n *NameCounter) Add(a assets.Asset, w Ownership) {
	name := fmt.Sprintf("%s\x00%s\x00%d", migrate.NormalName(a.Name), migrate.FoldName(a.Extension), a.Size)
	n.All = append(n.All, named{maphash.String(n.seed, name), maphash.String(n.seed, a.ID), w})
}

// Duplicates returns the number of names that several assets of one size have, unless all these
// assets are ours or expected.
func (n *NameCounter) Duplicates() (count int64) {
	slices.SortFunc(n.All, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.asset, b.asset))
	})
	all := slices.CompactFunc(n.All, func(a, b named) bool { return a.name == b.name && a.asset == b.asset })
	for len(all) > 0 {
		same := 1
		for same < len(all) && all[same].name == all[0].name {
			same++
		}
		if isDoubled(all[:same]) {
			count++
		}
		all = all[same:]
	}
	return count
}

func isDoubled(same []named) bool {
	var is [3]int
	for _, a := range same {
		is[a.whose]++
	}
	return len(same) > 1 && (is[OwnAsset] == 0 || is[ForeignAsset] > 0)
}
