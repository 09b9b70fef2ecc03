// Package ckfinder makes what a CKFinder 3 connector serves a source: its resource types,
// or a folder of one of them. Keys are the name of a resource type, folders and the name of
// a file, with slashes between.
//
// It speaks the documented commands and none that changes anything: Init tells the resource
// types, GetFolders and GetFiles list one folder each, all of it at once, and Proxy (or
// DownloadFile, where the connector is too old for that) delivers content. A listing tells
// sizes in kilobytes and times in minutes only, so a small request for each file asks for
// what is exact, several at a time and ahead of the objects that are taken. What the
// documentation leaves open is not relied on: ranges, lengths, validators and URLs are
// used where an answer has them, and done without where it has not. Then content is read
// twice for its size, or again from its start after a cut, or a folder is listed once more
// for each file that is read: slow, but never wrong.
//
// Nothing is concluded from what a connector does not say. A folder or a file that it refuses
// is an obstacle as long as the session is alive, which is asked then; if it is not, the
// listing ends with an error, because a page to log in at looks like an empty library.
package ckfinder

import (
	"context"
	"crypto/tls"
	"net/url"
	"sync/atomic"
	"time"

	"assetferry/sources"
	"assetferry/sources/remote"
)

// Options are the choices of New; the zero value is for a connector that needs no login.
type Options struct {
	// Headers open the connector.
	Headers remote.Headers
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// TLS is how to trust the connector; nil is the usual way.
	TLS *tls.Config
}

// parallel is how many requests a connector gets at once: it serves people as well.
const parallel = 8

// answerTimeout is how long a connector may take before it answers: folders of ten thousand
// pictures are known to take minutes.
const answerTimeout = 5 * time.Minute

// A Source is what a connector serves, or a folder of it.
type Source struct {
	address   Address
	client    *remote.Client
	opened    bool // by headers
	addresses folderAddresses

	timeout    time.Duration // of a command, see commandTimeout
	lastFolder folderMemory
	old        atomic.Bool // the connector does not know Proxy
}

// New returns the source at a URL. It makes no request.
func New(address Address, o Options) *Source {
	return &Source{address: address, opened: !o.Headers.IsZero(), timeout: commandTimeout, lastFolder: folderMemory{slow: slowFolder}, client: remote.New(remote.Options{
		Origin: address.connector, Headers: o.Headers, AllowHTTP: o.AllowHTTP, TLS: o.TLS,
		Connections: 2 * parallel, AnswerTimeout: answerTimeout,
	})}
}

// Identity names the source for the state database.
func (s *Source) Identity() string { return s.address.String() }

// CloseIdleConnections ends the connections that nobody uses.
func (s *Source) CloseIdleConnections() { s.client.CloseIdleConnections() }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Minute, Describes: true, Categories: s.address.kind == "", Concurrency: parallel}
}

// A place is a folder of a resource type.
type place struct {
	kind   string // the name of the resource type
	path   string // of the folder, from / to /
	prefix string // of the keys in it
}

// folder is the place of a folder in a place; the name has a slash at its end.
func (p place) folder(name string) place {
	return place{p.kind, p.path + name, p.prefix + name}
}

// parameters are those that every command about a folder takes.
func (p place) parameters() url.Values {
	return url.Values{"type": {p.kind}, "currentFolder": {p.path}}
}

// start is the place of a URL that names a resource type.
func (a Address) start() place { return place{kind: a.kind, path: a.folder} }

// placeOf is where an object is, and its name there.
func (s *Source) placeOf(key sources.Key) (place, string) {
	dir, name := key.Split()
	at := s.address.start()
	if at.kind == "" {
		at = rootOf(dir)
	} else if dir != "" {
		at.path += dir + "/"
	}
	return at, name
}

var _ sources.Catalog = (*Source)(nil)

// Describe implements sources.Catalog. It costs a request for each folder at most.
func (s *Source) Describe(ctx context.Context, o sources.Object) (sources.Description, error) {
	at, name := s.placeOf(o.Key)
	address, err := s.addressOf(ctx, at, name)
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, err)
	}
	if address == "" {
		return sources.Description{}, nil
	}
	return sources.Description{Fields: map[string][]string{"address": {address}}}, nil
}
