// Package ckbox makes a workspace of the asset management service a source: another
// environment, or another workspace of the same one. A key is the name of a category,
// those of the folders in it, and the filename of an asset.
//
// The service allows several assets, folders or categories of one name side by side, and
// names that no segment of a key can be. So a key says where an asset is shown, and its
// version tag which one it is: the ID. What is called what really is among the fields that
// describe an object.
//
// Objects are read with the client of the service; nothing here can write.
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

// Scheme is that of the URLs of such sources.
const Scheme = "ckbox"

// A Service is what the source asks of the service; [assets.Client] is one. All of it only
// reads.
type Service interface {
	Categories(ctx context.Context) iter.Seq2[assets.Category, error]
	Folders(ctx context.Context) ([]assets.Folder, error)
	Folder(ctx context.Context, id string, depth int) (assets.Folder, error)
	List(ctx context.Context, o assets.ListOptions) iter.Seq2[assets.Asset, error]
	Asset(ctx context.Context, id string) (assets.Asset, error)
	Download(ctx context.Context, address string, offset int64) (io.ReadCloser, int64, error)
}

// A Source is a workspace.
type Source struct {
	service  Service
	identity string
	places   places
	// Leaves out a custom attribute that is none of the user's.
	own string
}

// Options say what is read.
type Options struct {
	Environment string // its ID
	Workspace   string // its ID; that of the default one is the ID of the environment
	// Attribute is the custom attribute in which this program notes where an asset comes
	// from. It says nothing of the asset, and is left out.
	Attribute string
}

// New returns the source in a workspace. It makes no request.
func New(service Service, o Options) *Source {
	return &Source{service: service, identity: Scheme + "://" + o.Environment + "/" + o.Workspace, own: o.Attribute}
}

// Identity names the source for the state database. The URL of the service is no part of it:
// a service may move.
func (s *Source) Identity() string { return s.identity }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Millisecond, Describes: true, Categories: true, NoSidecars: true, Complete: true}
}

// fail makes an error about the source or one of its objects.
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

// A movedError says that something was taken out of sight while it was listed. It is not
// fs.ErrNotExist: the source is there, and what was in there may be somewhere else now.
type movedError struct{ what string }

func (e *movedError) Error() string {
	return e.what + " was deleted while it was listed, so the listing is not complete"
}

// moved is the error of a listing of a container that may be gone by now.
func moved(what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &movedError{what}
	}
	return err
}
