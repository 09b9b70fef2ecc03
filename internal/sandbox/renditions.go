package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"io"

	"golang.org/x/sync/singleflight"

	"assetferry/internal/sandbox/rendition"
)

const (
	// renditionsInMemory is how many bytes of renditions are kept.
	renditionsInMemory = 64 << 20
	// conversions is how many images are decoded at once for renditions: each
	// may take some hundred megabytes.
	conversions = 2
)

// A renditionKey says all that the bytes of a rendition depend on.
type renditionKey struct {
	content       string
	width, height int // of the box that it fits into; 0 is no bound
	format        rendition.Format
	quality       int
}

// renditions make pictures of images on demand, each once however many ask for it
// at the same time, and keep those that were asked for last.
type renditions struct {
	kept    *recentBytes[renditionKey]
	flights singleflight.Group
	slots   chan struct{}
	make    func(renditionKey) ([]byte, error)
}

func newRenditions(limit int, convert func(renditionKey) ([]byte, error)) *renditions {
	return &renditions{kept: newRecentBytes[renditionKey](limit), slots: make(chan struct{}, conversions), make: convert}
}

func (r *renditions) get(key renditionKey) ([]byte, error) {
	if b, ok := r.kept.get(key); ok {
		return b, nil
	}
	made, err, _ := r.flights.Do(fmt.Sprint(key), func() (any, error) {
		var b []byte
		err := r.alone(func() (err error) {
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

// alone waits until memory is free for one more image.
func (r *renditions) alone(do func() error) error {
	r.slots <- struct{}{}
	defer func() { <-r.slots }()
	return do()
}

// convert makes a rendition of stored bytes. One that would take more memory than there is
// for images becomes smaller than was asked for, see rendition.Within. Whoever asked for it may have gone by
// then; others ask for the same.
func (s *Server) convert(key renditionKey) ([]byte, error) {
	side := key.format.MaxSide()
	var box image.Point
	p, release, err := s.decode(context.Background(), key.content, func(r io.ReaderAt, size int64) (cost int64, err error) {
		box, cost, err = rendition.Within(r, size, boundBy(key.width, side), boundBy(key.height, side), key.format)
		return cost, err
	})
	if err != nil {
		return nil, err
	}
	defer release()
	var b bytes.Buffer
	m := p.Fit(box.X, box.Y)
	if err := rendition.Encode(&b, m, key.format, key.quality); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// boundBy is a bound that is no larger than a limit; 0 stands for none.
func boundBy(bound, limit int) int {
	if bound == 0 {
		return limit
	}
	return min(bound, limit)
}
