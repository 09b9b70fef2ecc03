package altpages

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"assetferry/internal/picture"
)

// An Embedded image is sent within a page, scaled down.
type Embedded struct {
	File  string // below the folder of the page
	Bytes int    // as sent
}

// Limits for embedded images.
const (
	embeddedSide  = 512 // pixels
	embeddedBytes = 48_000
	mostPicture   = 64 << 20 // bytes of an image file
)

// embed returns the images without alternative text that are files below the folder of the
// page, scaled down, as many as fit into the document. Other images keep their URLs.
func embed(ctx context.Context, folder string, d document, room int64) (sources map[int]string, all []Embedded, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	sources = map[int]string{}
	for n, img := range d.images {
		source, _ := attribute(img.tag, "src")
		name, ok := below(source)
		if !ok || !img.lacksAlt {
			continue
		}
		p, err := small(ctx, root, name)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err != nil { // missing or no image: the page is sent with its URL
			continue
		}
		data := "data:" + p.Type + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
		if room -= int64(len(data)); room < 0 {
			break
		}
		sources[n] = data
		if e := (Embedded{filepath.ToSlash(name), len(p.Data)}); !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return sources, all, nil
}

// below returns the file name of a relative URL, if it is below the folder of the page.
func below(source string) (name string, ok bool) {
	u, err := url.Parse(source)
	if err != nil || u.IsAbs() || u.Host != "" || u.Path == "" {
		return "", false
	}
	name = filepath.Clean(filepath.FromSlash(u.Path))
	return name, filepath.IsLocal(name)
}

func small(ctx context.Context, root *os.Root, name string) (picture.Picture, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return picture.Picture{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostPicture {
		return picture.Picture{}, fmt.Errorf("%s is not a file or too large", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return picture.Picture{}, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, mostPicture))
	if err != nil {
		return picture.Picture{}, err
	}
	return picture.Fit(ctx, content, picture.Limits{Side: embeddedSide, Bytes: embeddedBytes})
}
