package inventory

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"sync"

	"assetferry/migrate"
	"assetferry/state"
)

// ForeignNames contains the names of assets that are not ours, as hashes, for places in which the
// owner of a name is known only from a listing.
type ForeignNames struct {
	tree  *Tree
	store *state.Store
	pair  int64
	seed  maphash.Seed

	mu sync.Mutex
	at map[migrate.Place]map[uint64]bool
}

// NewForeignNames returns an empty set of foreign names for the assets of a pair.
func NewForeignNames(t *Tree, store *state.Store, pair int64) *ForeignNames {
	return &ForeignNames{tree: t, store: store, pair: pair, seed: maphash.MakeSeed(), at: map[migrate.Place]map[uint64]bool{}}
}

// List lists a place, whose name is empty, unless that was done before.
func (f *ForeignNames) List(ctx context.Context, at migrate.Place) error {
	f.mu.Lock()
	_, listed := f.at[at]
	f.mu.Unlock()
	if listed {
		return nil
	}
	folder, err := f.tree.Find(ctx, at.Category, at.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	names := map[uint64]bool{}
	for page, err := range migrate.Pages(List(ctx, f.tree.dest, state.Container{Category: at.Category, Folder: folder}), migrate.PageSize) {
		if err != nil {
			return err
		}
		ours, err := f.store.ReceiptsOf(ctx, f.pair, IDsOf(page))
		if err != nil {
			return err
		}
		for _, a := range page {
			if _, is := ours[a.ID]; !is {
				names[f.hash(a.Name, a.Extension)] = true
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at[at] = names
	return nil
}

// Has reports whether a foreign asset has a name, if its place was listed.
func (f *ForeignNames) Has(p migrate.Place) bool {
	name, extension := migrate.SplitName(p.Name)
	return f.at[migrate.Place{Category: p.Category, Folder: p.Folder}][f.hash(name, extension)]
}

// hash returns the hash of a name. It ignores the case of the extension, which services may change.
func (f *ForeignNames) hash(name, extension string) uint64 {
	return maphash.String(f.seed, migrate.NormalName(name)+"\x00"+migrate.FoldName(extension))
}
