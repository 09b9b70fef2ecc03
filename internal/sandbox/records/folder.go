package records

import (
	"time"

	"assetferry/internal/sandbox/store"
)

// A Folder is a folder of a category or of another folder.
type Folder struct {
	ID, Name, Category, Parent string // Parent is "" at the top of a category
	Created, Updated           time.Time
	Assets                     int // directly in the folder
	Workspace                  string
	Depth                      int
}

// FolderView omits folders that were not loaded, to distinguish them from "none".
type FolderView struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	CategoryID  string         `json:"categoryId"`
	ParentID    string         `json:"parentId,omitempty"`
	CreatedAt   string         `json:"createdAt"`
	UpdatedAt   string         `json:"updatedAt"`
	AssetsCount int            `json:"assetsCount"`
	Folders     *[]*FolderView `json:"folders,omitempty"`
}

func (f Folder) View() *FolderView {
	return &FolderView{
		ID: f.ID, Name: f.Name, CategoryID: f.Category, ParentID: f.Parent,
		CreatedAt: store.Timestamp(f.Created), UpdatedAt: store.Timestamp(f.Updated), AssetsCount: f.Assets,
	}
}
