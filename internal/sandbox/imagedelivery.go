package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/pixels"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/rendition"
)

// A box is the size and format in the URL of an image.
type box struct {
	width, height int // height 0: by aspect ratio
	format        rendition.Format
}

// parseBox parses the last part of a URL: 400.webp, 400x300.webp, and the same without a
// format, which means WebP.
func parseBox(name string) (box, error) {
	b := box{format: rendition.WebP}
	size, format, named := strings.Cut(name, ".")
	if named {
		f, err := rendition.ParseFormat(format)
		if err != nil {
			return box{}, err
		}
		b.format = f
	}
	width, height, both := strings.Cut(size, "x")
	var err error
	if b.width, err = parseSide(width); err == nil && both {
		b.height, err = parseSide(height)
	}
	return b, err
}

func parseSide(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a number of pixels from 1 to 65535", text)
	}
	return int(n), nil
}

// deliverImage sends a rendition of an image. As documented, other widths than those of the
// image return the nearest one, and images are never enlarged.
func (s *Server) deliverImage(c *call) error {
	a, private, err := s.admitDelivery(c)
	if err != nil {
		return err
	}
	b, err := c.box(c.args[2])
	if err != nil {
		return err
	}
	if b.height == 0 {
		b.width = nearest(records.Widths(a.Picture.Width), b.width)
	}
	return s.sendImage(c, a, b, private)
}

// deliverThumb sends a rendition of exactly the requested size, but never enlarged, if the
// token is valid.
func (s *Server) deliverThumb(c *call) error {
	a, err := s.asset(c, c.args[0])
	if err != nil {
		return err
	}
	b, err := c.box(c.args[1])
	if err != nil {
		return err
	}
	return s.sendImage(c, a, b, true)
}

// box parses the size in a URL. 404 for invalid URLs is a guess; 400 would also be possible.
func (c *call) box(name string) (box, error) {
	b, err := parseBox(name)
	if err != nil {
		return b, problem.Refuse(http.StatusNotFound, "There is no image %q: %v.", name, err)
	}
	return b, nil
}

// nearest returns the closest width, and the larger of two.
func nearest(all []int, wanted int) int {
	best := all[0]
	for _, w := range all {
		if distance(w, wanted) <= distance(best, wanted) {
			best = w
		}
	}
	return best
}

func distance(a, b int) int { return max(a-b, b-a) }

func (s *Server) sendImage(c *call, a records.Asset, b box, private bool) error {
	out, err := s.image(a, b)
	if err != nil {
		return err
	}
	out.private = private
	return c.hand(out)
}

// image generates a rendition, also while the image is queued.
func (s *Server) image(a records.Asset, b box) (handout, error) {
	if a.Picture.State != "readable" || a.Processing == "error" {
		return handout{}, noRendition(a)
	}
	quality, changed, err := s.quality(a.Workspace, b.format)
	if err != nil {
		return handout{}, err
	}
	made, err := s.renditions.Get(rendition.Key{Content: a.Content, Width: b.width, Height: b.height, Format: b.format, Quality: quality})
	switch {
	case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		return handout{}, noAsset(a.ID)
	case errors.Is(err, pixels.ErrTooLarge):
		return handout{}, tooLargeToShow(a)
	case err != nil:
		return handout{}, noRendition(a)
	}
	sum := sha256.Sum256(made)
	return handout{
		name: a.Name + "." + string(b.format), mime: b.format.MIMEType(), tag: hex.EncodeToString(sum[:]),
		modified: latest(a.Modified, changed), content: bytes.NewReader(made),
	}, nil
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// tooLargeToShow returns the error for a valid image that needs more memory than the sandbox
// uses for images.
func tooLargeToShow(a records.Asset) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "Decoding the image %q needs more than the %d MB that the sandbox uses for images.", a.ID, int64(pixels.MemoryLimit)>>20)
}

// noRendition returns the error for an asset without an image. The status is a guess.
func noRendition(a records.Asset) *problem.Problem {
	if a.Picture.State == "no" {
		return problem.Refuse(http.StatusNotFound, "Asset %q is not an image.", a.ID)
	}
	return problem.Refuse(http.StatusNotFound, "The image %q is damaged.", a.ID)
}
