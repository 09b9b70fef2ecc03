package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"assetferry/sources"
)

// Recognise returns a source with the categories of an export if it has a manifest at the top. The
// manifest, earlier revisions and drafts are not objects then. It returns other sources unchanged, and
// refuses an export that was interrupted: a migration would lack assets, and not know it.
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
	if m.isInterrupted() {
		return nil, &sources.Error{Op: "read", Source: "an export", Key: ManifestName, Err: ErrInterrupted, Hint: "run assetferry export again until it ends; if it cannot end, see assetferry help ckbox"}
	}
	e := exported{s, m}
	if f, ok := s.(finder); ok && m.Versions > 1 {
		return revisionFiles{e, f}, nil
	}
	if c, ok := s.(sources.Catalog); ok {
		return struct {
			exported
			sources.Catalog
		}{e, c}, nil
	}
	return e, nil
}

// ErrInterrupted means that an export has not come to its end.
var ErrInterrupted = errors.New("the export was interrupted, or is still running")

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

// Failed returns the number of assets that are not in the export, or not completely.
func (e exported) Failed() int64 { return e.manifest.Failed }

// Objects implements sources.Source. It does not list the earlier revisions, so that a source with
// folders need not read them.
func (e exported) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		if after < revisionsFolder+"/" && !e.list(ctx, after, yield) {
			return
		}
		e.list(ctx, max(after, lastRevision), yield)
	}
}

// lastRevision is a key after those of all earlier revisions.
const lastRevision = revisionsFolder + "/\U0010FFFF"

// list lists objects after a key, up to the earlier revisions. It reports whether there may be more.
func (e exported) list(ctx context.Context, after sources.Key, yield func(sources.Object, error) bool) bool {
	for o, err := range e.Source.Objects(ctx, after) {
		if err == nil && isRevision(o.Key) {
			return true
		}
		if _, name := o.Key.Split(); err == nil && (o.Key == ManifestName || isDraft(name)) {
			continue
		}
		if !yield(o, err) || err != nil {
			return false
		}
	}
	return false
}

// isRevision reports whether a key is that of an earlier revision.
func isRevision(key sources.Key) bool { return strings.HasPrefix(string(key), revisionsFolder+"/") }

// Structure implements sources.Structured.
func (e exported) Structure(context.Context) ([]sources.Category, error) {
	all := make([]sources.Category, 0, len(e.manifest.Categories))
	for _, c := range e.manifest.Categories {
		all = append(all, sources.Category{Segment: c.Folder, Name: c.Name, Private: c.Private, Extensions: c.Extensions})
	}
	return all, nil
}
