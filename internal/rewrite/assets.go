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
// Call Add for all assets, then Seal, then Meet.
type Assets struct {
	seed    maphash.Seed
	hashes  []uint64 // of the results of assetOf; sorted by Seal
	met     []uint64 // a bit for each of them
	by      shelves
	common  beginnings
	current []string
}

// NewAssets returns an empty set.
func NewAssets() *Assets { return &Assets{seed: maphash.MakeSeed(), common: beginnings{}} }

// Add adds an asset by its URL.
func (a *Assets) Add(url string) error {
	asset := assetOf(Canonical(url))
	if asset == "" || !a.common.add(asset) {
		return errors.New("is not a new URL: it must begin with https://, http:// or a slash before a file name")
	}
	a.hashes = append(a.hashes, maphash.String(a.seed, asset))
	return nil
}

// Seal sorts the assets for lookups.
func (a *Assets) Seal() (err error) {
	slices.Sort(a.hashes)
	a.hashes = slices.Clip(slices.Compact(a.hashes))
	a.met = make([]uint64, (len(a.hashes)+63)/64)
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
		a.met[n/64] |= 1 << (n % 64)
	}
	return ok
}

// Unmet reports whether no text mentions an asset. It returns true once for each asset.
func (a *Assets) Unmet(url string) bool {
	n, ok := a.number(Canonical(url))
	if !ok || a.met[n/64]&(1<<(n%64)) != 0 {
		return false
	}
	a.met[n/64] |= 1 << (n % 64)
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
	hash := maphash.String(a.seed, assetOf(url))
	for n, end := a.by.of(hash); n < end; n++ {
		if a.hashes[n] == hash {
			return n, true
		}
	}
	return 0, false
}

// assetOf returns the common beginning of all URLs of an asset: its file and its image sizes. A URL
// of another form is an asset of its own.
func assetOf(url string) string {
	const folder = "/assets/"
	if i := strings.LastIndex(url, folder); i >= 0 {
		if n := strings.IndexByte(url[i+len(folder):], '/'); n > 0 {
			return url[:i+len(folder)+n+1]
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
