package assets

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// An Edit says what becomes of an image. Parts that are nil change nothing. What
// they are called is known; the order in which they are done, that angles go to
// the right, and what Flip means, are guesses.
type Edit struct {
	Crop   *Crop   `json:"crop,omitempty"`
	Rotate *Rotate `json:"rotate,omitempty"`
	Flip   *Flip   `json:"flip,omitempty"`
	Resize *Resize `json:"resize,omitempty"`
}

// A Crop is the part of an image to keep, in pixels.
type Crop struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// A Rotate turns an image by an angle in degrees.
type Rotate struct {
	Angle int `json:"angle"`
}

// A Flip mirrors an image: X swaps left and right, Y top and bottom.
type Flip struct {
	X bool `json:"x"`
	Y bool `json:"y"`
}

// A Resize brings an image to a size in pixels.
type Resize struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// EditToNew makes a new asset of an edited image, beside it and with a name of
// its own, given without the extension. It is sent again only while it is certain
// that nothing was made; beyond that the error satisfies
// errors.Is(err, ErrUnconfirmed).
func (c *Client) EditToNew(ctx context.Context, id, name string, e Edit) (Asset, error) {
	if name == "" {
		return Asset{}, errors.New("edit image: the new asset needs a name")
	}
	return c.edit(ctx, id, map[string]any{"action": "create", "assetName": name, "transformations": e})
}

// EditInPlace edits an image, which keeps ID, address, name and tags; the file as
// it was is kept as a revision. Doing it twice is not the same as once, so it is
// sent again as carefully as [Client.EditToNew].
func (c *Client) EditInPlace(ctx context.Context, id string, e Edit) (Asset, error) {
	return c.edit(ctx, id, map[string]any{"action": "overwrite", "transformations": e})
}

func (c *Client) edit(ctx context.Context, id string, body any) (Asset, error) {
	var a Asset
	err := c.do(ctx, &request{
		op: "edit image", subject: id,
		method: http.MethodPost, route: "/assets/{id}/editImage", path: "/assets/" + url.PathEscape(id) + "/editImage",
		body:    jsonPayload(body),
		creates: true,
		into:    &a,
	})
	if err != nil {
		return Asset{}, err
	}
	return a, nil
}

// Analyze has the service describe images and tag them. It goes on in the
// background; [Client.Analysed] waits for it. Asking twice is the same as once.
func (c *Client) Analyze(ctx context.Context, ids ...string) error {
	for batch := range slices.Chunk(ids, bulkBatch) {
		err := c.do(ctx, &request{
			op: "analyze", subject: strconv.Itoa(len(batch)) + " assets",
			method: http.MethodPost, route: "/assets/analyze",
			query: c.inWorkspace(),
			body:  jsonPayload(map[string][]string{"assetIds": batch}),
			into:  new(nothing),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
