package assets

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// trashBatch is how many IDs go into one request. The service's own limit is not
// known.
const trashBatch = 100

// Trash moves assets to the trash, from where the service can restore them.
// Those it fails for are listed in a [BulkError]. An asset that is in the trash
// stays there, so the request is repeated after transient errors; if one got
// through whose answer did not, the repetition may list its assets as missing
// (404).
func (c *Client) Trash(ctx context.Context, ids ...string) error {
	failed := map[string]int{}
	for batch := range slices.Chunk(ids, trashBatch) {
		got, err := c.trash(ctx, batch)
		if err != nil {
			return errors.Join(err, bulkError("trash", failed))
		}
		maps.Copy(failed, got)
	}
	return bulkError("trash", failed)
}

func (c *Client) trash(ctx context.Context, ids []string) (map[string]int, error) {
	var got bulkAnswer
	err := c.do(ctx, &request{
		op: "trash", subject: strconv.Itoa(len(ids)) + " assets",
		method: http.MethodPost, route: "/assets/trash",
		query: c.inWorkspace(),
		body:  jsonPayload(ids),
		into:  &got,
	})
	return got.failed, err
}

func bulkError(op string, failed map[string]int) error {
	if len(failed) == 0 {
		return nil
	}
	return &BulkError{Op: op, Failed: failed}
}

// A bulkAnswer is empty if all went well. With status 207 it maps the IDs of
// failures to statuses.
type bulkAnswer struct{ failed map[string]int }

func (b *bulkAnswer) read(status int, body []byte) error {
	if status != http.StatusMultiStatus {
		return nil
	}
	if err := json.Unmarshal(body, &b.failed); err != nil {
		return err
	}
	return b.check()
}

func (b *bulkAnswer) check() error {
	if len(b.failed) == 0 {
		return errors.New("it says that something failed, but not what")
	}
	return nil
}
