// Package records defines the rows in the database of the sandbox: how they are read, changed
// and shown in responses.
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

// An Asset is a stored file with its metadata.
type Asset struct {
	ID, Workspace, Category, Folder string // Folder is "" directly in a category
	Name, Extension                 string
	Uploaded, Modified, Processed   time.Time
	Trashed                         time.Time // zero if not in the trash
	Description                     string
	Tags, Attributes                json.RawMessage
	Processing, BlurHash            string // of an image: "queued", "success" or "error"
	Analysis                        string // "" if not requested
	Stored
}

type ThumbnailView struct {
	BlurHash string `json:"blurHash"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	MimeType string `json:"mimeType"`
}

// Thumbnail returns the smallest rendition; that this is the thumbnail is a guess.
func (a Asset) Thumbnail() *ThumbnailView {
	width := Widths(a.Picture.Width)[0]
	height := max(1, (a.Picture.Height*width+a.Picture.Width/2)/a.Picture.Width)
	return &ThumbnailView{BlurHash: a.BlurHash, Width: width, Height: height, MimeType: "image/webp"}
}

// Status returns the processing state of an image, or "".
func (a Asset) Status(queued bool) string {
	switch {
	case !a.IsImage():
		return ""
	case queued:
		return "queued"
	}
	return a.Processing
}

// IsImage also checks the extension, which a rename can change.
func (a Asset) IsImage() bool {
	_, is := RenditionFormat(naming.Fold(a.Extension))
	return is && a.Picture.State != "no"
}

// A Place is the place of assets. The zero value is none.
type Place struct{ Workspace, Category, Folder string }

// searchText returns the case-folded text of an asset for searches. No word spans two parts.
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
