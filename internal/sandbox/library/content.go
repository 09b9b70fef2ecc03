package library

import (
	"errors"
	"io"
	"time"
)

// ErrNotThere reports that a workspace, category, folder, asset or image does not exist.
var ErrNotThere = errors.New("not found in the sandbox")

// A RefusedError reports why the sandbox refused a search.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Places are the workspaces, categories and folders of all environments in a sandbox. Lists
// return a [Span] and the total.
type Places interface {
	Workspaces(Span) ([]Workspace, int, error)
	Workspace(id string) (Workspace, error)
	// Categories returns the categories of a workspace in the order of the service.
	Categories(workspace string, s Span) ([]Category, int, error)
	Category(id string) (Category, error)
	Folder(id string) (Folder, error)
	// Folders returns the folders directly in a place.
	Folders(in Place, o Order, s Span) ([]Folder, int, error)
	// FolderTree returns all folders of a category, each after its parent.
	FolderTree(category string, s Span) ([]Folder, int, error)
}

// Assets are the assets of a sandbox.
type Assets interface {
	// Assets returns the assets directly in a place.
	Assets(in Place, o Order, s Span) ([]Asset, int, error)
	// Newest returns the assets added last to a workspace.
	Newest(workspace string, n int) ([]Asset, error)
	Search(q Query, o Order, s Span) ([]Asset, int, error)
	// Trash returns the trash of a workspace, newest first.
	Trash(workspace string, s Span) ([]Asset, int, error)
	// Asset returns the details of an asset, in the trash or not.
	Asset(id string) (Details, error)
	// Picture returns an image of an asset that fits into a square.
	Picture(asset string, side int) (Content, error)
	// File returns the content of an asset, or of one of its revisions.
	File(asset, revision string) (Content, error)
}

// A Span is a part of a list.
type Span struct{ Offset, Limit int }

// An Order is a sort order.
type Order struct {
	By         Field
	Descending bool
}

// A Field is a sort field.
type Field string

// The sort fields. Folders have no size and are then sorted by name.
const (
	ByName     Field = "name"
	ByUploaded Field = "uploadedAt"
	BySize     Field = "size"
)

// A Place is a category or one of its folders.
type Place struct{ Category, Folder string }

// A Query searches for words in a workspace, or in one of its categories.
type Query struct{ Workspace, Category, Phrase string }

// A Ref is a reference by ID with a name.
type Ref struct{ ID, Name string }

// A Workspace contains categories. Assets in the trash are counted separately.
type Workspace struct {
	Ref
	Environment     string
	Assets, Trashed int
	Bytes           int64
	CategoriesCount int
	Created         time.Time
}

// A Category contains assets with certain extensions, and folders.
type Category struct {
	Ref
	Workspace  Ref
	Extensions []string
	Private    bool
	Folders    int // including subfolders
	Assets     int // including folders
	Bytes      int64
}

// A Folder belongs to a category.
type Folder struct {
	Ref
	Category        Ref
	Private         bool // like its category
	Workspace       Ref
	Around          []Ref // enclosing folders, the outermost first
	Folders, Assets int   // directly in it
	AssetsWithin    int   // in it and its subfolders
	Created         time.Time
}

// An Asset is an asset as shown in lists.
type Asset struct {
	ID, Name, Extension string
	Type                string // media type
	Size                int64
	Workspace           Ref // only set in Details
	Category, Folder    Ref // Folder is zero for an asset directly in a category
	Private             bool
	State               ImageState
	Width, Height       int // of an image
	Description         string
	Uploaded, Changed   time.Time
	Trashed             time.Time // zero if not in the trash
}

// An ImageState is the processing state of an image.
type ImageState string

// The states of images. Other assets have none.
const (
	NoImage ImageState = ""
	Queued  ImageState = "queued"
	Ready   ImageState = "success"
	Damaged ImageState = "error"
)

// Pictured reports whether there is an image of an asset.
func (a Asset) Pictured() bool { return (a.State == Queued || a.State == Ready) && a.Width > 0 }

// Details are all properties of an asset.
type Details struct {
	Asset
	Around     []Ref // enclosing folders, the outermost first
	Tags       []string
	Attributes []Attribute
	Checksum   string // SHA-256, hexadecimal
	BlurHash   string
	Analysis   string // "" if none was requested
	URL        string // path of the URL at the service
	Renditions []Rendition
	Revisions  []Revision // including the current one, newest first
}

// An Attribute is a custom attribute. Values other than strings are JSON.
type Attribute struct{ Name, Value string }

// A Rendition is an image that the service generates from an asset.
type Rendition struct {
	Width       int
	Format, URL string
}

// A Revision is a version of the content of an asset.
type Revision struct {
	ID      string
	Number  int
	Current bool
	Size    int64
	Made    time.Time
	By      string // "" if unknown
}

// A Content is a file open for reading.
type Content struct {
	io.ReadSeekCloser
	Name, Type string
	Tag        string // identifies the bytes
	Modified   time.Time
}
