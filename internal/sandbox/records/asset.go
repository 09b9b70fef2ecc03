// Package records has what the sandbox keeps: the kinds of rows in its database, how they are read
// and changed, and how answers show them.
package records

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

// An Asset is a stored file with what is known of it.
type Asset struct {
	ID, Workspace, Category, Folder string // Folder is empty directly in a category
	Name, Extension                 string
	Uploaded, Modified, Processed   time.Time
	Trashed                         time.Time // zero: it is not in the trash
	Description                     string
	Tags, Attributes                json.RawMessage
	Processing, BlurHash            string // of an image: "queued", "success" or "error"
	Analysis                        string // empty: not asked for
	Stored
}

type ThumbnailView struct {
	BlurHash string `json:"blurHash"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	MimeType string `json:"mimeType"`
}

// Thumbnail describes the smallest rendition: that this is the thumbnail is a guess.
func (a Asset) Thumbnail() *ThumbnailView {
	width := Widths(a.Picture.Width)[0]
	height := max(1, (a.Picture.Height*width+a.Picture.Width/2)/a.Picture.Width)
	return &ThumbnailView{BlurHash: a.BlurHash, Width: width, Height: height, MimeType: "image/webp"}
}

// Status says how far an image is; of other assets it says nothing.
func (a Asset) Status(queued bool) string {
	switch {
	case !a.IsImage():
		return ""
	case queued:
		return "queued"
	}
	return a.Processing
}

// IsImage looks at the extension, too, which may have been changed to that of
// something else.
func (a Asset) IsImage() bool {
	_, is := RenditionFormat(naming.Fold(a.Extension))
	return is && a.Picture.State != "no"
}

// A Place is where assets lie. The zero value is no place.
type Place struct{ Workspace, Category, Folder string }

// searchText is everything of an asset that a phrase is looked for in, folded.
// No word reaches from one part into the next.
func (a Asset) searchText() (string, error) {
	parts := []string{a.Name + "." + a.Extension, a.Description}
	var tags []string
	if err := json.Unmarshal(a.Tags, &tags); err != nil {
		return "", fmt.Errorf("tags of asset %s: %w", a.ID, err)
	}
	attributes, ok := standin.DecodeObject(a.Attributes)
	if !ok {
		return "", fmt.Errorf("custom attributes of asset %s are not an object", a.ID)
	}
	parts = append(parts, tags...)
	for name := range attributes {
		if text, ok := attributes.Text(name); ok {
			parts = append(parts, text)
		}
	}
	return FoldText(strings.Join(parts, "\n")), nil
}

func (a Asset) AsNamesake() []any {
	return []any{a.Category, store.OrNull(a.Folder), naming.Normal(a.Name), naming.Fold(a.Extension), a.ID}
}
