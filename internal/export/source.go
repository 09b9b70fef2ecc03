package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"assetferry/sources"
)

// Recognise returns a source with the categories of an export if it has a manifest at the top. The
// manifest and drafts are not objects then. It returns other sources unchanged.
func Recognise(ctx context.Context, s sources.Source) (sources.Source, error) {
	o, err := findManifest(ctx, s)
	if err != nil || o.Key == "" {
		return s, err
	}
	m, err := openManifest(ctx, s, o)
	if errors.Is(err, errNoManifest) {
		return s, nil
	}
	if err != nil {
		return nil, &sources.Error{Op: "read", Source: "the manifest of an export", Key: ManifestName, Err: err}
	}
	e := exported{s, m}
	if c, ok := s.(sources.Catalog); ok {
		return struct {
			exported
			sources.Catalog
		}{e, c}, nil
	}
	return e, nil
}

// A finder is a source that finds an object without a listing.
type finder interface {
	// Find returns an object, or fs.ErrNotExist.
	Find(ctx context.Context, key sources.Key) (sources.Object, error)
}

// findManifest finds the manifest, with a listing that begins right before it if there is no other
// way: a policy may allow only one of these requests.
func findManifest(ctx context.Context, s sources.Source) (sources.Object, error) {
	if f, ok := s.(finder); ok {
		o, err := f.Find(ctx, ManifestName)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && o.Obstacle != "":
			return sources.Object{}, nil
		case err == nil:
			return o, nil
		}
	}
	before := sources.Key(ManifestName[:len(ManifestName)-1])
	for o, err := range s.Objects(ctx, before) {
		if err != nil || o.Key == ManifestName && o.Obstacle == "" {
			return o, err
		}
		if o.Key >= ManifestName {
			break
		}
	}
	return sources.Object{}, nil
}

func openManifest(ctx context.Context, s sources.Source, o sources.Object) (m Manifest, err error) {
	r, err := s.Open(ctx, o, 0)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if o.Size > maxManifest {
		return m, fmt.Errorf("it has %d bytes, more than any manifest", o.Size)
	}
	return readManifest(r)
}

// An exported is a source that is an export.
type exported struct {
	sources.Source
	manifest Manifest
}

func (e exported) Traits() sources.Traits {
	t := e.Source.Traits()
	t.Categories, t.Complete = true, true
	return t
}

func (e exported) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for o, err := range e.Source.Objects(ctx, after) {
			if _, name := o.Key.Split(); err == nil && (o.Key == ManifestName || isDraft(name)) {
				continue
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// Structure implements sources.Structured.
func (e exported) Structure(context.Context) ([]sources.Category, error) {
	all := make([]sources.Category, 0, len(e.manifest.Categories))
	for _, c := range e.manifest.Categories {
		all = append(all, sources.Category{Segment: c.Folder, Name: c.Name, Private: c.Private, Extensions: c.Extensions})
	}
	return all, nil
}
