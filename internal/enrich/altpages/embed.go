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

// An Embedded picture is sent within a page, made small.
type Embedded struct {
	File  string // below the folder of the page
	Bytes int    // that are sent
}

// Limits of what is embedded: many fit into a document, and show enough.
const (
	embeddedSide  = 512 // pixels
	embeddedBytes = 48_000
	mostPicture   = 64 << 20 // bytes of a file that is read
)

// embed makes the pictures small that lack an alternative text and are files below the
// folder of the page, as many as there is room for in a document. Others stay addresses.
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
		if err != nil { // it is not there, or no picture; the page is sent with its address
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

// below gives the name of the file that a relative address leads to, if it is not above the
// folder of the page.
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
		return picture.Picture{}, fmt.Errorf("%s is no file, or too large", name)
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
