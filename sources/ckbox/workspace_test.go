package ckbox_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assetferry/internal/assets"
)

// A workspace is a service with everything that the real one may allow. It lists in its own order.
type workspace struct {
	mu         sync.Mutex
	categories []assets.Category
	folders    map[string]assets.Folder
	assets     map[string]assets.Asset
	contents   map[string][]byte
	revisions  map[string][]revision // earlier contents, the oldest first
	made       int                   // source of IDs and times
	deleted    bool                  // the whole workspace
}

func newWorkspace(categories ...string) *workspace {
	w := &workspace{folders: map[string]assets.Folder{}, assets: map[string]assets.Asset{}, contents: map[string][]byte{}, revisions: map[string][]revision{}}
	for i, name := range categories {
		w.categories = append(w.categories, assets.Category{ID: "category-" + strconv.Itoa(i), Name: name})
	}
	return w
}

func (w *workspace) next() (id string, at time.Time) {
	w.made++
	return fmt.Sprintf("id%05d", w.made), time.Date(2026, 1, 1, 0, 0, 0, w.made*1e6, time.UTC)
}

// folder finds or creates a folder in one of the categories, by path.
func (w *workspace) folder(category int, path string) string {
	parent := ""
	if path == "" {
		return ""
	}
	for name := range strings.SplitSeq(path, "/") {
		found := ""
		for _, f := range w.folders {
			if f.CategoryID == w.categories[category].ID && f.ParentID == parent && f.Name == name {
				found = f.ID
			}
		}
		if found == "" {
			found = w.addFolder(category, parent, name)
		}
		parent = found
	}
	return parent
}

func (w *workspace) addFolder(category int, parent, name string) string {
	id, at := w.next()
	w.folders[id] = assets.Folder{ID: id, Name: name, CategoryID: w.categories[category].ID, ParentID: parent, CreatedAt: at}
	return id
}

// add creates an asset.
func (w *workspace) add(category int, folder, name, extension string, content []byte) string {
	id, at := w.next()
	w.assets[id] = assets.Asset{ID: id, Name: name, Extension: extension, Size: int64(len(content)), CategoryID: w.categories[category].ID,
		FolderID: folder, UploadedAt: at, LastModifiedAt: at, URL: "https://delivery/" + id, MIMEType: "text/plain"}
	w.contents[id] = content
	return id
}

// put stores a file as an asset without an extension, which takes any name.
func (w *workspace) put(key string, content []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deleted = false
	dir, name := "", key
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		dir, name = key[:i], key[i+1:]
	}
	folder := w.folder(0, dir)
	for id, a := range w.assets {
		if a.FolderID == folder && a.Name == name {
			w.revise(id)
			_, a.LastModifiedAt = w.next()
			a.Size = int64(len(content))
			w.assets[id], w.contents[id] = a, content
			return
		}
	}
	w.add(0, folder, name, "", content)
}

func (w *workspace) remove(key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, a := range w.assets {
		name := a.Name
		for f := a.FolderID; f != ""; f = w.folders[f].ParentID {
			name = w.folders[f].Name + "/" + name
		}
		if name == key {
			delete(w.assets, id)
			return nil
		}
	}
	return fs.ErrNotExist
}

func (w *workspace) vanish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deleted = true
	return nil
}

func (w *workspace) Categories(ctx context.Context) iter.Seq2[assets.Category, error] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deleted {
		return func(yield func(assets.Category, error) bool) { yield(assets.Category{}, fs.ErrNotExist) }
	}
	return within(ctx, slices.Clone(w.categories))
}

func (w *workspace) Folders(ctx context.Context) ([]assets.Folder, error) {
	return w.in(ctx, ""), context.Cause(ctx)
}

func (w *workspace) Folder(ctx context.Context, id string, _ int) (assets.Folder, error) {
	w.mu.Lock()
	f, ok := w.folders[id]
	w.mu.Unlock()
	if !ok {
		return f, fs.ErrNotExist
	}
	f.Folders = w.in(ctx, id)
	return f, context.Cause(ctx)
}

// in returns the folders in a folder; parent "" means the top level.
func (w *workspace) in(_ context.Context, parent string) (in []assets.Folder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.folders {
		if f.ParentID == parent {
			in = append(in, f)
		}
	}
	return in
}

func (w *workspace) List(ctx context.Context, o assets.ListOptions) iter.Seq2[assets.Asset, error] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.folders[o.FolderID]; !ok && o.FolderID != "" {
		return func(yield func(assets.Asset, error) bool) { yield(assets.Asset{}, fs.ErrNotExist) }
	}
	var list []assets.Asset
	for _, a := range w.assets {
		if o.FolderID != "" && a.FolderID == o.FolderID || o.FolderID == "" && a.FolderID == "" && a.CategoryID == o.CategoryID {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b assets.Asset) int { return cmp.Compare(len(a.Name), len(b.Name)) })
	return within(ctx, list)
}

func (w *workspace) Asset(ctx context.Context, id string) (assets.Asset, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.assets[id]
	if !ok {
		return a, fs.ErrNotExist
	}
	return a, context.Cause(ctx)
}

func (w *workspace) Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	content, ok := w.contents[strings.TrimPrefix(url, "https://delivery/")]
	if !ok || offset > int64(len(content)) {
		return nil, 0, errors.New("no such content")
	}
	return io.NopCloser(bytes.NewReader(content[offset:])), int64(len(content)), context.Cause(ctx)
}

// within yields a list until its context is cancelled.
func within[T any](ctx context.Context, list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range list {
			if ctx.Err() != nil {
				break
			}
			if !yield(item, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			var none T
			yield(none, context.Cause(ctx))
		}
	}
}

// change modifies an asset and its modification time.
func (w *workspace) change(id string, f func(*assets.Asset)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.assets[id]
	_, a.LastModifiedAt = w.next()
	a.Metadata.CustomAttributes = maps.Clone(a.Metadata.CustomAttributes)
	f(&a)
	w.assets[id] = a
}
