package rewrite

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
	"assetferry/internal/sorting"
)

// Sizes are redirects that also return the images of assets in all widths.
type Sizes struct {
	Redirects
	ctx    context.Context
	m      *redirect.Map // nil if the redirects come from a file, which has no widths
	recent map[string]sized
	images map[string][]Image // of the assets of the text, by the beginning of their URLs
}

// An Image is an image of an asset in one width.
type Image struct {
	Width int
	URL   string
}

// A sized is the verdict for an old URL, with the images of its asset.
type sized struct {
	verdict Verdict
	images  []Image
}

// WithSizes returns redirects with the images of assets. The map is nil for redirects from a file.
func WithSizes(ctx context.Context, r Redirects, m *redirect.Map) *Sizes {
	return &Sizes{Redirects: r, ctx: ctx, m: m, recent: map[string]sized{}, images: map[string][]Image{}}
}

// Begin begins a new text.
func (s *Sizes) Begin() { clear(s.images) }

// Find implements Lookup.
func (s *Sizes) Find(url string) (Verdict, error) {
	v, err := s.Redirects.Find(url)
	if err != nil || v.Kind != Replaced || s.m == nil {
		return v, err
	}
	found, known := s.recent[url]
	if !known {
		if found, err = s.find(url, v); err != nil {
			return v, err
		}
		if len(s.recent) == recentURLs {
			clear(s.recent)
		}
		s.recent[url] = found
	}
	if len(found.images) > 0 {
		s.images[assetOf(Canonical(found.verdict.New))] = found.images
	}
	return found.verdict, nil
}

// find adds the images of the asset.
func (s *Sizes) find(url string, v Verdict) (sized, error) {
	found, err := s.m.Finder().Find(s.ctx, url)
	if errors.Is(err, oldurl.ErrUnknown) {
		return sized{verdict: v}, nil
	}
	if err != nil {
		return sized{}, err
	}
	o, err := s.m.ByKey(s.ctx, found.Key)
	if errors.Is(err, oldurl.ErrUnknown) {
		return sized{verdict: v}, nil
	}
	if err != nil {
		return sized{}, err
	}
	images, err := o.Images()
	if err != nil || !oldurl.CanResize(found.Key) {
		return sized{verdict: v}, err
	}
	return sized{v, imagesOf(images)}, nil
}

// imagesOf returns images by ascending width.
func imagesOf(images map[string]string) (all []Image) {
	for name, url := range images {
		if width, err := strconv.Atoi(name); err == nil { // the default image has no width in its name
			all = append(all, Image{width, url})
		}
	}
	sorting.By(all, func(a, b Image) int { return cmp.Compare(a.Width, b.Width) })
	return all
}

// Asset reports whether a URL is that of an asset, and returns the images of the asset if an old URL
// of it was found in the same text.
func (s *Sizes) Asset(url string) (images []Image, ok bool) {
	c := Canonical(url)
	if c == "" || !s.Assets().holds(c) {
		return nil, false
	}
	return s.images[assetOf(c)], true
}
