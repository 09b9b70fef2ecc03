// Package erasure deletes what a state database has about some objects, for requests to erase
// personal data. Only salted checksums of their keys stay, so that no later run uploads the objects
// again.
package erasure

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"sort"
	"strings"
)

// Forgotten is a set of keys: a salt, and a checksum of each key with it. The empty text is the empty
// set. A reader can only find out whether a key that he knows is in the set.
type Forgotten string

const saltSize, sumSize = 16, sha256.Size

// Has reports whether the set has a key.
func (f Forgotten) Has(key string) bool {
	if f == "" {
		return false
	}
	sums, sum := string(f[saltSize:]), f.sum(key)
	_, found := sort.Find(len(sums)/sumSize, func(n int) int { return strings.Compare(sum, sums[n*sumSize:(n+1)*sumSize]) })
	return found
}

// Len returns the number of keys.
func (f Forgotten) Len() int { return len(f) / sumSize }

// With returns the set with more keys.
func (f Forgotten) With(keys ...string) Forgotten {
	if f == "" {
		f = newSet()
	}
	sums := f.sums()
	for _, key := range keys {
		sums = append(sums, f.sum(key))
	}
	return f.of(sums)
}

// Without returns the set without some keys.
func (f Forgotten) Without(keys ...string) Forgotten {
	if f == "" {
		return f
	}
	sums := f.sums()
	for _, key := range keys {
		other := f.sum(key)
		sums = slices.DeleteFunc(sums, func(sum string) bool { return sum == other })
	}
	return f.of(sums)
}

func newSet() Forgotten {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	return Forgotten(salt)
}

// of returns a set with the salt of this one.
func (f Forgotten) of(sums []string) Forgotten {
	if len(sums) == 0 {
		return ""
	}
	slices.Sort(sums)
	return f[:saltSize] + Forgotten(strings.Join(slices.Compact(sums), ""))
}

func (f Forgotten) sums() (sums []string) {
	for rest := string(f[saltSize:]); len(rest) >= sumSize; rest = rest[sumSize:] {
		sums = append(sums, rest[:sumSize])
	}
	return sums
}

func (f Forgotten) sum(key string) string {
	h := hmac.New(sha256.New, []byte(f[:saltSize]))
	h.Write([]byte(key))
	return string(h.Sum(nil))
}
