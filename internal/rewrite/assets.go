package rewrite

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
)

// Assets are those that old addresses lead to, and which of them texts refer to. Of each
// there is a hash and a bit. First all are added, then they are sealed, then they are met.
type Assets struct {
	seed    maphash.Seed
	hashes  []uint64 // of what assetOf gives, ascending once they are sealed
	met     []uint64 // a bit for each of them
	by      shelves
	common  beginnings
	current []string
}

// NewAssets returns Assets without any.
func NewAssets() *Assets { return &Assets{seed: maphash.MakeSeed(), common: beginnings{}} }

// Add adds an asset by its address.
func (a *Assets) Add(address string) error {
	asset := assetOf(Canonical(address))
	if asset == "" || !a.common.add(asset) {
		return errors.New("is no new address: it begins neither with https:// or http://, nor with a slash before the name of a file")
	}
	a.hashes = append(a.hashes, maphash.String(a.seed, asset))
	return nil
}

// Seal has the assets found from now on.
func (a *Assets) Seal() (err error) {
	slices.Sort(a.hashes)
	a.hashes = slices.Clip(slices.Compact(a.hashes))
	a.met = make([]uint64, (len(a.hashes)+63)/64)
	a.by = newShelves(len(a.hashes), func(n int) uint64 { return a.hashes[n] })
	a.current, err = a.common.all()
	return err
}

// Current gives what the addresses of assets begin with.
func (a *Assets) Current() []string { return a.current }

// Count counts the assets.
func (a *Assets) Count() int { return len(a.hashes) }

// Meet takes note that a text refers to the asset with an address in the form of
// Canonical, and reports whether there is one.
func (a *Assets) Meet(address string) bool {
	n, ok := a.number(address)
	if ok {
		a.met[n/64] |= 1 << (n % 64)
	}
	return ok
}

// Unmet reports, once for each asset, whether no text refers to it.
func (a *Assets) Unmet(address string) bool {
	n, ok := a.number(Canonical(address))
	if !ok || a.met[n/64]&(1<<(n%64)) != 0 {
		return false
	}
	a.met[n/64] |= 1 << (n % 64)
	return true
}

func (a *Assets) holds(address string) bool {
	_, ok := a.number(address)
	return ok
}

// number gives the place of an asset among all, by its address.
func (a *Assets) number(address string) (n int, ok bool) {
	if !slices.ContainsFunc(a.current, func(begin string) bool { return strings.HasPrefix(address, begin) }) {
		return 0, false
	}
	hash := maphash.String(a.seed, assetOf(address))
	for n, end := a.by.of(hash); n < end; n++ {
		if a.hashes[n] == hash {
			return n, true
		}
	}
	return 0, false
}

// assetOf gives what all addresses of an asset begin with, be it a file or an image in some
// size. What does not look like the service's is an asset of its own.
func assetOf(address string) string {
	const folder = "/assets/"
	if i := strings.LastIndex(address, folder); i >= 0 {
		if n := strings.IndexByte(address[i+len(folder):], '/'); n > 0 {
			return address[:i+len(folder)+n+1]
		}
	}
	return address
}

// Beginnings collects what addresses have in common, by their host or first folder.
type beginnings map[string]string

// add takes note of a canonical address, and reports whether it has a host, or a name with
// an ending, without which it could not be told from other text.
func (b beginnings) add(address string) bool {
	path, _, _ := strings.Cut(address, "?")
	from := 1
	if strings.HasPrefix(path, "//") {
		from = 2
	}
	n := strings.IndexByte(path[min(from, len(path)):], '/')
	switch {
	case n == 0 || from == 2 && n < 0:
		return false
	case n < 0 && holds([]place{root}, path):
		b[string(root)] = string(root)
		return true
	case n < 0:
		return false
	}
	group := path[:from+n+1]
	folder := path[:strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')+1]
	common, known := b[group]
	if !known {
		common = folder
	}
	n = 0
	for n < min(len(common), len(folder)) && common[n] == folder[n] {
		n++
	}
	b[group] = common[:strings.LastIndexByte(common[:n], '/')+1]
	return true
}

// all gives what was collected. Of more folders than can be looked for at once it is the root.
func (b beginnings) all() ([]string, error) {
	if len(b) > maxPlaces {
		maps.DeleteFunc(b, func(group, _ string) bool { return !strings.HasPrefix(group, "//") })
		if len(b) >= maxPlaces {
			return nil, fmt.Errorf("the addresses are on %d hosts, and at most %d can be looked for at once", len(b), maxPlaces-1)
		}
		b[string(root)] = string(root)
	}
	return slices.Sorted(maps.Values(b)), nil
}
