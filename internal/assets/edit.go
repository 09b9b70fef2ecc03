package assets

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// An Edit changes an image; nil parts have no effect. The names are known. The order of the
// steps, clockwise angles and the meaning of Flip are guesses.
type Edit struct {
	Crop   *Crop   `json:"crop,omitempty"`
	Rotate *Rotate `json:"rotate,omitempty"`
	Flip   *Flip   `json:"flip,omitempty"`
	Resize *Resize `json:"resize,omitempty"`
}

// A Crop is the area of an image to keep, in pixels.
type Crop struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// A Rotate rotates an image by an angle in degrees.
type Rotate struct {
	Angle int `json:"angle"`
}

// A Flip mirrors an image: X swaps left and right, Y top and bottom.
type Flip struct {
	X bool `json:"x"`
	Y bool `json:"y"`
}

// A Resize sets the size of an image in pixels.
type Resize struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// EditToNew creates a new asset from an edited image, with its own name without the extension.
// It is only repeated while it is certain that nothing was created. Otherwise the error
// satisfies errors.Is(err, ErrUnconfirmed).
func (c *Client) EditToNew(ctx context.Context, id, name string, e Edit) (Asset, error) {
	if name == "" {
		return Asset{}, errors.New("edit image: the new asset needs a name")
	}
	return c.edit(ctx, id, map[string]any{"action": "create", "assetName": name, "transformations": e})
}

// EditInPlace edits an image, which keeps its ID, URL, name and tags; the old file becomes a
// revision. It is not idempotent, so it is repeated as carefully as [Client.EditToNew].
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

// Analyze requests descriptions and tags of images. The service works in the background;
// [Client.Analysed] waits for it. It is idempotent.
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
