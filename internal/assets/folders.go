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
	CreatedAt   time.Time `json:"-"`        // zero if the service did not say
	UpdatedAt   time.Time `json:"-"`
	Folders     []Folder  `json:"folders"` // as deep as was asked for
	AssetsCount int       `json:"assetsCount"`
}

// UnmarshalJSON reads the times, which come in any form of ISO 8601.
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

// Folders returns the top-level folders of all categories. Whether the service lists these
// alone, all of them, or a tree is not documented; those in other folders are left out here.
func (c *Client) Folders(ctx context.Context) ([]Folder, error) {
	all, err := c.FoldersAsListed(ctx)
	for n := range all {
		if all[n].ParentID == all[n].CategoryID { // it may pass for the parent of what is at the top
			all[n].ParentID = ""
		}
	}
	return directlyIn("", all), err
}

// FoldersAsListed returns what the service lists as folders, top-level or not, each as it is
// listed.
func (c *Client) FoldersAsListed(ctx context.Context) ([]Folder, error) {
	return whole(ctx, c, request{op: "list folders", route: "/folders", query: c.inWorkspace()}, func(f Folder) string { return f.ID })
}

// directlyIn keeps the folders whose parent is the one given, each once: those that do not tell
// another one, and do not come within another one either.
func directlyIn(parent string, all []Folder) []Folder {
	elsewhere := map[string]bool{}
	for _, f := range all {
		f.below(elsewhere)
	}
	return slices.DeleteFunc(all, func(f Folder) bool {
		if elsewhere[f.ID] || f.ParentID != "" && f.ParentID != parent {
			return true
		}
		elsewhere[f.ID] = true // if it comes again
		return false
	})
}

// below notes the folders that came within this one.
func (f Folder) below(noted map[string]bool) {
	for _, inside := range f.Folders {
		noted[inside.ID] = true
		inside.below(noted)
	}
}

// Folder returns a folder with the folders below it, down to depth levels. (That
// depth 1 means its direct children is inferred.)
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

// Branch returns the way to a folder: the folders around it, outermost first, and
// the folder itself with those below it down to depth levels. The service is
// taken to answer with the outermost folder and the others nested in it, which is
// a guess.
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

// wayTo is the folder and those inside it on the way to one of them; nil if that
// is not there. But for the last, they come without the folders beside the way.
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

// RenameFolder gives a folder another name.
func (c *Client) RenameFolder(ctx context.Context, id, name string) error {
	return c.do(ctx, &request{
		op: "rename folder", subject: id,
		method: http.MethodPut, route: "/folders/{id}", path: "/folders/" + url.PathEscape(id),
		query: c.inWorkspace(),
		body:  jsonPayload(map[string]string{"name": name}),
		into:  nothing{},
	})
}

// DeleteFolder deletes a folder. What is in it is not deleted: it moves one level
// up. The request is repeated after transient errors; if one got through whose
// answer did not, the repetition finds no such folder (fs.ErrNotExist).
func (c *Client) DeleteFolder(ctx context.Context, id string) error {
	return c.do(ctx, &request{
		op: "delete folder", subject: id,
		method: http.MethodDelete, route: "/folders/{id}", path: "/folders/" + url.PathEscape(id),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}

// NewFolder describes a folder to be made: in a folder, or at the top level of a
// category.
type NewFolder struct {
	Name       string
	CategoryID string
	ParentID   string // wins over CategoryID
}

// CreateFolder makes a folder and returns its ID. The service does not mind equal
// names.
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

// created is the answer to a request that makes something with an ID.
type created struct {
	ID string `json:"id"`
}

func (c *created) check() error {
	if c.ID == "" {
		return errors.New("no ID")
	}
	return nil
}

// create makes something named by a JSON body, and returns its ID.
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
