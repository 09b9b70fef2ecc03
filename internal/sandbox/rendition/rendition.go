// Package rendition makes pictures of pictures: it decodes what users uploaded,
// shrinks it, and encodes it in the formats that the service delivers.
//
// What it decodes may be hostile. No decoder is started before the head of a file
// has said how many pixels there are, and one that panics has found an error.
package rendition

import (
	"errors"
	"fmt"
)

// ErrTooLarge is the error of a picture with more pixels than are allowed.
var ErrTooLarge = errors.New("the picture has too many pixels")

// A Format is one in which pictures are delivered.
type Format string

// The formats that the service knows.
const (
	WebP Format = "webp"
	JPEG Format = "jpeg"
	PNG  Format = "png"
	GIF  Format = "gif"
	TIFF Format = "tiff"
)

// Formats are all of them, in the order in which they are listed.
func Formats() []Format { return []Format{WebP, JPEG, PNG, GIF, TIFF} }

// ParseFormat reads the name of a format. "jpg" and "tif" are none: addresses of
// the service have the long names.
func ParseFormat(name string) (Format, error) {
	for _, f := range Formats() {
		if name == string(f) {
			return f, nil
		}
	}
	return "", fmt.Errorf("%q is not one of the formats %v", name, Formats())
}

// MIMEType is the content type of a format.
func (f Format) MIMEType() string { return "image/" + string(f) }

// MaxSide is the longest side that a format can hold.
func (f Format) MaxSide() int {
	if f == WebP {
		return 16383
	}
	return 65535 // of JPEG and GIF; the others could do more
}
