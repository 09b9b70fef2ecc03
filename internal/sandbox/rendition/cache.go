package rendition

import (
	"fmt"

	"golang.org/x/sync/singleflight"
)

const (
	// RenditionsInMemory limits the bytes of cached renditions.
	RenditionsInMemory = 64 << 20
	// conversions limits the images that are decoded for renditions at a time: each may need
	// several hundred megabytes.
	conversions = 2
)

// A Key contains everything that determines the bytes of a rendition.
type Key struct {
	Content       string
	Width, Height int // of the bounding box; 0: no bound
	Format        Format
	Quality       int
}

// A Cache generates renditions on demand. Parallel requests share one conversion. It keeps the
// most recently used ones.
type Cache struct {
	kept    *recentBytes[Key]
	flights singleflight.Group
	slots   chan struct{}
	make    func(Key) ([]byte, error)
}

// NewCache returns a cache with a limit in bytes.
func NewCache(limit int, convert func(Key) ([]byte, error)) *Cache {
	return &Cache{kept: newRecentBytes[Key](limit), slots: make(chan struct{}, conversions), make: convert}
}

// Get returns a rendition, generating it if necessary.
func (r *Cache) Get(key Key) ([]byte, error) {
	if b, ok := r.kept.get(key); ok {
		return b, nil
	}
	made, err, _ := r.flights.Do(fmt.Sprint(key), func() (any, error) {
		var b []byte
		err := r.Alone(func() (err error) {
			b, err = r.make(key)
			return err
		})
		if err == nil {
			r.kept.put(key, b)
		}
		return b, err
	})
	if err != nil {
		return nil, err
	}
	return made.([]byte), nil
}

// Alone waits until there is memory for another image.
func (r *Cache) Alone(do func() error) error {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	return do()
}
