package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// A Folder is part of a category.
type Folder struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	CategoryID  string    `json:"categoryId"`
	ParentID    string    `json:"parentId"` // empty: top level of its category
	CreatedAt   time.Time `json:"-"`        // zero if unknown
	UpdatedAt   time.Time `json:"-"`
	Folders     []Folder  `json:"folders"` // down to the requested depth
	AssetsCount int       `json:"assetsCount"`
}

// UnmarshalJSON decodes a folder, with its time in any form of ISO 8601.
func (f *Folder) UnmarshalJSON(data []byte) error {
	type plain Folder
	wire := struct {
		*plain
		CreatedAt isoTime `json:"createdAt"`
		UpdatedAt isoTime `json:"updatedAt"`
	}{plain: (*plain)(f)}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	f.CreatedAt, f.UpdatedAt = wire.CreatedAt.Time, wire.UpdatedAt.Time
	return nil
}

func (f *Folder) check() error {
	if f.ID == "" {
		return errors.New("no folder ID")
	}
	return nil
}

// Folders returns the top-level folders of all categories. It is not documented whether the service
// lists only these, all folders, or a tree; folders in other folders are omitted.
func (c *Client) Folders(ctx context.Context) ([]Folder, error) {
	all, err := c.FoldersAsListed(ctx)
	for n := range all {
		if all[n].ParentID == all[n].CategoryID { // some services return the category as the parent
			all[n].ParentID = ""
		}
	}
	return directlyIn("", all), err
}

// FoldersAsListed returns the folders exactly as the service lists them, at any level.
func (c *Client) FoldersAsListed(ctx context.Context) ([]Folder, error) {
	return whole(ctx, c, request{op: "list folders", route: "/folders", query: c.inWorkspace()}, func(f Folder) string { return f.ID })
}

// directlyIn returns the folders with the given parent, each once. It omits folders with another
// parent and folders nested in another one.
func directlyIn(parent string, all []Folder) []Folder {
	elsewhere := map[string]bool{}
	for _, f := range all {
		f.below(elsewhere)
	}
	return slices.DeleteFunc(all, func(f Folder) bool {
		if elsewhere[f.ID] || f.ParentID != "" && f.ParentID != parent {
			return true
		}
		elsewhere[f.ID] = true // for duplicates
		return false
	})
}

// below records the IDs of all folders inside this one.
func (f Folder) below(noted map[string]bool) {
	for _, inside := range f.Folders {
		noted[inside.ID] = true
		inside.below(noted)
	}
}

// Folder returns a folder with its subfolders, down to depth levels. (It is a guess that depth 1
// means the direct children.)
func (c *Client) Folder(ctx context.Context, id string, depth int) (Folder, error) {
	var folder Folder
	err := c.do(ctx, &request{
		op: "read folder", subject: id,
		method: http.MethodGet, route: "/folders/{id}", path: "/folders/" + url.PathEscape(id),
		query: c.inWorkspace("depth", strconv.Itoa(depth)),
		into:  &folder,
	})
	folder.Folders = directlyIn(folder.ID, folder.Folders)
	return folder, err
}

// Branch returns the path to a folder: its ancestors, outermost first, and the folder itself with
// its subfolders down to depth levels. It is a guess that the service answers with the outermost
// folder and the others nested in it.
func (c *Client) Branch(ctx context.Context, id string, depth int) ([]Folder, error) {
	var top Folder
	err := c.do(ctx, &request{
		op: "read branch of folder", subject: id,
		method: http.MethodGet, route: "/folders/{id}/branch", path: "/folders/" + url.PathEscape(id) + "/branch",
		query: c.inWorkspace("depth", strconv.Itoa(depth)),
		into:  &top,
	})
	if err != nil {
		return nil, err
	}
	way := top.wayTo(id)
	if way == nil {
		return nil, fmt.Errorf("read branch of folder %s: the response does not contain the folder", id)
	}
	return way, nil
}

// wayTo returns the path from this folder to one inside it; nil if that does not exist. All folders
// but the last have no subfolders outside the path.
func (f Folder) wayTo(id string) []Folder {
	if f.ID == id {
		return []Folder{f}
	}
	for _, inside := range f.Folders {
		if way := inside.wayTo(id); way != nil {
			f.Folders = nil
			return append([]Folder{f}, way...)
		}
	}
	return nil
}

// RenameFolder renames a folder.
func (c *Client) RenameFolder(ctx context.Context, id, name string) error {
	return c.do(ctx, &request{
		op: "rename folder", subject: id,
		method: http.MethodPut, route: "/folders/{id}", path: "/folders/" + url.PathEscape(id),
		query: c.inWorkspace(),
		body:  jsonPayload(map[string]string{"name": name}),
		into:  nothing{},
	})
}

// DeleteFolder deletes a folder. Its contents are not deleted, but move one level up. The request
// is repeated after transient errors. If a request succeeded without an answer, the repetition
// finds no such folder (fs.ErrNotExist).
func (c *Client) DeleteFolder(ctx context.Context, id string) error {
	return c.do(ctx, &request{
		op: "delete folder", subject: id,
		method: http.MethodDelete, route: "/folders/{id}", path: "/folders/" + url.PathEscape(id),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}

// A NewFolder is a folder to create: in a folder, or at the top level of a category.
type NewFolder struct {
	Name       string
	CategoryID string
	ParentID   string // overrides CategoryID
}

// CreateFolder creates a folder and returns its ID. The service accepts equal names.
func (c *Client) CreateFolder(ctx context.Context, n NewFolder) (string, error) {
	body := map[string]string{"name": n.Name}
	switch {
	case n.ParentID != "":
		body["parentId"] = n.ParentID
	case n.CategoryID != "":
		body["categoryId"] = n.CategoryID
	default:
		return "", errors.New("create folder: needs a category or a parent")
	}
	return c.create(ctx, "create folder", n.Name, "/folders", c.inWorkspace(), body)
}

// A created is the answer to a request that creates an object with an ID.
type created struct {
	ID string `json:"id"`
}

func (c *created) check() error {
	if c.ID == "" {
		return errors.New("no ID")
	}
	return nil
}

// create creates an object from a JSON body and returns its ID.
func (c *Client) create(ctx context.Context, op, name, route string, query url.Values, body any) (string, error) {
	var made created
	err := c.do(ctx, &request{
		op: op, subject: strconv.Quote(name),
		method: http.MethodPost, route: route,
		query:   query,
		body:    jsonPayload(body),
		creates: true,
		into:    &made,
	})
	if err != nil {
		return "", err
	}
	return made.ID, nil
}
