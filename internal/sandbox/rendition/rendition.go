// Package rendition decodes uploaded images, scales them, and encodes them in the formats of
// the service.
//
// Files may be hostile. No decoder is started before the header has given the number of pixels,
// and a panic of a decoder is an error.
package rendition

import (
	"errors"
	"fmt"
)

// ErrTooLarge reports an image with too many pixels.
var ErrTooLarge = errors.New("the image has too many pixels")

// A Format is an output format.
type Format string

// The formats of the service.
const (
	WebP Format = "webp"
	JPEG Format = "jpeg"
	PNG  Format = "png"
	GIF  Format = "gif"
	TIFF Format = "tiff"
)

// Formats returns all formats in the order of lists.
func Formats() []Format { return []Format{WebP, JPEG, PNG, GIF, TIFF} }

// ParseFormat parses the name of a format. "jpg" and "tif" are not valid: URLs of the service
// use the long names.
func ParseFormat(name string) (Format, error) {
	for _, f := range Formats() {
		if name == string(f) {
			return f, nil
		}
	}
	return "", fmt.Errorf("%q is not one of the formats %v", name, Formats())
}

// MIMEType returns the content type of a format.
func (f Format) MIMEType() string { return "image/" + string(f) }

// MaxSide returns the longest side in a format.
func (f Format) MaxSide() int {
	if f == WebP {
		return 16383
	}
	return 65535 // the limit of JPEG and GIF; others allow more
}
