package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/rendition"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

func (sh shelves) Assets(in library.Place, o library.Order, s library.Span) ([]library.Asset, int, error) {
	return sh.assets("assets", func(ses *store.Session) ([]records.Asset, int, error) {
		order, err := shelvedOrder(o)
		if err != nil {
			return nil, 0, err
		}
		return records.Listing{At: records.Place{Category: in.Category, Folder: in.Folder}, Order: order, Limit: s.Limit, Offset: s.Offset}.SelectAssets(ses)
	})
}

func (sh shelves) Newest(workspace string, n int) ([]library.Asset, error) {
	found, _, err := sh.assets("newest assets", func(ses *store.Session) ([]records.Asset, int, error) {
		found, err := selectNewest(ses, workspace, n)
		return found, len(found), err
	})
	return found, err
}

// Search finds what the route of that name finds for an administrator.
func (sh shelves) Search(q library.Query, o library.Order, s library.Span) ([]library.Asset, int, error) {
	in := searchBody{SearchPhrase: q.Phrase}
	words := in.words()
	if err := checkPhrase(q.Phrase, words); err != nil {
		return nil, 0, &library.RefusedError{Reason: err.Error()}
	}
	if err := records.FoldAssets(sh.server.store); err != nil {
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
		return records.SelectMatches(ses, in.conditions(among, words), order, s.Limit, s.Offset)
	})
}

func (sh shelves) Trash(workspace string, s library.Span) ([]library.Asset, int, error) {
	return sh.assets("trash", func(ses *store.Session) ([]records.Asset, int, error) {
		visible, err := records.Rights{All: true}.Visible(ses, workspace)
		if err != nil {
			return nil, 0, err
		}
		return records.SelectTrash(ses, workspace, visible, s.Limit, s.Offset)
	})
}

// assets reads a page of them, and what the places are called that they lie in.
func (sh shelves) assets(what string, find func(*store.Session) ([]records.Asset, int, error)) (shown []library.Asset, total int, err error) {
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

// Asset shows everything. Its addresses are those that answers of the service name.
func (sh shelves) Asset(id string) (shown library.Details, err error) {
	err = sh.look("asset "+id, func(ses *store.Session) error {
		a, err := selectAnyAsset(ses, id)
		if err != nil {
			return err
		}
		few, err := shelvedAssets(ses, []records.Asset{a})
		if err != nil {
			return err
		}
		shown = library.Details{Asset: few[0], Digest: a.Digest, BlurHash: a.BlurHash, Analysis: a.Analysis}
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

// detail adds tags, attributes and addresses.
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
	shown.Address = base + "/file"
	if !shown.Pictured() {
		return nil
	}
	urls := records.ImageURLs(base, a.Picture.Width, naming.Fold(a.Extension))
	for _, w := range records.Widths(a.Picture.Width) {
		shown.Renditions = append(shown.Renditions, library.Rendition{Width: w, Format: "webp", Address: urls[fmt.Sprint(w)]})
	}
	format, _ := records.RenditionFormat(naming.Fold(a.Extension))
	shown.Renditions = append(shown.Renditions, library.Rendition{Width: a.Picture.Width, Format: string(format), Address: urls["default"]})
	return nil
}

// Picture makes one as the service makes thumbnails, of assets in the trash, too.
func (sh shelves) Picture(id string, side int) (library.Content, error) {
	var a records.Asset
	err := sh.look("asset "+id, func(ses *store.Session) (err error) {
		a, err = selectAnyAsset(ses, id)
		return err
	})
	if err != nil {
		return library.Content{}, err
	}
	out, err := sh.server.image(a, box{side, side, rendition.WebP})
	if _, refused := errors.AsType[*problem.Problem](err); refused {
		return library.Content{}, fmt.Errorf("picture of asset %s: %w", id, library.ErrNotThere)
	}
	if err != nil {
		return library.Content{}, fmt.Errorf("picture of asset %s: %w", id, err)
	}
	return library.Content{
		ReadSeekCloser: noClose{out.content}, Name: out.name, Type: out.mime, Tag: out.tag, Modified: out.modified,
	}, nil
}

// noClose is a reader that needs no closing.
type noClose struct{ io.ReadSeeker }

func (noClose) Close() error { return nil }

// File opens what an asset holds, or held as a revision.
func (sh shelves) File(id, revision string) (library.Content, error) {
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
	file, err := sh.server.contents.Open(a.Content)
	if errors.Is(err, fs.ErrNotExist) { // deleted just now
		err = library.ErrNotThere
	}
	if err != nil {
		return library.Content{}, fmt.Errorf("open content of asset %s: %w", id, err)
	}
	return library.Content{
		ReadSeekCloser: file, Name: strings.TrimSuffix(a.Name+"."+a.Extension, "."), Type: naming.MimeType(naming.Fold(a.Extension)),
		Tag: a.Digest, Modified: a.Modified,
	}, nil
}
