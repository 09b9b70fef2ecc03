package migrate

import (
	"time"

	"assetferry/internal/assets"
)

// A formerAsset is what people can change of an asset, as it was before a run that is about
// to change it. The journal keeps it as JSON, so that an undo can go back to it.
type formerAsset struct {
	Name        string         `json:"name"` // without the extension
	Extension   string         `json:"extension"`
	Category    string         `json:"category"` // id
	Folder      string         `json:"folder"`   // id; empty directly in the category
	Size        int64          `json:"size"`
	Description string         `json:"description"`
	Tags        []string       `json:"tags"`
	Attributes  map[string]any `json:"attributes"`
	Modified    time.Time      `json:"modified,omitzero"` // by the service's account
}

func formerOf(a assets.Asset) formerAsset {
	return formerAsset{
		Name: a.Name, Extension: a.Extension, Category: a.CategoryID, Folder: a.FolderID, Size: a.Size,
		Description: a.Metadata.Description, Tags: a.Tags, Attributes: a.Metadata.CustomAttributes, Modified: a.LastModifiedAt,
	}
}
