package rendition

import (
	"fmt"

	"golang.org/x/sync/singleflight"
)

const (
	// RenditionsInMemory is how many bytes of renditions are kept.
	RenditionsInMemory = 64 << 20
	// conversions is how many images are decoded at once for renditions: each
	// may take some hundred megabytes.
	conversions = 2
)

// A Key says all that the bytes of a rendition depend on.
type Key struct {
	Content       string
	Width, Height int // of the box that it fits into; 0 is no bound
	Format        Format
	Quality       int
}

// A Cache makes pictures of images on demand, each once however many ask for it
// at the same time, and keeps those that were asked for last.
type Cache struct {
	kept    *recentBytes[Key]
	flights singleflight.Group
	slots   chan struct{}
	make    func(Key) ([]byte, error)
}

// NewCache keeps so many bytes of what convert makes.
func NewCache(limit int, convert func(Key) ([]byte, error)) *Cache {
	return &Cache{kept: newRecentBytes[Key](limit), slots: make(chan struct{}, conversions), make: convert}
}

// Get gives a rendition, made anew if need be.
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

// Alone waits until memory is free for one more image.
func (r *Cache) Alone(do func() error) error {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	return do()
}
