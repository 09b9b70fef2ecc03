package metadata

import (
	"slices"
	"strings"
	"sync"
)

// Collections is the field with the names of the collections or albums of an object. An object may be
// in several.
const Collections = "collections"

// SplitCollections splits a text into names of collections. They may contain commas.
func SplitCollections(text string) []string { return strings.Split(text, ";") }

// sortedNames returns names in normal form, sorted and without duplicates.
func sortedNames(names []string) []string {
	names = Fields{Collections: names}.Normal()[Collections]
	slices.Sort(names)
	return names
}

// Tables are the tables of the user. Each may be nil. With a table of collections, the field
// collections of the other table is not used.
type Tables struct{ Metadata, Collections *Table }

// Describe returns the metadata of an object in both tables; ok is false if it has no row.
func (t Tables) Describe(o Identity) (f Fields, ok bool, err error) {
	if t.Metadata != nil {
		if f, ok, err = t.Metadata.Describe(o); err != nil {
			return nil, false, err
		}
	}
	if t.Collections == nil {
		return f, ok, nil
	}
	in, is, err := t.Collections.Describe(o)
	if err != nil {
		return nil, false, err
	}
	if f[Collections] != nil {
		delete(f, Collections) // a row is read again for each lookup
	}
	return in.Or(f), ok || is, nil
}

// AsksForChecksums reports whether some rows identify objects by checksum.
func (t Tables) AsksForChecksums() bool {
	return t.Metadata != nil && t.Metadata.AsksForChecksums() || t.Collections != nil && t.Collections.AsksForChecksums()
}

// Counted counts the collections of the objects that were looked up so far.
func (t Tables) Counted() CollectionCounts {
	switch {
	case t.Collections != nil:
		return t.Collections.counted.counts()
	case t.Metadata != nil:
		return t.Metadata.counted.counts()
	}
	return CollectionCounts{}
}

// CollectionCounts count collections.
type CollectionCounts struct {
	Names       int64 // different ones
	Memberships int64 // of all objects
	Objects     int64 // in a collection
	Several     int64 // in more than one collection
}

// counted counts the collections of objects. It may be used by several goroutines.
type counted struct {
	mu    sync.Mutex
	names map[uint64]struct{} // hashes, because there may be a million names
	CollectionCounts
}

// add adds the collections of an object.
func (c *counted) add(names []string, hash func(string) uint64) {
	if len(names) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil {
		c.names = map[uint64]struct{}{}
	}
	for _, name := range names {
		c.names[hash(name)] = struct{}{}
	}
	c.Objects++
	c.Memberships += int64(len(names))
	if len(names) > 1 {
		c.Several++
	}
}

func (c *counted) counts() CollectionCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.CollectionCounts
	counts.Names = int64(len(c.names))
	return counts
}
