package library

import (
	"errors"
	"io"
	"time"
)

// ErrNotThere says that there is no such workspace, category, folder, asset or
// picture.
var ErrNotThere = errors.New("there is no such thing in the sandbox")

// A RefusedError says why the sandbox did not search.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Places are what holds assets in a sandbox, of all its environments. What is listed comes
// a [Span] at a time, with how many there are in all.
type Places interface {
	Workspaces(Span) ([]Workspace, int, error)
	Workspace(id string) (Workspace, error)
	// Categories are those of a workspace in the order of the service.
	Categories(workspace string, s Span) ([]Category, int, error)
	Category(id string) (Category, error)
	Folder(id string) (Folder, error)
	// Folders lie directly in a place.
	Folders(in Place, o Order, s Span) ([]Folder, int, error)
	// FolderTree is every folder of a category, each after those around it.
	FolderTree(category string, s Span) ([]Folder, int, error)
}

// Assets are what lies in places, listed like them.
type Assets interface {
	// Assets lie directly in a place.
	Assets(in Place, o Order, s Span) ([]Asset, int, error)
	// Newest arrived last in a workspace.
	Newest(workspace string, n int) ([]Asset, error)
	Search(q Query, o Order, s Span) ([]Asset, int, error)
	// Trash is that of a workspace, what was thrown away last first.
	Trash(workspace string, s Span) ([]Asset, int, error)
	// Asset is one with all that is known of it, in the trash or not.
	Asset(id string) (Details, error)
	// Picture is an image made so small that it fits into a square.
	Picture(asset string, side int) (Content, error)
	// File is what an asset holds, or held as one of its revisions.
	File(asset, revision string) (Content, error)
}

// A Span is a part of a list.
type Span struct{ Offset, Limit int }

// An Order is one in which a list can come.
type Order struct {
	By         Field
	Descending bool
}

// A Field is what a list is ordered by.
type Field string

// The fields of an order. Folders have no size: they come by name then.
const (
	ByName     Field = "name"
	ByUploaded Field = "uploadedAt"
	BySize     Field = "size"
)

// A Place is a category, or a folder of it.
type Place struct{ Category, Folder string }

// A Query looks for words in a workspace, or in one category of it.
type Query struct{ Workspace, Category, Phrase string }

// A Ref names something.
type Ref struct{ ID, Name string }

// A Workspace holds categories. What is in the trash is counted apart.
type Workspace struct {
	Ref
	Environment     string
	Assets, Trashed int
	Bytes           int64
	CategoriesCount int
	Created         time.Time
}

// A Category holds assets of some extensions, and folders.
type Category struct {
	Ref
	Workspace  Ref
	Extensions []string
	Private    bool
	Folders    int // in all
	Assets     int // in all
	Bytes      int64
}

// A Folder lies in a category.
type Folder struct {
	Ref
	Category        Ref
	Private         bool // as its category is
	Workspace       Ref
	Around          []Ref // the folders that it lies in, the outermost first
	Folders, Assets int   // directly in it
	AssetsWithin    int   // in it and in the folders below
	Created         time.Time
}

// An Asset is what lists show of one.
type Asset struct {
	ID, Name, Extension string
	Type                string // of its content
	Size                int64
	Workspace           Ref // only among details
	Category, Folder    Ref // Folder is zero directly in a category
	Private             bool
	State               ImageState
	Width, Height       int // of a picture
	Description         string
	Uploaded, Changed   time.Time
	Trashed             time.Time // zero: it is not
}

// An ImageState says how far an image is.
type ImageState string

// The states of images. What is no image has none.
const (
	NoImage ImageState = ""
	Queued  ImageState = "queued"
	Ready   ImageState = "success"
	Damaged ImageState = "error"
)

// Pictured reports whether there is a picture of an asset.
func (a Asset) Pictured() bool { return (a.State == Queued || a.State == Ready) && a.Width > 0 }

// Details are everything of an asset.
type Details struct {
	Asset
	Around     []Ref // the folders that it lies in, the outermost first
	Tags       []string
	Attributes []Attribute
	Checksum   string // SHA-256 in hex
	BlurHash   string
	Analysis   string // empty: nobody asked for one
	Address    string // at the service, without the host
	Renditions []Rendition
	Revisions  []Revision // the current one too, newest first
}

// An Attribute is a custom attribute; a value that is no text is JSON.
type Attribute struct{ Name, Value string }

// A Rendition is an image that the service makes of an asset.
type Rendition struct {
	Width           int
	Format, Address string
}

// A Revision is what an asset holds or held.
type Revision struct {
	ID      string
	Number  int
	Current bool
	Size    int64
	Made    time.Time
	By      string // empty: not known
}

// A Content is a file, open for reading.
type Content struct {
	io.ReadSeekCloser
	Name, Type string
	Tag        string // says which bytes they are
	Modified   time.Time
}
