package assets

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// An Upload is a file to become an asset, in a folder or directly in a category.
type Upload struct {
	CategoryID string
	FolderID   string // wins over CategoryID
	Filename   string // with its extension
	Size       int64
	// Open returns the content from its beginning. It is called again for
	// another try. The content must be exactly Size bytes long. It is closed
	// once and not during a read; to end a read that blocks, the context is
	// cancelled.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

func (u Upload) check() error {
	switch {
	case u.FolderID == "" && u.CategoryID == "":
		return errors.New("upload: needs a category or a folder") // the service might choose one
	case u.Filename == "":
		return errors.New("upload: needs a file name")
	case u.Size < 0 || u.Open == nil:
		return errors.New("upload: needs a size and content")
	}
	return nil
}

// Upload makes an asset. It is sent again only while it is certain that nothing
// was made; beyond that the error satisfies errors.Is(err, ErrUnconfirmed). If the
// content was not sent to its end, the upload has failed and is not in doubt. If
// the content could not be read, there is a [BodyError].
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
