// Package picture converts an image to the form that an AI model accepts: a JPEG or PNG, upright,
// no larger than the model uses, and without metadata. It encodes every image again, even one that
// already fits, so that GPS coordinates, names, dates and thumbnails are not sent.
//
// The content may be malicious. The package reads the number of pixels from the header before it
// starts a decoder, and reports a panic of a decoder as an error.
package picture

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
)

// Errors about an image, for errors.Is. Another attempt with the same image fails again.
var (
	ErrType     = errors.New("the image type is not supported")
	ErrTooLarge = errors.New("the image is too large")
	ErrBroken   = errors.New("the image is damaged")
)

// Media types that this package can encode.
const (
	JPEG = "image/jpeg"
	PNG  = "image/png"
)

// Limits are the limits of a model. A zero value means the default.
type Limits struct {
	Bytes  int64    // maximum size of the encoded file; default 5,000,000, the documented limit of agent models
	Side   int      // maximum length of the longer side in pixels; default 1568, a guess: known models scale larger images down
	Types  []string // accepted media types; default JPEG and PNG, the only types that this package can encode
	Pixels int      // maximum number of pixels to decode; default 64 million; package pixels limits the memory, too
}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 5_000_000
	}
	if l.Side <= 0 {
		l.Side = 1568
	}
	if len(l.Types) == 0 {
		l.Types = []string{JPEG, PNG}
	}
	if l.Pixels <= 0 {
		l.Pixels = 64_000_000
	}
	return l
}

// A Picture is an encoded image that can be sent.
type Picture struct {
	Data          []byte
	Type          string // media type, JPEG or PNG
	Width, Height int    // in pixels, after the rotation
}

// Fit returns an image within limits from the content of a JPEG, PNG, GIF, WebP, BMP or TIFF file.
// It uses the first frame of an animation, applies the EXIF orientation, and never enlarges an
// image. A transparent image or one with a palette becomes a PNG if that is small enough. Any other
// image becomes a JPEG on a white background.
//
// An error is ErrType, ErrTooLarge, ErrBroken or the error of the context.
func Fit(ctx context.Context, content []byte, limits Limits) (Picture, error) {
	limits = limits.orDefault()
	if !slices.Contains(limits.Types, JPEG) && !slices.Contains(limits.Types, PNG) {
		return Picture{}, fmt.Errorf("fit picture: %w: the model accepts %v, but only %s and %s can be encoded", ErrType, limits.Types, JPEG, PNG)
	}
	m, release, err := decode(ctx, content, limits.Pixels)
	if err != nil {
		return Picture{}, fmt.Errorf("fit picture: %w", err)
	}
	defer release()
	sharp := isDrawing(m)
	fitted := rotate(shrink(m, limits.Side), orientation(content))
	made, err := encode(ctx, fitted, sharp, limits)
	if err != nil {
		return Picture{}, fmt.Errorf("fit picture: %w", err)
	}
	return made, nil
}

// isDrawing reports whether JPEG would damage an image: a transparent image, or one with a palette.
func isDrawing(m image.Image) bool {
	if _, ok := m.(*image.Paletted); ok {
		return true
	}
	o, ok := m.(interface{ Opaque() bool })
	return ok && !o.Opaque()
}
