package assets

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Replacement is a new file for an asset. The service keeps the name of the asset. It is a guess
// that it requires the same extension.
type Replacement struct {
	Filename string
	Size     int64
	Open     func(ctx context.Context) (io.ReadCloser, error) // as in Upload
}

// Replace replaces the file of an asset. The asset keeps its ID, URL, name, tags and category, and
// the old file becomes a revision.
//
// The request is only repeated while it is certain that it was not executed: otherwise it would
// create another revision, which uses storage, and hide a revision that another user added
// meanwhile. If it may have been executed, the error satisfies errors.Is(err, ErrUnconfirmed).
// [Client.Revisions] shows the result; sending it again has no other effects than these.
func (c *Client) Replace(ctx context.Context, id string, r Replacement) (Asset, error) {
	if r.Filename == "" || r.Size < 0 || r.Open == nil {
		return Asset{}, errors.New("replace: needs a file name, a size and content")
	}
	u := Upload{Filename: r.Filename, Size: r.Size, Open: r.Open}
	body := newFrame(u, "assetferry-"+rand.Text()).payload(u)
	body.bandwidth = c.bandwidth
	var a Asset
	err := c.do(ctx, &request{
		op: "replace", subject: id,
		method: http.MethodPost, route: "/assets/{id}", path: "/assets/" + url.PathEscape(id),
		query:   c.inWorkspace(),
		body:    body,
		creates: true,
		into:    &a,
	})
	if err != nil {
		return Asset{}, err
	}
	return a, nil
}

// A Revision is a current or previous file of an asset.
type Revision struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"-"`         // zero if unknown
	CreatedBy string    `json:"createdBy"` // user; may be empty
	Current   bool      `json:"isCurrent"`
	Size      int64     `json:"size"`
}

// UnmarshalJSON decodes a revision, with its time in any form of ISO 8601.
func (r *Revision) UnmarshalJSON(data []byte) error {
	type plain Revision
	wire := struct {
		*plain
		CreatedAt isoTime `json:"createdAt"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	r.CreatedAt = wire.CreatedAt.Time
	return nil
}

// Revisions returns all revisions of an asset, including the current one. The route is not known to
// be paged.
func (c *Client) Revisions(ctx context.Context, id string) ([]Revision, error) {
	return whole(ctx, c, request{
		op: "list revisions", subject: "of " + id,
		route: "/assets/{id}/revisions", path: revisionsPath(id),
	}, func(r Revision) string { return r.ID })
}

func revisionsPath(id string) string { return "/assets/" + url.PathEscape(id) + "/revisions" }

// UseRevision makes a revision the current one. It is idempotent.
func (c *Client) UseRevision(ctx context.Context, id, revisionID string) error {
	return c.do(ctx, &request{
		op: "use revision", subject: revisionID + " of " + id,
		method: http.MethodPost, route: "/assets/{id}/revisions", path: revisionsPath(id),
		query: c.inWorkspace(),
		body:  jsonPayload(map[string]string{"revisionId": revisionID}),
		into:  nothing{},
	})
}

// DeleteRevision permanently deletes a revision. If a request succeeded without an answer, the
// repetition finds no such revision (fs.ErrNotExist).
func (c *Client) DeleteRevision(ctx context.Context, id, revisionID string) error {
	return c.do(ctx, &request{
		op: "delete revision", subject: revisionID + " of " + id,
		method: http.MethodDelete, route: "/assets/{id}/revisions/{revisionId}",
		path:  revisionsPath(id) + "/" + url.PathEscape(revisionID),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}

// DownloadRevision downloads the file of a revision like [Client.Download]. It is a guess that the
// service itself delivers it, and not the host of the assets.
func (c *Client) DownloadRevision(ctx context.Context, a Asset, revisionID string, offset int64) (io.ReadCloser, int64, error) {
	before, _, ok := strings.Cut(a.URL, "/assets/")
	workspace := before[strings.LastIndexByte(before, '/')+1:]
	if !ok || workspace == "" {
		return nil, 0, fmt.Errorf("download revision: the URL of asset %s names no workspace", a.ID)
	}
	rawURL := c.base.String() + "/" + workspace + revisionsPath(a.ID) + "/" + url.PathEscape(revisionID) + "/file"
	return c.Download(ctx, rawURL, offset)
}
