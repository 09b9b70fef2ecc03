package rewrite

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
)

// Assets are the targets of old URLs, and whether texts mention them. Each takes a hash and a bit.
type Assets struct {
	seed    maphash.Seed
	hashes  []uint64 // of the results of assetOf, sorted
	met     []uint64 // a bit for each of them
	by      shelves
	common  beginnings
	current []string
}

// newAssets returns an empty set. Call add for all assets, then seal with the hashes.
func newAssets() *Assets { return &Assets{seed: maphash.MakeSeed(), common: beginnings{}} }

// add adds the beginning of an asset by its URL, and returns the hash of the asset.
func (a *Assets) add(url string) (hash uint64, err error) {
	asset := assetOf(Canonical(url))
	if asset == "" || !a.common.add(asset) {
		return 0, errors.New("is not a new URL: it must begin with https://, http:// or a slash before a file name")
	}
	return maphash.String(a.seed, asset), nil
}

// seal prepares lookups.
func (a *Assets) seal(hashes []uint64) (err error) {
	slices.Sort(hashes)
	a.hashes = slices.Compact(hashes)
	a.met = newBits(len(a.hashes))
	a.by = newShelves(len(a.hashes), func(n int) uint64 { return a.hashes[n] })
	a.current, err = a.common.all()
	return err
}

// Current returns the beginnings of the URLs of assets.
func (a *Assets) Current() []string { return a.current }

// Count returns the number of assets.
func (a *Assets) Count() int { return len(a.hashes) }

// Meet records that a text mentions an asset, by a URL in the form of Canonical, and reports whether
// the asset exists.
func (a *Assets) Meet(url string) bool {
	n, ok := a.number(url)
	if ok {
		setBit(a.met, n)
	}
	return ok
}

// unmet reports whether no text mentions an asset, by its hash. It returns true once for each asset.
func (a *Assets) unmet(hash uint64) bool {
	n, ok := a.withHash(hash)
	if !ok || hasBit(a.met, n) {
		return false
	}
	setBit(a.met, n)
	return true
}

func (a *Assets) holds(url string) bool {
	_, ok := a.number(url)
	return ok
}

// number returns the index of an asset, by its URL.
func (a *Assets) number(url string) (n int, ok bool) {
	if !slices.ContainsFunc(a.current, func(begin string) bool { return strings.HasPrefix(url, begin) }) {
		return 0, false
	}
	return a.withHash(maphash.String(a.seed, assetOf(url)))
}

func (a *Assets) withHash(hash uint64) (n int, ok bool) {
	for n, end := a.by.of(hash); n < end; n++ {
		if a.hashes[n] == hash {
			return n, true
		}
	}
	return 0, false
}

func newBits(count int) []uint64 { return make([]uint64, (count+63)/64) }

func hasBit(bits []uint64, n int) bool { return bits[n/64]&(1<<(n%64)) != 0 }

func setBit(bits []uint64, n int) { bits[n/64] |= 1 << (n % 64) }

// assetsFolder is before the ID in the URL of an asset.
const assetsFolder = "/assets/"

// assetOf returns the common beginning of all URLs of an asset: its file and its image sizes. A URL
// of another form is an asset of its own.
func assetOf(url string) string {
	if i := strings.LastIndex(url, assetsFolder); i >= 0 {
		if n := strings.IndexByte(url[i+len(assetsFolder):], '/'); n > 0 {
			return url[:i+len(assetsFolder)+n+1]
		}
	}
	return url
}

// beginnings collects the common beginnings of URLs, by host or first folder.
type beginnings map[string]string

// add adds a canonical URL, and reports whether it can be found in a text: by its host, its folder or
// a name with an extension.
func (b beginnings) add(url string) bool {
	path, _, _ := strings.Cut(url, "?")
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

// all returns the beginnings. If there are too many folders to search for, it returns the root.
func (b beginnings) all() ([]string, error) {
	if len(b) > maxPlaces {
		maps.DeleteFunc(b, func(group, _ string) bool { return !strings.HasPrefix(group, "//") })
		if len(b) >= maxPlaces {
			return nil, fmt.Errorf("the URLs have %d hosts; at most %d are supported", len(b), maxPlaces-1)
		}
		b[string(root)] = string(root)
	}
	return slices.Sorted(maps.Values(b)), nil
}
