package collect

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/state"
)

// A FormerAsset contains the parts of an asset that people can change, from before a run that
// changes it. The state database stores it as JSON, so that an undo can restore it.
type FormerAsset struct {
	Name        string            `json:"name"` // without the extension
	Extension   string            `json:"extension"`
	Category    string            `json:"category"` // id
	Folder      string            `json:"folder"`   // id; empty directly in the category
	Size        int64             `json:"size"`
	Description string            `json:"description"`
	Tags        []string          `json:"tags"`
	Attributes  assets.Attributes `json:"attributes"`
	Modified    time.Time         `json:"modified,omitzero"` // by the service's account
	Left        time.Time         `json:"left,omitzero"`     // our last change, if a user changed it later
	Revision    string            `json:"revision,omitzero"` // before the run, if that may be a user edit
}

// FormerOf returns the parts of an asset that people can change, in their present state.
func FormerOf(a assets.Asset) FormerAsset {
	return FormerAsset{
		Name: a.Name, Extension: a.Extension, Category: a.CategoryID, Folder: a.FolderID, Size: a.Size,
		Description: a.Metadata.Description, Tags: a.Tags, Attributes: a.Metadata.CustomAttributes, Modified: a.LastModifiedAt,
	}
}

// An AssetHistory contains the known states of an asset that a run changed: before the run, and
// after it.
type AssetHistory struct {
	source    string
	BeforeRun state.Receipt
	Now       state.Receipt     // as the run wrote it
	Previous  FormerAsset       // as the asset was before
	said      metadata.Metadata // of the source, when the run updated the metadata of the asset
}

// NewAssetHistory returns the history of the asset of an item of an undo. The asset existed before
// the run: u.Before is not nil.
func NewAssetHistory(source string, u state.Undoing, now state.Receipt) (t AssetHistory, err error) {
	t = AssetHistory{source: source, BeforeRun: *u.Before, Now: now}
	if err := json.Unmarshal(u.Former, &t.Previous); err != nil {
		return t, fmt.Errorf("%s: read the previous state of the asset: %w", u.Key, err)
	}
	t.said, err = metadata.Decode(u.Said)
	return t, err
}

// ChangedSince names the parts of an asset that match neither the state after the run nor the one
// before it, if they prevent the restoration. Both states are acceptable, because an interrupted
// undo may have restored a part.
func (t AssetHistory) ChangedSince(a assets.Asset) (names []string) {
	isNamed := func(name, extension string) bool {
		return norm.NFC.String(a.Name) == norm.NFC.String(name) && a.Extension == extension
	}
	at := migrate.Container{Category: a.CategoryID, Folder: a.FolderID}
	if !isNamed(t.Now.Name, t.Now.Extension) && !isNamed(t.Previous.Name, t.Previous.Extension) {
		names = append(names, "name")
	}
	if at != (migrate.Container{Category: t.Now.Category, Folder: t.Now.Folder}) && at != t.FormerPlace() {
		names = append(names, "place")
	}
	if a.Size != t.Now.Size && a.Size != t.Previous.Size {
		names = append(names, "size")
	}
	return names
}

// WasEdited reports whether another user had changed the asset before the run, so that its content
// may not be the one that we uploaded.
func (t AssetHistory) WasEdited() bool {
	return t.Previous.Size != t.BeforeRun.Size || !t.BeforeRun.Modified.IsZero() && t.Previous.Modified.After(t.BeforeRun.Modified.Add(TimeTolerance))
}

// IsSwapped reports whether the object has another asset since the run: the service refused to
// replace the content of the previous one.
func (t AssetHistory) IsSwapped() bool { return t.Now.Asset != t.BeforeRun.Asset }

// FormerPlace returns the previous container of the asset.
func (t AssetHistory) FormerPlace() migrate.Container {
	return migrate.Container{Category: t.Previous.Category, Folder: t.Previous.Folder}
}

// IsRenamed reports whether the asset has another name than before.
func (t AssetHistory) IsRenamed(a assets.Asset) bool {
	return norm.NFC.String(a.Name) != norm.NFC.String(t.Previous.Name) || a.Extension != t.Previous.Extension
}

// RestoringChanges returns the changes that restore the name and metadata of an asset, except for
// fields that users changed since the run. stays names these.
func (t AssetHistory) RestoringChanges(a assets.Asset) (c assets.Changes, stays []string) {
	if t.IsRenamed(a) {
		c.Name, c.Extension = &t.Previous.Name, &t.Previous.Extension
		if a.Extension == t.Previous.Extension {
			c.Extension = nil
		}
	}
	switch now := a.Metadata.Description; {
	case now == t.Previous.Description:
	case sameText(now, t.said.Description):
		c.Description = &t.Previous.Description
	default:
		stays = append(stays, "description")
	}
	switch {
	case sameTags(a.Tags, t.Previous.Tags):
	case t.tagged(a.Tags):
		c.Tags = &t.Previous.Tags
	default:
		stays = append(stays, "tags")
	}
	attributes, foreign := t.attributes(a)
	c.CustomAttributes = attributes
	return c, append(stays, foreign...)
}

func sameText(a, b string) bool { return norm.NFC.String(a) == norm.NFC.String(b) }

func sameTags(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// tagged reports whether tags are those from before and no others than the source gave.
func (t AssetHistory) tagged(tags []string) bool {
	for _, tag := range t.Previous.Tags {
		if !slices.Contains(tags, tag) {
			return false
		}
	}
	for _, tag := range tags {
		if !slices.Contains(t.Previous.Tags, tag) && !slices.Contains(t.said.Tags, norm.NFC.String(tag)) {
			return false
		}
	}
	return true
}

// attributes returns all restored custom attributes, or nil if no change is needed.
func (t AssetHistory) attributes(a assets.Asset) (back map[string]any, stays []string) {
	now := a.Metadata.CustomAttributes
	back = maps.Clone(now)
	if back == nil {
		back = map[string]any{}
	}
	texts := MetadataOf(a).Attributes
	names := map[string]bool{}
	for _, m := range []map[string]any{now, t.Previous.Attributes} {
		for name := range m {
			names[name] = true
		}
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := t.Previous.Attributes[name]
		value, has := now[name]
		switch {
		case had == has && reflect.DeepEqual(was, value):
			continue
		case !has || !t.wrote(name, value, texts[name], a.ID):
			stays = append(stays, "custom attribute "+name)
			continue
		case had:
			back[name] = was
		default:
			delete(back, name)
		}
		changed = true
	}
	if !changed {
		back = nil
	}
	return back, stays
}

// wrote reports whether an attribute of an asset is as the run left it. If the run trashed the
// asset, there is no receipt, and the run wrote no attribute.
func (t AssetHistory) wrote(name string, value any, text, asset string) bool {
	if name != migrate.ProvenanceAttribute {
		return sameText(text, t.said.Attributes[name])
	}
	return len(t.Now.Checksum) > 0 && value == migrate.Provenance(t.source, t.Now.Key, t.Now.Checksum, asset)
}

// IsNoChange reports whether the changes are empty.
func IsNoChange(c assets.Changes) bool {
	return c.Name == nil && c.Extension == nil && c.Description == nil && c.Tags == nil && c.CustomAttributes == nil
}
