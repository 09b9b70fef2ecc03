// Package wordpress reads the media library of a WordPress site as a source: every image, document,
// sound and video, with its texts and its URLs in all sizes.
//
// A key is the path of the original upload below the folder of uploads, such as 2024/05/quay.jpg, or
// its name below the post that it belongs to. WordPress serves a smaller copy of a large image
// (quay-scaled.jpg). The original is read, and the URL of the copy is one of its old URLs. An image
// that was edited in WordPress is read as it is now. Several entries for one file, as plugins for
// several languages make them, are one object with the texts of the oldest entry.
//
// The API lists by ID, so the entries are sorted by key in a temporary index, which Open and Describe
// use again. It knows neither the size of an original nor whether a plugin has replaced a file. So a
// listing makes a HEAD request for each file, several in parallel and ahead of the consumer.
// Sites that keep their files elsewhere are read from there, without credentials. The version tag of
// an object has a hash of its metadata, so that each change of it is noticed.
//
// The metadata is complete: WordPress has read embedded titles, captions, credits and keywords at the
// upload, and people have edited them since. Metadata that they removed must not appear again.
package wordpress

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	api "assetferry/internal/wordpress"
	"assetferry/sources"
	"assetferry/sources/keyindex"
	"assetferry/sources/remote"
)

// Folders is the origin of the folders in keys.
type Folders string

// The origins of folders.
const (
	ByDate Folders = "date" // the folders of uploads, by year and month
	ByPost Folders = "post" // the type and the name of the post that an entry belongs to
)

// Options are the options of New.
type Options struct {
	// Folders is the origin of the folders in keys; "" is ByDate.
	Folders Folders
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// AllowPrivate allows files at this machine and in private networks, if they are not at the
	// site itself.
	AllowPrivate bool
	// TLS is the configuration for other hosts than the site; nil for the default.
	TLS *tls.Config
}

// parallel is the number of parallel requests. It is low because a site also serves its visitors.
const parallel = 8

// A Source is the media library of a site.
type Source struct {
	client    *api.Client
	elsewhere *remote.Anywhere
	folders   Folders

	mu      sync.Mutex
	signed  bool     // the password was accepted, or there is none
	current *library // of the last complete listing
	closed  bool
}

// New returns the source of a site. It makes no request.
func New(client *api.Client, o Options) *Source {
	return &Source{client: client, folders: o.Folders, elsewhere: remote.NewAnywhere(remote.AnywhereOptions{
		AllowHTTP: o.AllowHTTP, AllowPrivate: o.AllowPrivate, TLS: o.TLS, Connections: parallel,
	})}
}

// Identity names the source for the state database.
func (s *Source) Identity() string { return s.client.URL().String() }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Second, Describes: true, MetadataTags: true, NoSidecars: true, Complete: true, Concurrency: parallel}
}

// CloseIdleConnections closes idle connections.
func (s *Source) CloseIdleConnections() {
	s.client.CloseIdleConnections()
	s.elsewhere.CloseIdleConnections()
}

// Close deletes the index, and closes idle connections.
func (s *Source) Close() error {
	s.CloseIdleConnections()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	last := s.current
	s.current = nil
	return last.retire()
}

// A library has the entries of a listing in the order of keys.
type library struct {
	index   *keyindex.Index
	users   int
	retired bool
}

// retire closes a library when its last user has released it.
func (l *library) retire() error {
	if l == nil {
		return nil
	}
	l.retired = true
	if l.users > 0 {
		return nil
	}
	return l.index.Close()
}

// errClosed means that a source is used after Close.
var errClosed = errors.New("the source is closed")

// keep makes a library the current one, and returns a function that releases it.
func (s *Source) keep(l *library) (release func() error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(errClosed, l.retire())
	}
	last := s.current
	s.current = l
	l.users++
	return s.releaseOf(l), last.retire()
}

// use returns the current library, or nil, and a function that releases it.
func (s *Source) use() (*library, func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.current
	if l == nil {
		return nil, func() error { return nil }
	}
	l.users++
	return l, s.releaseOf(l)
}

func (s *Source) releaseOf(l *library) func() error {
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.users--; l.retired {
			return l.retire()
		}
		return nil
	}
}

// signIn checks the application password once. A wrong one, or one of an account that sees only its
// own media, must not look like a small library.
func (s *Source) signIn(ctx context.Context) error {
	s.mu.Lock()
	signed := s.signed
	s.mu.Unlock()
	if signed {
		return nil
	}
	if s.client.HasPassword() {
		account, err := s.client.Account(ctx)
		if err == nil {
			err = s.client.CheckMedia(account)
		}
		if e, ok := errors.AsType[*api.Error](err); ok && e.Status() != 0 && !e.IsAuth() {
			err = nil // some plugins hide accounts; the list shows whether the password works
		}
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.signed = true
	s.mu.Unlock()
	return nil
}

// fail returns an error of the source or of one of its objects, without secrets.
func (s *Source) fail(ctx context.Context, op string, key sources.Key, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	hint := hintOf(err)
	if f, ok := errors.AsType[*remote.Failure](err); ok {
		f.Redact(s.client.Redact)
	}
	return &sources.Error{Op: op, Source: s.Identity(), Key: key, Err: err, Hint: hint}
}

var (
	_ sources.Source  = (*Source)(nil)
	_ sources.Catalog = (*Source)(nil)
)
