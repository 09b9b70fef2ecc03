package assets

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// An Upload is a file for a new asset, in a folder or directly in a category.
type Upload struct {
	CategoryID string
	FolderID   string // overrides CategoryID
	Filename   string // with its extension
	Size       int64
	// Open returns the content from its beginning. It is called again for another attempt. The
	// content must have exactly Size bytes. It is closed once, and not during a read; the context
	// is cancelled to end a blocked read.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

func (u Upload) check() error {
	switch {
	case u.FolderID == "" && u.CategoryID == "":
		return errors.New("upload: needs a category or a folder") // otherwise the service may choose a category
	case u.Filename == "":
		return errors.New("upload: needs a file name")
	case u.Size < 0 || u.Open == nil:
		return errors.New("upload: needs a size and content")
	}
	return nil
}

// Upload creates an asset. The request is only repeated while it is certain that nothing was
// created. Otherwise the error satisfies errors.Is(err, ErrUnconfirmed). An upload whose content
// was not sent completely has failed, and is not unconfirmed. If the content could not be read, the
// error is a [BodyError].
func (c *Client) Upload(ctx context.Context, u Upload) (Asset, error) {
	if err := u.check(); err != nil {
		return Asset{}, err
	}
	body := newFrame(u, "assetferry-"+rand.Text()).payload(u)
	body.bandwidth = c.bandwidth
	var a Asset
	err := c.do(ctx, &request{
		op: "upload", subject: strconv.Quote(u.Filename),
		method: http.MethodPost, route: "/assets",
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
