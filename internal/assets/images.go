package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"assetferry/internal/outbound"
)

// An ImageFormat is a format in which the service delivers images.
type ImageFormat string

// The formats of images.
const (
	WebP ImageFormat = "webp"
	JPEG ImageFormat = "jpeg"
	PNG  ImageFormat = "png"
	GIF  ImageFormat = "gif"
	TIFF ImageFormat = "tiff"
)

// ImageFormats returns all formats.
func ImageFormats() []ImageFormat { return []ImageFormat{WebP, JPEG, PNG, GIF, TIFF} }

// A Rendition is an image in another size or format. The service does not enlarge images.
type Rendition struct {
	Width  int         // pixels; the service uses the nearest available width
	Height int         // 0: proportional to the width; otherwise the image fits into both
	Format ImageFormat // WebP if empty
}

// name returns the last part of the URL.
func (r Rendition) name() (string, error) {
	if r.Format == "" {
		r.Format = WebP
	}
	if r.Width < 1 || r.Height < 0 || !slices.Contains(ImageFormats(), r.Format) {
		return "", fmt.Errorf("unsupported rendition: %d × %d as %q (formats: %v)", r.Width, r.Height, r.Format, ImageFormats())
	}
	if r.Height == 0 {
		return fmt.Sprintf("%d.%s", r.Width, r.Format), nil
	}
	return fmt.Sprintf("%dx%d.%s", r.Width, r.Height, r.Format), nil
}

// ImageURL returns the URL of a rendition. It only replaces the last part of the asset's URL,
// because the service chooses the rest.
func (a Asset) ImageURL(r Rendition) (string, error) {
	name, err := r.name()
	if err != nil {
		return "", err
	}
	base, isFile := strings.CutSuffix(a.URL, "/file")
	if !isFile {
		return "", fmt.Errorf("asset %s: the rendition URL is unknown, because the asset URL does not end in /file", a.ID)
	}
	return base + "/images/" + name, nil
}

// Image downloads a rendition of an image like [Client.Download]. The size is -1 if unknown.
func (c *Client) Image(ctx context.Context, a Asset, r Rendition) (io.ReadCloser, int64, error) {
	imageURL, err := a.ImageURL(r)
	if err != nil {
		return nil, 0, err
	}
	return c.Download(ctx, imageURL, 0)
}

// Thumb downloads a small rendition from the service itself, which needs no cookie for private
// categories.
func (c *Client) Thumb(ctx context.Context, id string, r Rendition) (io.ReadCloser, int64, error) {
	name, err := r.name()
	if err != nil {
		return nil, 0, err
	}
	return c.Download(ctx, c.base.String()+"/assets/"+url.PathEscape(id)+"/thumbs/"+name, 0)
}

// ErrQueued reports an image that the service has not processed yet.
var ErrQueued = errors.New("the service has not processed the image yet")

// Processed waits until the service has processed an image, and returns the image. It requests the
// image a few times with growing pauses, like the vendor's clients. Other files are returned at
// once, and so are images that the service could not read, with the status [Failed].
func (c *Client) Processed(ctx context.Context, id string) (Asset, error) {
	return c.await(ctx, id, func(m Metadata) ProcessingStatus { return m.Status })
}

// Analysed is Processed for analysis.
func (c *Client) Analysed(ctx context.Context, id string) (Asset, error) {
	return c.await(ctx, id, func(m Metadata) ProcessingStatus { return m.AnalysisStatus })
}

func (c *Client) await(ctx context.Context, id string, status func(Metadata) ProcessingStatus) (Asset, error) {
	const looks, growth = 5, 3
	pause := 100 * time.Millisecond
	for look := 1; ; look++ {
		a, err := c.Asset(ctx, id)
		if err != nil || status(a.Metadata) != Queued {
			return a, err
		}
		if look == looks {
			return a, fmt.Errorf("asset %s: %w; try again later", id, ErrQueued)
		}
		select {
		case <-time.After(pause):
			pause *= growth
		case <-ctx.Done():
			return a, outbound.ContextError(ctx)
		}
	}
}

// An ImageQuality is the quality of renditions in a format, from 1 to 100. The form of these
// requests and answers is not documented.
type ImageQuality struct {
	Format  ImageFormat `json:"format"`
	Quality int         `json:"quality"`
}

func (q *ImageQuality) check() error {
	if q.Format == "" || q.Quality < 1 || q.Quality > 100 {
		return errors.New("no image quality")
	}
	return nil
}

// ImageQualities returns the qualities of all formats in the workspace. It requires an admin.
func (c *Client) ImageQualities(ctx context.Context) ([]ImageQuality, error) {
	return whole(ctx, c, request{op: "read image qualities", route: "/admin/images", query: c.inWorkspace()},
		func(q ImageQuality) string { return string(q.Format) })
}

// SetImageQuality sets the quality of a format in the workspace. It requires an admin. Only the
// route is known; the body is a guess, so callers must read the quality again to verify it.
func (c *Client) SetImageQuality(ctx context.Context, f ImageFormat, quality int) error {
	return c.do(ctx, &request{
		op: "set image quality", subject: string(f),
		method: http.MethodPut, route: "/admin/images/{format}", path: "/admin/images/" + url.PathEscape(string(f)),
		query: c.inWorkspace(),
		body:  jsonPayload(map[string]int{"quality": quality}),
		into:  nothing{},
	})
}
