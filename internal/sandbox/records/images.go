package records

import (
	"fmt"
	"io"

	"assetferry/internal/sandbox/rendition"
)

// A Picture contains the image properties of an asset.
type Picture struct {
	State         string // "no", "readable", "broken"
	Width, Height int
}

// RenditionFormat returns the format of the full-size rendition for an extension. Formats that
// the sandbox cannot decode (SVG, HEIC, AVIF, ICO) are not treated as images; the behaviour of
// the service is unknown.
func RenditionFormat(folded string) (format rendition.Format, isImage bool) {
	format, isImage = map[string]rendition.Format{
		"jpg": rendition.JPEG, "jpeg": rendition.JPEG, "png": rendition.PNG, "gif": rendition.GIF, "webp": rendition.WebP,
		"tif": rendition.TIFF, "tiff": rendition.TIFF, "bmp": rendition.PNG, // the service has no format bmp; a guess
	}[folded]
	return format, isImage
}

// Measure reads the header of an image. The rest is checked in the background.
func Measure(r io.ReaderAt, size int64, folded string) Picture {
	if _, isImage := RenditionFormat(folded); !isImage {
		return Picture{State: "no"}
	}
	at, err := rendition.Measure(r, size)
	if err != nil {
		return Picture{State: "broken"}
	}
	return Picture{State: "readable", Width: at.X, Height: at.Y}
}

// Widths returns the widths of renditions, ascending, as in published responses of the service:
// at most ten, the original width last.
func Widths(width int) []int {
	var ws []int
	step := max(80, (width+9)/10)
	for w := step; w < width; w += step {
		ws = append(ws, w)
	}
	return append(ws, width)
}

// ImageURLs returns the URLs of renditions.
func ImageURLs(base string, width int, folded string) map[string]string {
	urls := make(map[string]string)
	for _, w := range Widths(width) {
		urls[fmt.Sprint(w)] = fmt.Sprintf("%s/images/%d.webp", base, w)
	}
	format, _ := RenditionFormat(folded)
	urls["default"] = fmt.Sprintf("%s/images/%d.%s", base, width, format)
	return urls
}
