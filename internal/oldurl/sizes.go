package oldurl

import (
	"context"
	"errors"
	"path"
	"strconv"
	"strings"

	"assetferry/internal/pattern"
)

// sizeEnding matches the ending that WordPress adds to the name of a file in another size.
var sizeEnding = pattern.Lazy(`-(?:(\d{1,5})x\d{1,5}|scaled)$`)

// scaledWidth is the maximum width and height of the file that WordPress makes of a large upload.
const scaledWidth = 2560

// CanResize reports whether the images of an asset can replace the sizes of its file. An image of an
// animation may show only its beginning.
func CanResize(key string) bool {
	ext := strings.ToLower(path.Ext(key))
	return ext != ".gif" && ext != ".svg"
}

// ofGiven returns the new URL for a given URL of an object, and its width. The URL of a size leads to
// an image of the asset in that width; other URLs have no width.
func (f *Finder) ofGiven(ctx context.Context, s spelled, o Object) (url string, width int, err error) {
	if width, err = f.givenWidth(ctx, s, o); width == 0 || err != nil {
		return o.URL, 0, err
	}
	images, err := o.Images()
	if err != nil || len(images) == 0 {
		return o.URL, 0, err
	}
	return imageOf(o.URL, images, width), width, nil
}

// givenWidth returns the width in a given URL, or 0 for the whole file. The name of a whole file may
// end like that of a size, so the object must also have the URL without the ending. The sizes may be
// files of another type.
func (f *Finder) givenWidth(ctx context.Context, s spelled, o Object) (int, error) {
	ext := path.Ext(s.path)
	stem := strings.TrimSuffix(s.path, ext)
	ending := sizeEnding().FindStringSubmatch(stem)
	if ending == nil || s.hasQuery || !CanResize(o.Key) {
		return 0, nil
	}
	for _, ext := range [...]string{ext, path.Ext(o.Key)} {
		s.path = strings.TrimSuffix(stem, ending[0]) + ext
		whole, err := f.lookup.ByURL(ctx, s.comparable())
		switch {
		case err != nil && !errors.Is(err, ErrUnknown):
			return 0, err
		case err != nil || whole.Key != o.Key:
			continue
		case ending[1] == "":
			return scaledWidth, nil
		}
		return strconv.Atoi(ending[1])
	}
	return 0, nil
}
