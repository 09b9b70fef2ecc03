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
	FolderID   string // wins over CategoryID
}

// field gives the target as forms and bodies name it; empty if it is none.
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

// An Action says what to do with an asset whose name is taken where it goes. The
// zero value leaves the asset where it is and has it among the failures; that the
// service does so is a guess.
type Action string

// The actions.
const (
	RenameIt     Action = "rename"  // it gets another name, of the service's choice
	ReplaceThere Action = "replace" // what has its name goes to the trash; a guess
)

// A Transfer is an asset to be copied or moved.
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

// Copy makes copies of assets: with other IDs, which the service does not tell.
// What it could not do is in a [BulkError]. It is sent again only while it is
// certain that nothing was made; beyond that the error satisfies
// errors.Is(err, ErrUnconfirmed), and what became of the assets in Open is found by
// listing the target.
func (c *Client) Copy(ctx context.Context, to Target, transfers ...Transfer) error {
	return c.transfer(ctx, request{op: "copy", route: "/assets/copy", creates: true}, to, transfers)
}

// Move moves assets. What it could not do is in a [BulkError]. It is repeated
// after transient errors as long as no transfer has an action: an asset that is
// there already stays there, but who knows whether the service would not rename it
// once more, or take it for what it is to replace.
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

// namesRoute is where the service tells which names are taken. To ask changes nothing.
const namesRoute = "/assets/namesExist"

// NamesTaken returns those of several names, with their extensions, that assets
// in a place have already.
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
