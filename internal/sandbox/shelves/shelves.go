// Package shelves reads the stored data of all environments for the library page.
package shelves

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/sandbox/contents"
	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

// Shelves give the library page access to the stored data of all environments.
type Shelves struct {
	store      *store.Store
	workspaces *records.Workspaces
	contents   contents.Contents
	// picture returns an image that fits into a square.
	picture func(a records.Asset, side int) (library.Content, error)
}

// New returns shelves for a store.
func New(st *store.Store, ws *records.Workspaces, c contents.Contents, picture func(a records.Asset, side int) (library.Content, error)) Shelves {
	return Shelves{st, ws, c, picture}
}

// look reads data for the page. A missing row becomes the error of the page.
func (sh Shelves) look(what string, do func(*store.Session) error) error {
	err := sh.store.Read(do)
	if errors.Is(err, store.ErrNotThere) {
		return fmt.Errorf("%s: %w", what, library.ErrNotThere)
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", what, err)
	}
	return nil
}

func (sh Shelves) Workspaces(s library.Span) (found []library.Workspace, total int, err error) {
	all := sh.workspaces.All()
	from := min(s.Offset, len(all))
	err = sh.look("workspaces", func(ses *store.Session) error {
		for _, w := range all[from:min(from+s.Limit, len(all))] {
			shown, err := shelvedWorkspace(ses, w)
			if err != nil {
				return err
			}
			found = append(found, shown)
		}
		return nil
	})
	return found, len(all), err
}

func (sh Shelves) Workspace(id string) (shown library.Workspace, err error) {
	err = sh.look("workspace "+id, func(ses *store.Session) error {
		w, ok := sh.workspaces.Get(id)
		if !ok {
			return store.ErrNotThere
		}
		shown, err = shelvedWorkspace(ses, w)
		return err
	})
	return shown, err
}

func (sh Shelves) Categories(workspace string, s library.Span) (found []library.Category, total int, err error) {
	err = sh.look("categories of "+workspace, func(ses *store.Session) error {
		ids, err := records.CategoryIDs(ses, records.Rights{All: true}, workspace)
		if err != nil {
			return err
		}
		total = len(ids)
		from := min(s.Offset, total)
		for _, id := range ids[from:min(from+s.Limit, total)] {
			c, err := sh.category(ses, id)
			if err != nil {
				return err
			}
			found = append(found, c)
		}
		return nil
	})
	return found, total, err
}

func (sh Shelves) Category(id string) (c library.Category, err error) {
	err = sh.look("category "+id, func(ses *store.Session) error {
		c, err = sh.category(ses, id)
		return err
	})
	return c, err
}

func (sh Shelves) category(ses *store.Session, id string) (library.Category, error) {
	c, err := records.SelectCategory(ses, id)
	if err != nil {
		return library.Category{}, err
	}
	shown := library.Category{
		Ref: library.Ref{ID: c.ID, Name: c.Name}, Workspace: sh.workspaceRef(c.Workspace), Extensions: c.Extensions, Private: c.Private,
	}
	shown.Folders, shown.Assets, shown.Bytes, err = measureCategory(ses, id)
	return shown, err
}

func (sh Shelves) workspaceRef(id string) library.Ref {
	w, _ := sh.workspaces.Get(id)
	return library.Ref{ID: id, Name: w.Name}
}

func (sh Shelves) Folder(id string) (shown library.Folder, err error) {
	err = sh.look("folder "+id, func(ses *store.Session) error {
		f, err := records.SelectFolder(ses, id)
		if err != nil {
			return err
		}
		shown, err = shelvedFolder(ses, f)
		if err != nil {
			return err
		}
		c, err := records.SelectCategory(ses, f.Category)
		shown.Category, shown.Private, shown.Workspace = library.Ref{ID: c.ID, Name: c.Name}, c.Private, sh.workspaceRef(c.Workspace)
		return err
	})
	return shown, err
}

func (sh Shelves) Folders(in library.Place, o library.Order, s library.Span) (found []library.Folder, total int, err error) {
	err = sh.look("folders", func(ses *store.Session) error {
		found, total, err = shelvedFolders(ses, in, o, s)
		return err
	})
	return found, total, err
}

func (sh Shelves) FolderTree(category string, s library.Span) (found []library.Folder, total int, err error) {
	err = sh.look("folders", func(ses *store.Session) error {
		found, total, err = shelvedTree(ses, category, s)
		return err
	})
	return found, total, err
}

func (sh Shelves) Assets(in library.Place, o library.Order, s library.Span) ([]library.Asset, int, error) {
	return sh.assets("assets", func(ses *store.Session) ([]records.Asset, int, error) {
		order, err := shelvedOrder(o)
		if err != nil {
			return nil, 0, err
		}
		return records.Listing{At: records.Place{Category: in.Category, Folder: in.Folder}, Order: order, Limit: s.Limit, Offset: s.Offset}.SelectAssets(ses)
	})
}

func (sh Shelves) Newest(workspace string, n int) ([]library.Asset, error) {
	found, _, err := sh.assets("newest assets", func(ses *store.Session) ([]records.Asset, int, error) {
		found, err := selectNewest(ses, workspace, n)
		return found, len(found), err
	})
	return found, err
}

// Search returns the results of the search route for an administrator.
func (sh Shelves) Search(q library.Query, o library.Order, s library.Span) ([]library.Asset, int, error) {
	in := records.SearchBody{SearchPhrase: q.Phrase}
	words := in.Words()
	if err := records.CheckPhrase(q.Phrase, words); err != nil {
		return nil, 0, &library.RefusedError{Reason: err.Error()}
	}
	if err := records.FoldAssets(sh.store); err != nil {
		return nil, 0, fmt.Errorf("prepare search in %s: %w", q.Workspace, err)
	}
	return sh.assets("assets", func(ses *store.Session) ([]records.Asset, int, error) {
		order, err := shelvedOrder(o)
		if err != nil {
			return nil, 0, err
		}
		among, err := records.CategoryIDs(ses, records.Rights{All: true}, q.Workspace)
		if err != nil {
			return nil, 0, err
		}
		if q.Category != "" {
			among = slices.DeleteFunc(among, func(id string) bool { return id != q.Category })
		}
		return records.SelectMatches(ses, in.Conditions(among, words), order, s.Limit, s.Offset)
	})
}

func (sh Shelves) Trash(workspace string, s library.Span) ([]library.Asset, int, error) {
	return sh.assets("trash", func(ses *store.Session) ([]records.Asset, int, error) {
		visible, err := records.Rights{All: true}.Visible(ses, workspace)
		if err != nil {
			return nil, 0, err
		}
		return records.SelectTrash(ses, workspace, visible, s.Limit, s.Offset)
	})
}

// assets reads a page of assets, and the names of their places.
func (sh Shelves) assets(what string, find func(*store.Session) ([]records.Asset, int, error)) (shown []library.Asset, total int, err error) {
	err = sh.look(what, func(ses *store.Session) error {
		var found []records.Asset
		if found, total, err = find(ses); err != nil {
			return err
		}
		shown, err = shelvedAssets(ses, found)
		return err
	})
	return shown, total, err
}

// Asset returns all details of an asset, with the URLs of the service.
func (sh Shelves) Asset(id string) (shown library.Details, err error) {
	err = sh.look("asset "+id, func(ses *store.Session) error {
		a, err := selectAnyAsset(ses, id)
		if err != nil {
			return err
		}
		few, err := shelvedAssets(ses, []records.Asset{a})
		if err != nil {
			return err
		}
		shown = library.Details{Asset: few[0], Checksum: a.Checksum, BlurHash: a.BlurHash, Analysis: a.Analysis}
		shown.Workspace = sh.workspaceRef(a.Workspace)
		if a.Folder != "" {
			around, err := records.SelectAncestors(ses, a.Folder)
			if err != nil {
				return err
			}
			shown.Around = append(refs(around), shown.Folder)
		}
		if shown.Revisions, err = shelvedRevisions(ses, a); err != nil {
			return err
		}
		return detail(a, &shown)
	})
	return shown, err
}

// detail adds tags, attributes and URLs.
func detail(a records.Asset, shown *library.Details) error {
	if err := json.Unmarshal(a.Tags, &shown.Tags); err != nil {
		return fmt.Errorf("tags of asset %s: %w", a.ID, err)
	}
	attributes, ok := standin.DecodeObject(a.Attributes)
	if !ok {
		return fmt.Errorf("custom attributes of asset %s are not an object", a.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		text, ok := attributes.Text(name)
		if !ok {
			text = string(attributes[name])
		}
		shown.Attributes = append(shown.Attributes, library.Attribute{Name: name, Value: text})
	}
	base := "/" + a.Workspace + "/assets/" + a.ID
	shown.URL = base + "/file"
	if !shown.Pictured() {
		return nil
	}
	urls := records.ImageURLs(base, a.Picture.Width, naming.Fold(a.Extension))
	for _, w := range records.Widths(a.Picture.Width) {
		shown.Renditions = append(shown.Renditions, library.Rendition{Width: w, Format: "webp", URL: urls[fmt.Sprint(w)]})
	}
	format, _ := records.RenditionFormat(naming.Fold(a.Extension))
	shown.Renditions = append(shown.Renditions, library.Rendition{Width: a.Picture.Width, Format: string(format), URL: urls["default"]})
	return nil
}

// Picture returns a thumbnail of an asset, in the trash or not.
func (sh Shelves) Picture(id string, side int) (library.Content, error) {
	var a records.Asset
	err := sh.look("asset "+id, func(ses *store.Session) (err error) {
		a, err = selectAnyAsset(ses, id)
		return err
	})
	if err != nil {
		return library.Content{}, err
	}
	out, err := sh.picture(a, side)
	if _, refused := errors.AsType[*problem.Problem](err); refused {
		return library.Content{}, fmt.Errorf("picture of asset %s: %w", id, library.ErrNotThere)
	}
	if err != nil {
		return library.Content{}, fmt.Errorf("picture of asset %s: %w", id, err)
	}
	return out, nil
}

// File opens the content of an asset or of a revision.
func (sh Shelves) File(id, revision string) (library.Content, error) {
	var a records.Asset
	err := sh.look("asset "+id, func(ses *store.Session) (err error) {
		if a, err = selectAnyAsset(ses, id); err != nil || revision == "" || revision == a.Revision {
			return err
		}
		a.Stored, err = records.SelectRevision(ses, id, revision)
		return err
	})
	if err != nil {
		return library.Content{}, err
	}
	file, err := sh.contents.Open(a.Content)
	if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
		err = library.ErrNotThere
	}
	if err != nil {
		return library.Content{}, fmt.Errorf("open content of asset %s: %w", id, err)
	}
	return library.Content{
		ReadSeekCloser: file, Name: strings.TrimSuffix(a.Name+"."+a.Extension, "."), Type: naming.MimeType(naming.Fold(a.Extension)),
		Tag: a.Checksum, Modified: a.Modified,
	}, nil
}
