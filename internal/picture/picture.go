// Package picture makes of a picture what an AI model takes: a JPEG or PNG, upright, no
// larger than the model looks at, and with nothing in it that is not to be seen. Positions,
// names, dates and thumbnails of what it was made of stay behind, because every picture is
// encoded anew, also one that would have done as it was.
//
// What it decodes may be hostile. No decoder is started before the header has said how many
// pixels there are, and one that panics has found an error.
package picture

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
)

// What can be wrong with a picture, for errors.Is. The same picture never does better, so
// none of them is worth another try.
var (
	ErrType     = errors.New("it is not a picture of a kind that can be read")
	ErrTooLarge = errors.New("it is too large")
	ErrBroken   = errors.New("it is damaged")
)

// The types that can be made.
const (
	JPEG = "image/jpeg"
	PNG  = "image/png"
)

// Limits are what a model takes; what is zero has a default.
type Limits struct {
	Bytes  int64    // the most in the file that is made; 5,000,000, which is what the documentation gives as the limit of agent models
	Side   int      // the longest side in pixels; 1568, a guess: models that are known scale down what is larger
	Types  []string // the media types that are taken; JPEG and PNG are what can be made, and the default
	Pixels int      // the most in a picture that is decoded; 64 million, and no more than package pixels has memory for
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

// A Picture is one that is ready to be sent.
type Picture struct {
	Data          []byte
	Type          string // its media type, JPEG or PNG
	Width, Height int    // in pixels, as it is seen
}

// Fit makes a picture that is within limits from the content of a file: JPEG, PNG, GIF,
// WebP, BMP or TIFF, of which an animation gives its first frame. It is turned as its EXIF
// says, and never made larger. What is transparent or has a palette stays a PNG where that
// is small; everything else becomes a JPEG, on white.
//
// Errors are of ErrType, ErrTooLarge or ErrBroken, or that of the context.
func Fit(ctx context.Context, content []byte, limits Limits) (Picture, error) {
	limits = limits.orDefault()
	if !slices.Contains(limits.Types, JPEG) && !slices.Contains(limits.Types, PNG) {
		return Picture{}, fmt.Errorf("fit picture: %w: %v are taken, and only %s and %s can be made", ErrType, limits.Types, JPEG, PNG)
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

// isDrawing reports whether a picture is of a kind that JPEG spoils: one on nothing, which
// may be white, or one of few colours.
func isDrawing(m image.Image) bool {
	if _, ok := m.(*image.Paletted); ok {
		return true
	}
	o, ok := m.(interface{ Opaque() bool })
	return ok && !o.Opaque()
}
