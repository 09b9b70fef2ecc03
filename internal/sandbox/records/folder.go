package records

import (
	"time"

	"assetferry/internal/sandbox/store"
)

// A Folder lies in a category or in another folder of it.
type Folder struct {
	ID, Name, Category, Parent string // Parent is empty at the top of a category
	Created, Updated           time.Time
	Assets                     int // directly in it
	Workspace                  string
	Depth                      int
}

// FolderView leaves folders out where it was not asked to look, so that it is
// not mistaken for "there are none".
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
