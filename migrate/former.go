package migrate

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
	"assetferry/state"
)

// A formerAsset is what people can change of an asset, as it was before a run that is about
// to change it. The journal keeps it as JSON, so that an undo can go back to it.
type formerAsset struct {
	Name        string            `json:"name"` // without the extension
	Extension   string            `json:"extension"`
	Category    string            `json:"category"` // id
	Folder      string            `json:"folder"`   // id; empty directly in the category
	Size        int64             `json:"size"`
	Description string            `json:"description"`
	Tags        []string          `json:"tags"`
	Attributes  assets.Attributes `json:"attributes"`
	Modified    time.Time         `json:"modified,omitzero"` // by the service's account
	Left        time.Time         `json:"left,omitzero"`     // when we left it, if somebody had changed it since
	Revision    string            `json:"revision,omitzero"` // the current one, if what is replaced may be theirs
}

func formerOf(a assets.Asset) formerAsset {
	return formerAsset{
		Name: a.Name, Extension: a.Extension, Category: a.CategoryID, Folder: a.FolderID, Size: a.Size,
		Description: a.Metadata.Description, Tags: a.Tags, Attributes: a.Metadata.CustomAttributes, Modified: a.LastModifiedAt,
	}
}

// A trace is what a run may have left in an asset that it changed.
type trace struct {
	source string
	before state.Receipt
	now    state.Receipt     // as the run wrote it
	former formerAsset       // as the asset was before
	said   metadata.Metadata // by the source when the run described the asset
}

// traceOf puts together what is known of an item of an undo whose asset was there before.
func traceOf(source string, u state.Undoing, now state.Receipt) (t trace, err error) {
	t = trace{source: source, before: *u.Before, now: now}
	if err := json.Unmarshal(u.Former, &t.former); err != nil {
		return t, fmt.Errorf("%s: read what the asset was before: %w", u.Key, err)
	}
	t.said, err = metadata.Decode(u.Said)
	return t, err
}

// changes names what of an asset is neither as the run left it nor as it was before, as far
// as that keeps it from going back. Both is as good: an undo that was interrupted has gone a
// part of the way.
func (t trace) changes(a assets.Asset) (names []string) {
	isNamed := func(name, extension string) bool {
		return norm.NFC.String(a.Name) == norm.NFC.String(name) && a.Extension == extension
	}
	at := container{a.CategoryID, a.FolderID}
	if !isNamed(t.now.Name, t.now.Extension) && !isNamed(t.former.Name, t.former.Extension) {
		names = append(names, "name")
	}
	if at != (container{t.now.Category, t.now.Folder}) && at != t.place() {
		names = append(names, "place")
	}
	if a.Size != t.now.Size && a.Size != t.former.Size {
		names = append(names, "size")
	}
	return names
}

// wasEdited reports whether the asset had been changed by somebody else before the run, so
// that its content may not be what we had sent.
func (t trace) wasEdited() bool {
	return t.former.Size != t.before.Size || !t.before.Modified.IsZero() && t.former.Modified.After(t.before.Modified.Add(rounding))
}

// isSwapped reports whether another asset stands for the object since the run: the service
// refused to replace the content of the one that it had.
func (t trace) isSwapped() bool { return t.now.Asset != t.before.Asset }

// place is where the asset was before.
func (t trace) place() container { return container{t.former.Category, t.former.Folder} }

// isRenamed reports whether the asset has another name than before.
func (t trace) isRenamed(a assets.Asset) bool {
	return norm.NFC.String(a.Name) != norm.NFC.String(t.former.Name) || a.Extension != t.former.Extension
}

// back is what has to be written into an asset so that it says what it said before, as far as
// it is as the run left it. What people changed since stays, and is named.
func (t trace) back(a assets.Asset) (c assets.Changes, stays []string) {
	if t.isRenamed(a) {
		c.Name, c.Extension = &t.former.Name, &t.former.Extension
		if a.Extension == t.former.Extension {
			c.Extension = nil
		}
	}
	switch now := a.Metadata.Description; {
	case now == t.former.Description:
	case sameText(now, t.said.Description):
		c.Description = &t.former.Description
	default:
		stays = append(stays, "description")
	}
	switch {
	case sameTags(a.Tags, t.former.Tags):
	case t.tagged(a.Tags):
		c.Tags = &t.former.Tags
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
func (t trace) tagged(tags []string) bool {
	for _, tag := range t.former.Tags {
		if !slices.Contains(tags, tag) {
			return false
		}
	}
	for _, tag := range tags {
		if !slices.Contains(t.former.Tags, tag) && !slices.Contains(t.said.Tags, norm.NFC.String(tag)) {
			return false
		}
	}
	return true
}

// attributes gives all custom attributes as they are to be, nil if they are so already.
func (t trace) attributes(a assets.Asset) (back map[string]any, stays []string) {
	now := a.Metadata.CustomAttributes
	back = maps.Clone(now)
	if back == nil {
		back = map[string]any{}
	}
	texts := metadataOf(a).Attributes
	names := map[string]bool{}
	for _, m := range []map[string]any{now, t.former.Attributes} {
		for name := range m {
			names[name] = true
		}
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := t.former.Attributes[name]
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

// wrote reports whether an attribute of an asset is as the run left it. Of an asset that it
// trashed the journal has no receipt any more, and it wrote nothing into that.
func (t trace) wrote(name string, value any, text, asset string) bool {
	if name != provenanceAttribute {
		return sameText(text, t.said.Attributes[name])
	}
	return len(t.now.Digest) > 0 && value == provenance(t.source, t.now.Key, t.now.Digest, asset)
}

// isZero reports whether nothing is to be written.
func isZero(c assets.Changes) bool {
	return c.Name == nil && c.Extension == nil && c.Description == nil && c.Tags == nil && c.CustomAttributes == nil
}
