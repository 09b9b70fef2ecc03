// Package ckfinder reads the files of a CKFinder 3 connector as a source: its resource types, or a
// folder of one of them. A key consists of the name of a resource type, folders and a file name.
//
// It uses only documented commands that read: Init returns the resource types, GetFolders and
// GetFiles each list a folder, and Proxy or, in older connectors, DownloadFile delivers content. A
// listing has sizes in kilobytes and times in minutes. So a small request for each file returns
// exact values, several in parallel and ahead of the consumer. Ranges, lengths, validators and URLs
// are optional in the documentation. Without them, content is read twice for its size, read again
// from its start after an interruption, or a folder is listed again for each file: slow, but
// correct.
//
// A refused folder or file is an obstacle if the session is still valid, which is checked then. If
// it is not, the listing ends with an error, because a login page looks like an empty library.
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

// Options are the options of New; the zero value is for a connector without login.
type Options struct {
	// Headers are the credentials for the connector.
	Headers remote.Headers
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// TLS is the configuration for the connector; nil for the default.
	TLS *tls.Config
}

// parallel is the number of parallel requests. It is low because a connector also serves its users.
const parallel = 8

// answerTimeout is the maximum time until a response begins. Folders of ten thousand images can
// take minutes.
const answerTimeout = 5 * time.Minute

// A Source is a connector, or a folder of it.
type Source struct {
	url        URL
	client     *remote.Client
	opened     bool // there are headers
	folderURLs folderURLs

	timeout    time.Duration // of a command, see commandTimeout
	lastFolder folderMemory
	old        atomic.Bool // the connector does not support Proxy
}

// New returns the source of a URL. It makes no request.
func New(rawURL URL, o Options) *Source {
	return &Source{url: rawURL, opened: !o.Headers.IsZero(), timeout: commandTimeout, lastFolder: folderMemory{slow: slowFolder}, client: remote.New(remote.Options{
		Origin: rawURL.connector, Headers: o.Headers, AllowHTTP: o.AllowHTTP, TLS: o.TLS,
		Connections: 2 * parallel, AnswerTimeout: answerTimeout,
	})}
}

// Identity names the source for the state database.
func (s *Source) Identity() string { return s.url.String() }

// CloseIdleConnections closes idle connections.
func (s *Source) CloseIdleConnections() { s.client.CloseIdleConnections() }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Minute, Describes: true, Categories: s.url.kind == "", Concurrency: parallel}
}

// A place is a folder of a resource type.
type place struct {
	kind   string // the name of the resource type
	path   string // of the folder, from / to /
	prefix string // of the keys in it
}

// folder returns the place of a folder in a place; the name ends with a slash.
func (p place) folder(name string) place {
	return place{p.kind, p.path + name, p.prefix + name}
}

// parameters returns the parameters of commands for a folder.
func (p place) parameters() url.Values {
	return url.Values{"type": {p.kind}, "currentFolder": {p.path}}
}

// start returns the place of a URL with a resource type.
func (a URL) start() place { return place{kind: a.kind, path: a.folder} }

// placeOf returns the place of an object, and its name.
func (s *Source) placeOf(key sources.Key) (place, string) {
	dir, name := key.Split()
	at := s.url.start()
	if at.kind == "" {
		at = rootOf(dir)
	} else if dir != "" {
		at.path += dir + "/"
	}
	return at, name
}

var _ sources.Catalog = (*Source)(nil)

// Describe implements sources.Catalog. It makes at most one request per folder.
func (s *Source) Describe(ctx context.Context, o sources.Object) (sources.Description, error) {
	at, name := s.placeOf(o.Key)
	rawURL, err := s.urlOf(ctx, at, name)
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, err)
	}
	if rawURL == "" {
		return sources.Description{}, nil
	}
	return sources.Description{Fields: map[string][]string{"old_url": {rawURL}}}, nil
}
