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

// A Replacement is a file to take the place of an asset's. The service keeps the
// name of the asset; that it wants the same extension is a guess.
type Replacement struct {
	Filename string
	Size     int64
	Open     func(ctx context.Context) (io.ReadCloser, error) // as in Upload
}

// Replace gives an asset another file. ID, URL, name, tags and category stay,
// and the old file is kept as a revision.
//
// It is sent again only while it is certain that it was not carried out: one more
// revision would be made, which counts to the storage, and what somebody else put
// in place meanwhile would be covered. Beyond that the error satisfies
// errors.Is(err, ErrUnconfirmed). [Client.Revisions] tells what became of it, and
// sending it again does no worse than that.
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

// A Revision is a file that an asset has or had.
type Revision struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"-"`         // zero if the service did not say
	CreatedBy string    `json:"createdBy"` // a user; may be empty
	Current   bool      `json:"isCurrent"`
	Size      int64     `json:"size"`
}

// UnmarshalJSON reads the time, which comes in any form of ISO 8601.
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

// Revisions returns the revisions of an asset, the current one among them. The
// route is not known to page.
func (c *Client) Revisions(ctx context.Context, id string) ([]Revision, error) {
	return whole(ctx, c, request{
		op: "list revisions", subject: "of " + id,
		route: "/assets/{id}/revisions", path: revisionsPath(id),
	}, func(r Revision) string { return r.ID })
}

func revisionsPath(id string) string { return "/assets/" + url.PathEscape(id) + "/revisions" }

// UseRevision makes a revision the current one. Doing so twice is the same as
// once.
func (c *Client) UseRevision(ctx context.Context, id, revisionID string) error {
	return c.do(ctx, &request{
		op: "use revision", subject: revisionID + " of " + id,
		method: http.MethodPost, route: "/assets/{id}/revisions", path: revisionsPath(id),
		query: c.inWorkspace(),
		body:  jsonPayload(map[string]string{"revisionId": revisionID}),
		into:  nothing{},
	})
}

// DeleteRevision deletes a revision for good. If a request got through whose
// answer did not, its repetition finds no such revision (fs.ErrNotExist).
func (c *Client) DeleteRevision(ctx context.Context, id, revisionID string) error {
	return c.do(ctx, &request{
		op: "delete revision", subject: revisionID + " of " + id,
		method: http.MethodDelete, route: "/assets/{id}/revisions/{revisionId}",
		path:  revisionsPath(id) + "/" + url.PathEscape(revisionID),
		query: c.inWorkspace(),
		into:  nothing{},
	})
}

// DownloadRevision reads the file of a revision as [Client.Download] does. That
// the file is had from the service itself, and not from where it delivers assets,
// is a guess.
func (c *Client) DownloadRevision(ctx context.Context, a Asset, revisionID string, offset int64) (io.ReadCloser, int64, error) {
	before, _, ok := strings.Cut(a.URL, "/assets/")
	workspace := before[strings.LastIndexByte(before, '/')+1:]
	if !ok || workspace == "" {
		return nil, 0, fmt.Errorf("download revision: the URL of asset %s names no workspace", a.ID)
	}
	rawURL := c.base.String() + "/" + workspace + revisionsPath(a.ID) + "/" + url.PathEscape(revisionID) + "/file"
	return c.Download(ctx, rawURL, offset)
}
