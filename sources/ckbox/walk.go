package ckbox

import (
	"context"
	"iter"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/sorting"
	"assetferry/sources"
)

// listPage is the number of assets per request: the largest one of public clients.
const listPage = 500

// Objects implements sources.Source. It keeps only the direct children of the parent containers of
// the current object in memory.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return s.list(ctx, after, func(sources.Key) {})
}

// Contents is Objects, but calls entered for each category and folder before its objects, with the
// prefix of the keys in it.
func (s *Source) Contents(ctx context.Context, entered func(prefix sources.Key)) iter.Seq2[sources.Object, error] {
	return s.list(ctx, "", entered)
}

func (s *Source) list(ctx context.Context, after sources.Key, entered func(sources.Key)) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		w := walk{Source: s, ctx: ctx, after: string(after), yield: yield, entered: entered, kinds: []string{""}, number: map[string]uint16{"": 0}}
		return w.all()
	}, func(err error) error { return s.fail(ctx, "list", "", err) })
}

// A walk is one listing.
type walk struct {
	*Source
	ctx     context.Context
	after   string
	yield   func(sources.Object) error
	entered func(sources.Key)
	top     map[string][]entry // the top-level folders of each category
	kinds   []string           // content types by the number in entries; 0 is unknown
	number  map[string]uint16
}

// A container has assets and folders: a category or a folder.
type container struct {
	category, folder string // IDs; folder is "" for a category
	prefix           string // of the keys in it
}

// what returns the name of a container for errors.
func (c container) what() string { return strings.TrimSuffix(c.prefix, "/") }

func (w *walk) all() error {
	found, err := w.categories(w.ctx)
	if err != nil {
		return err
	}
	if err := w.topFolders(); err != nil {
		return err
	}
	for _, e := range found {
		if err := w.enter(container{category: e.ID(), prefix: e.Name() + "/"}); err != nil {
			return err
		}
	}
	return nil
}

// topFolders reads the top-level folders of all categories with one request.
func (w *walk) topFolders() error {
	all, err := w.service.Folders(w.ctx)
	if err != nil {
		return err
	}
	w.top = map[string][]entry{}
	for _, f := range all {
		w.top[f.CategoryID] = append(w.top[f.CategoryID], w.folder(f, ""))
	}
	return nil
}

func (w *walk) folder(f assets.Folder, parent string) entry {
	w.places.addFolder(f, parent)
	e := newEntry(f.Name, f.ID)
	e.since = nanoseconds(f.CreatedAt)
	return e
}

// inKeyOrder sorts containers like the keys in them: by name with a slash.
func inKeyOrder(containers []entry) []entry {
	sorting.By(containers, func(a, b entry) int { return strings.Compare(a.Name()+"/", b.Name()+"/") })
	return containers
}

// enter lists a container and everything below it, unless all of it was already listed.
func (w *walk) enter(c container) error {
	if c.prefix < w.after && !strings.HasPrefix(w.after, c.prefix) {
		return nil
	}
	w.entered(sources.Key(c.prefix))
	folders, err := w.folders(c)
	if err != nil {
		return err
	}
	found, err := w.assets(c)
	if err != nil {
		return err
	}
	for _, f := range inKeyOrder(distinct(folders, suffixedFolder)) {
		for len(found) > 0 && found[0].Name() < f.Name()+"/" {
			if err := w.emit(c, found[0]); err != nil {
				return err
			}
			found = found[1:]
		}
		if err := w.enter(container{c.category, f.ID(), c.prefix + f.Name() + "/"}); err != nil {
			return err
		}
	}
	for _, e := range found {
		if err := w.emit(c, e); err != nil {
			return err
		}
	}
	return nil
}

// folders returns the folders directly in a container.
func (w *walk) folders(c container) ([]entry, error) {
	if c.folder == "" {
		return w.top[c.category], nil
	}
	f, err := w.service.Folder(w.ctx, c.folder, 1)
	if err != nil {
		return nil, moved(c.what(), err)
	}
	found := make([]entry, 0, len(f.Folders))
	for _, child := range f.Folders {
		found = append(found, w.folder(child, c.folder))
	}
	return found, nil
}

// assets returns the assets directly in a container, in the order of their keys. They are requested
// in an order in which new assets do not shift the pages.
func (w *walk) assets(c container) ([]entry, error) {
	o := assets.ListOptions{CategoryID: c.category, SortBy: assets.ByUploadedAt, Order: assets.Ascending, PageSize: listPage, Overlap: true}
	if c.folder != "" {
		o.CategoryID, o.FolderID = "", c.folder
	}
	var found []entry
	for a, err := range w.service.List(w.ctx, o) {
		if err != nil {
			return nil, moved(c.what(), err)
		}
		e := newEntry(a.Filename(), a.ID)
		e.size, e.time, e.since, e.kind = a.Size, nanoseconds(changed(a)), nanoseconds(a.UploadedAt), w.kind(a.MIMEType)
		found = append(found, e)
	}
	return distinct(found, suffixedFile), nil
}

// kind returns the number of a content type. Beyond the maximum number, a type is unknown.
func (w *walk) kind(of string) uint16 {
	n, ok := w.number[of]
	if !ok && len(w.kinds) < 1<<16 {
		n = uint16(len(w.kinds))
		w.kinds = append(w.kinds, of)
		w.number[of] = n
	}
	return n
}

func (w *walk) emit(c container, e entry) error {
	key := c.prefix + e.Name()
	if key <= w.after {
		return nil
	}
	return w.yield(sources.Object{Key: sources.Key(key), Size: e.size, Time: fromNanoseconds(e.time), VersionTag: e.ID(), ContentType: w.kinds[e.kind]})
}

// changed returns the time of the last change of an asset, or else of its upload.
func changed(a assets.Asset) time.Time {
	if a.LastModifiedAt.IsZero() {
		return a.UploadedAt
	}
	return a.LastModifiedAt
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanoseconds(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
