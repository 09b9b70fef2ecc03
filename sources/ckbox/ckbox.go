// Package ckbox reads a workspace of the asset management service as a source: of another
// environment, or another workspace of the same one. A key consists of the name of a category, the
// names of folders, and the file name of an asset.
//
// The service allows duplicate names of assets, folders and categories, and names that cannot be
// segments of a key. So the key shows the place of an asset, and the version tag contains its ID.
// The real names are fields in the metadata.
//
// Objects are read with the client of the service, without write access.
package ckbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"time"

	"assetferry/internal/assets"
	"assetferry/sources"
)

// Scheme is the scheme of the URLs of such sources.
const Scheme = "ckbox"

// A Service makes the requests of the source; [assets.Client] implements it. All of them only read.
type Service interface {
	Categories(ctx context.Context) iter.Seq2[assets.Category, error]
	Folders(ctx context.Context) ([]assets.Folder, error)
	Folder(ctx context.Context, id string, depth int) (assets.Folder, error)
	List(ctx context.Context, o assets.ListOptions) iter.Seq2[assets.Asset, error]
	Asset(ctx context.Context, id string) (assets.Asset, error)
	Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error)
	Revisions(ctx context.Context, id string) ([]assets.Revision, error)
	DownloadRevision(ctx context.Context, a assets.Asset, revisionID string, offset int64) (io.ReadCloser, int64, error)
}

// A Source is a workspace.
type Source struct {
	service  Service
	identity string
	places   places
	// own is the custom attribute of this program, which is omitted.
	own string
}

// Options select the workspace.
type Options struct {
	Environment string // its ID
	Workspace   string // its ID; the default workspace has the ID of the environment
	// Attribute is the custom attribute with the provenance that this program writes. It is
	// omitted.
	Attribute string
}

// New returns the source of a workspace. It makes no request.
func New(service Service, o Options) *Source {
	return &Source{service: service, identity: Scheme + "://" + o.Environment + "/" + o.Workspace, own: o.Attribute}
}

// Identity names the source for the state database. It does not include the URL of the service,
// because a service may move.
func (s *Source) Identity() string { return s.identity }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Millisecond, Describes: true, Categories: true, NoSidecars: true, Complete: true}
}

// fail returns an error of the source or of one of its objects.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, assets.ErrChanged) {
		err = sources.ErrChanged
	}
	failure := &sources.Error{Op: op, Source: s.identity, Key: key, Err: err}
	if e, ok := errors.AsType[*assets.Error](err); ok {
		failure.Hint = e.Hint()
	}
	return failure
}

// A movedError means that a container was deleted or moved while it was listed. It is not
// fs.ErrNotExist: the source exists, and the assets may be in another place.
type movedError struct{ what string }

func (e *movedError) Error() string {
	return e.what + " was deleted during the listing, so the listing is incomplete"
}

// moved converts the error of listing a container that may have been deleted.
func moved(what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &movedError{what}
	}
	return err
}
