package sandbox

import (
	"fmt"
	"io"

	"assetferry/internal/sandbox/rendition"
)

// A picture is what is known of an asset as an image.
type picture struct {
	state         string // "no", "readable", "broken"
	width, height int
}

// renditionFormat is the format of the full-size rendition of an extension.
// Formats that the sandbox cannot decode (SVG, HEIC, AVIF, ICO) are no images
// to it; what the service does with them is not known.
func renditionFormat(folded string) (format rendition.Format, isImage bool) {
	format, isImage = map[string]rendition.Format{
		"jpg": rendition.JPEG, "jpeg": rendition.JPEG, "png": rendition.PNG, "gif": rendition.GIF, "webp": rendition.WebP,
		"tif": rendition.TIFF, "tiff": rendition.TIFF, "bmp": rendition.PNG, // the service has no format bmp; a guess
	}[folded]
	return format, isImage
}

// measure looks at the head of an image. What comes after it is looked at in the
// background.
func measure(r io.ReaderAt, size int64, folded string) picture {
	if _, isImage := renditionFormat(folded); !isImage {
		return picture{state: "no"}
	}
	at, err := rendition.Measure(r, size)
	if err != nil {
		return picture{state: "broken"}
	}
	return picture{state: "readable", width: at.X, height: at.Y}
}

// widths are those of an image's renditions, ascending, as seen in what the
// service has published: at most ten, the image's own width last.
func widths(width int) []int {
	var ws []int
	step := max(80, (width+9)/10)
	for w := step; w < width; w += step {
		ws = append(ws, w)
	}
	return append(ws, width)
}

// imageURLs are the addresses of an image's renditions.
func imageURLs(base string, width int, folded string) map[string]string {
	urls := make(map[string]string)
	for _, w := range widths(width) {
		urls[fmt.Sprint(w)] = fmt.Sprintf("%s/images/%d.webp", base, w)
	}
	format, _ := renditionFormat(folded)
	urls["default"] = fmt.Sprintf("%s/images/%d.%s", base, width, format)
	return urls
}
