package rewrite

import (
	"cmp"
	"context"
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
)

// Sizes are redirects from the URLs of WordPress, which makes several files of an image. The old URL
// of such a file leads to the image of the asset in that width, and not to the original.
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

// find adds the images of the asset, and chooses one if the old URL is that of a size.
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
	if err != nil || !isResized(found.Key) {
		return sized{verdict: v}, err
	}
	r := sized{v, imagesOf(images)}
	if width := widthIn(url, found.Key); width > 0 && len(r.images) > 0 && found.Kind != oldurl.Variant {
		n := slices.IndexFunc(r.images, func(i Image) bool { return i.Width >= width })
		if n < 0 {
			n = len(r.images) - 1
		}
		r.verdict = Verdict{Kind: Replaced, New: r.images[n].URL}
	}
	return r, nil
}

// isResized reports whether the images of an asset can replace the sizes of a file. An image of an
// animation may show only its beginning.
func isResized(key string) bool {
	ext := strings.ToLower(path.Ext(key))
	return ext != ".gif" && ext != ".svg"
}

// imagesOf returns images by ascending width.
func imagesOf(images map[string]string) (all []Image) {
	for name, url := range images {
		if width, err := strconv.Atoi(name); err == nil { // the default image has no width in its name
			all = append(all, Image{width, url})
		}
	}
	slices.SortFunc(all, func(a, b Image) int { return cmp.Compare(a.Width, b.Width) })
	return all
}

// sizeEnding matches the ending that WordPress adds to the name of a file in another size.
var sizeEnding = regexp.MustCompile(`-(?:(\d{1,5})x\d{1,5}|scaled)$`)

// scaledWidth is the maximum width and height of the file that WordPress makes of a large upload.
const scaledWidth = 2560

// widthIn returns the width in the old URL of an image, or 0 if the URL is that of the original. The
// name of an original may end like that of a size.
func widthIn(url, key string) int {
	url, _, _ = strings.Cut(url, "?")
	ending := sizeEnding.FindStringSubmatch(strings.TrimSuffix(url, path.Ext(url)))
	if ending == nil || strings.HasSuffix(strings.TrimSuffix(key, path.Ext(key)), ending[0]) {
		return 0
	}
	if width, err := strconv.Atoi(ending[1]); err == nil {
		return width
	}
	return scaledWidth
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
