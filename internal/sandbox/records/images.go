package records

import (
	"fmt"
	"io"

	"assetferry/internal/sandbox/rendition"
)

// A Picture is what is known of an asset as an image.
type Picture struct {
	State         string // "no", "readable", "broken"
	Width, Height int
}

// RenditionFormat is the format of the full-size rendition of an extension.
// Formats that the sandbox cannot decode (SVG, HEIC, AVIF, ICO) are no images
// to it; what the service does with them is not known.
func RenditionFormat(folded string) (format rendition.Format, isImage bool) {
	format, isImage = map[string]rendition.Format{
		"jpg": rendition.JPEG, "jpeg": rendition.JPEG, "png": rendition.PNG, "gif": rendition.GIF, "webp": rendition.WebP,
		"tif": rendition.TIFF, "tiff": rendition.TIFF, "bmp": rendition.PNG, // the service has no format bmp; a guess
	}[folded]
	return format, isImage
}

// Measure looks at the head of an image. What comes after it is looked at in the
// background.
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

// Widths are those of an image's renditions, ascending, as seen in what the
// service has published: at most ten, the image's own width last.
func Widths(width int) []int {
	var ws []int
	step := max(80, (width+9)/10)
	for w := step; w < width; w += step {
		ws = append(ws, w)
	}
	return append(ws, width)
}

// ImageURLs are the addresses of an image's renditions.
func ImageURLs(base string, width int, folded string) map[string]string {
	urls := make(map[string]string)
	for _, w := range Widths(width) {
		urls[fmt.Sprint(w)] = fmt.Sprintf("%s/images/%d.webp", base, w)
	}
	format, _ := RenditionFormat(folded)
	urls["default"] = fmt.Sprintf("%s/images/%d.%s", base, width, format)
	return urls
}
