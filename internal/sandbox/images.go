package sandbox

import (
	"fmt"
	"image"
	"io"

	// Decoders for image.DecodeConfig.
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"

	_ "golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
)

// A picture is what is known of an asset as an image.
type picture struct {
	state         string // "no", "readable", "broken"
	width, height int
}

// renditionFormat is the format of the full-size rendition of an extension.
// Formats that the sandbox cannot decode (SVG, HEIC, AVIF, ICO) are no images
// to it; what the service does with them is not known.
func renditionFormat(folded string) (format string, isImage bool) {
	format, isImage = map[string]string{
		"jpg": "jpeg", "jpeg": "jpeg", "png": "png", "gif": "gif", "webp": "webp",
		"tif": "tiff", "tiff": "tiff", "bmp": "png", // the service has no format bmp; a guess
	}[folded]
	return format, isImage
}

// measure looks at the head of an image. What comes after it is not looked at,
// so damage there goes unnoticed.
func measure(r io.ReaderAt, size int64, folded string) picture {
	if _, isImage := renditionFormat(folded); !isImage {
		return picture{state: "no"}
	}
	c, err := decodeHead(io.NewSectionReader(r, 0, size))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return picture{state: "broken"}
	}
	return picture{state: "readable", width: c.Width, height: c.Height}
}

func decodeHead(r *io.SectionReader) (c image.Config, err error) {
	defer func() { // a decoder that trips over strange bytes has not decoded them
		if v := recover(); v != nil {
			c, err = image.Config{}, fmt.Errorf("decode image: %v", v)
		}
	}()
	var magic [4]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil {
		return c, err
	}
	// TIFF may have its directory at the end. image.DecodeConfig would read all
	// of a file to get there.
	if string(magic[:]) == "II*\x00" || string(magic[:]) == "MM\x00*" {
		return tiff.DecodeConfig(r)
	}
	c, _, err = image.DecodeConfig(r)
	return c, err
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
