package verify

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"

	"assetferry/internal/assets"
	"assetferry/state"
)

// expectations are the assets that listings should show, each as its receipt says, and which of them
// they have shown. Each takes eight bytes and a bit: it is a hash, with a random seed, of the asset
// and everything that is compared. A difference in one of a million assets is missed once in 10^13
// times.
type expectations struct {
	seed maphash.Seed
	urls bool     // URLs are compared, too
	sums []uint64 // sorted

	mu     sync.Mutex
	shown  []uint64 // a bit for each sum
	left   int      // not shown
	others map[string]bool
}

// An appearance is what a listing shows of an asset, as far as it is compared.
type appearance struct {
	asset, name, extension, category, folder, url string
	size                                          int64
}

// expect reads the receipts of the pair.
func (v *Verifier) expect(ctx context.Context) (*expectations, error) {
	x := &expectations{seed: maphash.MakeSeed(), urls: v.Level != LevelListing, others: map[string]bool{}}
	known, err := v.State.SumReceipts(ctx, v.pair.ID)
	if err != nil {
		return nil, err
	}
	x.sums = make([]uint64, 0, known.Objects)
	v.wave = scope{Wave: v.Wave, places: map[state.Container]bool{}}
	for e, err := range v.State.ExpectedEntries(ctx, v.pair.ID) {
		if err != nil {
			return nil, err
		}
		if !v.wave.add(e) {
			continue
		}
		x.add(appearance{e.Asset, e.Name, e.Extension, e.Category, e.Folder, e.URL, e.Size})
	}
	x.begin()
	return x, nil
}

func (x *expectations) add(a appearance) { x.sums = append(x.sums, x.sum(a)) }

// begin ends the expectations; listings follow.
func (x *expectations) begin() {
	slices.Sort(x.sums)
	x.shown, x.left = make([]uint64, (len(x.sums)+63)/64), len(x.sums)
}

// sum returns the hash of an asset. Its URL matters only for downloads.
func (x *expectations) sum(a appearance) uint64 {
	if !x.urls {
		a.url = ""
	}
	return maphash.Comparable(x.seed, a)
}

// met marks a listed asset, and reports whether it is as its receipt says, so that nothing has to be
// reported. An asset that was listed before with a difference, for example because it was moved
// meanwhile, is not marked: the inventory has its latest state.
func (x *expectations) met(a assets.Asset) bool {
	if a.Metadata.Status == assets.Failed {
		return false
	}
	at, found := slices.BinarySearch(x.sums, x.sum(appearance{a.ID, a.Name, a.Extension, a.CategoryID, a.FolderID, a.URL, a.Size}))
	if !found {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.others[a.ID] {
		return false
	}
	if word, bit := &x.shown[at/64], uint64(1)<<(at%64); *word&bit == 0 {
		*word |= bit
		x.left--
	}
	return true
}

// differs records that an asset was listed otherwise than its receipt says.
func (x *expectations) differs(asset string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.others[asset] = true
}

// isMet reports whether the asset of a receipt was listed as the receipt says.
func (x *expectations) isMet(r state.Receipt) bool {
	at, found := slices.BinarySearch(x.sums, x.sum(appearance{r.Asset, r.Name, r.Extension, r.Category, r.Folder, r.URL, r.Size}))
	return found && x.shown[at/64]&(1<<(at%64)) != 0
}

// isComplete reports whether all assets were listed as their receipts say, and nothing else of them.
func (x *expectations) isComplete() bool { return x.left == 0 && len(x.others) == 0 }
