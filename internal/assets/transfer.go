package assets

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
)

// A Target is a place in the workspace: a folder, or directly in a category.
type Target struct {
	CategoryID string
	FolderID   string // overrides CategoryID
}

// field returns the name and the ID of the target for forms and bodies; empty without a target.
func (t Target) field() (name, id string) {
	switch {
	case t.FolderID != "":
		return "folderId", t.FolderID
	case t.CategoryID != "":
		return "categoryId", t.CategoryID
	}
	return "", ""
}

func (t Target) body(op string) (map[string]string, error) {
	field, id := t.field()
	if field == "" {
		return nil, errors.New(op + ": needs a category or a folder")
	}
	return map[string]string{field: id}, nil
}

// An Action decides what happens to an asset if its name exists at the target. The zero value keeps
// the asset in its place and lists it as a failure; it is a guess that the service does this.
type Action string

// The actions.
const (
	RenameIt     Action = "rename"  // it gets another name, which the service chooses
	ReplaceThere Action = "replace" // the asset with its name is trashed; a guess
)

// A Transfer is an asset to copy or move.
type Transfer struct {
	AssetID string
	IfTaken Action
}

func assetAction(id string, action Action) map[string]any {
	body := map[string]any{"assetId": id}
	if action != "" {
		body["action"] = action
	}
	return body
}

// Copy copies assets. The service does not return the IDs of the copies. Failed copies are in a
// [BulkError]. The request is only repeated while it is certain that nothing was created. Otherwise
// the error satisfies errors.Is(err, ErrUnconfirmed), and a listing of the target shows the results
// of the assets in Open.
func (c *Client) Copy(ctx context.Context, to Target, transfers ...Transfer) error {
	return c.transfer(ctx, request{op: "copy", route: "/assets/copy", creates: true}, to, transfers)
}

// Move moves assets. Failed moves are in a [BulkError]. The request is repeated after transient
// errors if no transfer has an action: an asset that was already moved keeps its place. With an
// action, the service may rename it again, or treat it as the asset to replace.
func (c *Client) Move(ctx context.Context, to Target, transfers ...Transfer) error {
	acts := slices.ContainsFunc(transfers, func(t Transfer) bool { return t.IfTaken != "" })
	return c.transfer(ctx, request{op: "move", route: "/assets/move", creates: acts}, to, transfers)
}

func (c *Client) transfer(ctx context.Context, r request, to Target, transfers []Transfer) error {
	target, err := to.body(r.op)
	if err != nil {
		return err
	}
	return bulk[Transfer]{
		request: r,
		items:   transfers,
		id:      func(t Transfer) string { return t.AssetID },
		body: func(batch []Transfer) any {
			actions := make([]map[string]any, len(batch))
			for i, t := range batch {
				actions[i] = assetAction(t.AssetID, t.IfTaken)
			}
			return map[string]any{"target": target, "assetsActions": actions}
		},
	}.do(ctx, c)
}

// namesRoute returns the names that exist. It changes nothing.
const namesRoute = "/assets/namesExist"

// NamesTaken returns the names, with extensions, that assets in a place already have.
func (c *Client) NamesTaken(ctx context.Context, in Target, names ...string) ([]string, error) {
	const op = "check names"
	target, err := in.body(op)
	if err != nil {
		return nil, err
	}
	var taken []string
	for batch := range slices.Chunk(names, bulkBatch) {
		var got nameList
		err := c.do(ctx, &request{
			op: op, subject: strconv.Itoa(len(batch)) + " names",
			method: http.MethodPost, route: namesRoute,
			query: c.inWorkspace(),
			body:  jsonPayload(map[string]any{"target": target, "names": batch}),
			into:  &got,
		})
		if err != nil {
			return taken, err
		}
		taken = append(taken, got...)
	}
	return taken, nil
}

type nameList []string

func (n *nameList) check() error {
	if *n == nil {
		return errors.New("not a list")
	}
	return nil
}
