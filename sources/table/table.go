// Package table makes the export of another asset manager a source: a table of CSV or JSON
// Lines in which each row names an object, by a URL from which its content is fetched
// or by the path of a file beside the table, and says what describes it.
//
// A table is in no order and a source is: an index of keys is made when the table is
// opened and whenever another one has taken its place, in memory while it is small and in a
// temporary file when it is not. Rows stay in the table and are read when they are needed.
//
// What a table does not say has to be asked for, one request for each object while they
// are listed, several at once and ahead of who listens. Objects carry no time: a table's
// own, an ETag or a date of the server are a version tag like any other.
package table

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"assetferry/internal/tabular"
	"assetferry/sources"
	"assetferry/sources/remote"
)

// Scheme is what SOURCE begins with, followed by a colon and the path of the table.
const Scheme = "table"

// Options are the choices of New; the zero value is for a public table.
type Options struct {
	// Root is the folder that paths are in; empty is that of the table.
	Root string
	// Columns names the columns whose meaning is not told by their names.
	Columns Columns
	// Check asks for the size and the version of every URL while objects are listed,
	// and not only of those whose size the table does not say.
	Check bool
	// Headers open what is at the URLs.
	Headers remote.Headers
	// Hosts get the headers; empty is the host of all URLs, if they have only one.
	Hosts []string
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// AllowPrivate allows URLs of this machine and of private networks.
	AllowPrivate bool
	// TLS is how to trust servers; nil is the usual way.
	TLS *tls.Config
	// Connections is how many requests go out at once while objects are listed, and how
	// many idle connections are kept.
	Connections int
}

// A Source is a table.
type Source struct {
	path     string // absolute and cleaned
	root     string
	options  Options
	web      *remote.Anywhere
	headless sync.Map // hosts that do not answer HEAD as they answer GET

	mu      sync.Mutex
	current *snapshot
	closed  bool
}

// New opens a table. Its mistakes come as *rows.Mistakes. No request is made.
func New(ctx context.Context, path string, o Options) (*Source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Source{path: abs, root: o.Root, options: o}
	if s.root == "" {
		s.root = filepath.Dir(abs)
	}
	s.options.Connections = max(o.Connections, 1)
	if s.current, err = s.open(ctx); err != nil {
		return nil, s.failList(ctx, err)
	}
	hosts := o.Hosts
	if !o.Headers.IsZero() && len(hosts) == 0 {
		if hosts = s.current.hosts.all(); len(hosts) > 1 {
			return nil, errors.Join(&HostsError{hosts, s.current.hosts.more()}, s.Close())
		}
	}
	s.web = remote.NewAnywhere(remote.AnywhereOptions{
		Headers: o.Headers, Hosts: hosts, AllowHTTP: o.AllowHTTP, AllowPrivate: o.AllowPrivate, TLS: o.TLS, Connections: o.Connections,
	})
	return s, nil
}

// A HostsError says that it is not known which of several hosts may see the headers.
type HostsError struct {
	Hosts []string // some of them
	More  bool     // there are others
}

func (e *HostsError) Error() string {
	text := strings.Join(e.Hosts, ", ")
	if e.More {
		text += " and others"
	}
	return "there are headers for the source, and the addresses of the table are at several hosts: " + text
}

// Hint is what to do next.
func (e *HostsError) Hint() string {
	return "name those that may see the headers with --source-host; the others get none"
}

// Identity names the source for the state database.
func (s *Source) Identity() string { return Scheme + ":" + s.path }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Describes: true}
}

// Describe implements sources.Catalog. It makes no request.
func (s *Source) Describe(ctx context.Context, o sources.Object) (sources.Description, error) {
	e, err := s.find(ctx, o)
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, err)
	}
	return sources.Description{ContentType: e.contentType, Fields: e.fields}, nil
}

// Close closes the table and ends the connections that nobody uses.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.web != nil {
		s.web.CloseIdleConnections()
	}
	if s.current == nil {
		return nil
	}
	last := s.current
	s.current = nil
	return last.retire()
}

// CloseIdleConnections ends the connections that nobody uses.
func (s *Source) CloseIdleConnections() { s.web.CloseIdleConnections() }

// A snapshot is a table as it was at a time.
type snapshot struct {
	file    *tabular.File
	info    os.FileInfo
	columns columns // of CSV
	told    Columns
	index   *index
	hosts   hosts
	users   int
	retired bool
}

// open reads the table as it is now.
func (s *Source) open(ctx context.Context) (*snapshot, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	file, err := tabular.Open(s.path, tabular.Use{Kind: "table", Topic: "sources", Example: `{"address": "https://dam.example.com/a.jpg"}`})
	if err != nil {
		return nil, err
	}
	n := &snapshot{file: file, info: info, told: s.options.Columns}
	if err := n.read(ctx); err != nil {
		return nil, errors.Join(err, n.retire())
	}
	return n, nil
}

// read makes the index of all rows.
func (n *snapshot) read(ctx context.Context) (err error) {
	wrong := n.file.Mistakes()
	if names := n.file.Columns(); names != nil {
		n.columns, err = columnsOf(names, n.told, true)
		if err = wrong.Note(err); err == nil {
			err = wrong.Verdict() // the rows mean nothing without their columns
		}
		if err != nil {
			return err
		}
	}
	made := &sorter{}
	defer func() { err = errors.Join(err, made.discard()) }()
	err = n.file.Each(wrong, func(at int64, r tabular.Row) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e, err := n.entry(r)
		if err != nil {
			return err
		}
		n.hosts.add(e.url)
		line, _ := r.Where(0)
		return made.add(record{string(e.key), at, line})
	})
	if err == nil {
		err = wrong.Verdict()
	}
	if err != nil {
		return err
	}
	n.index, err = made.index()
	return err
}

func (n *snapshot) retire() error {
	n.retired = true
	if n.users > 0 {
		return nil
	}
	err := n.file.Close()
	if n.index != nil {
		err = errors.Join(err, n.index.close())
	}
	return err
}

// errClosed says that a source is used after its end.
var errClosed = errors.New("the source is closed")

// use returns the table as it is now, and a function for when it is not needed any more. If
// it must be there it is an error that it is not; otherwise it is what it was last.
func (s *Source) use(ctx context.Context, mustBeThere bool) (*snapshot, func() error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, errClosed
	}
	info, err := os.Stat(s.path)
	switch {
	case err == nil && !isSame(info, s.current.info):
		now, err := s.open(ctx)
		if err != nil {
			return nil, nil, err
		}
		if err := s.current.retire(); err != nil {
			return nil, nil, errors.Join(err, now.retire())
		}
		s.current = now
	case err != nil && mustBeThere:
		return nil, nil, err
	}
	n := s.current
	n.users++
	return n, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n.users--; n.retired {
			return n.retire()
		}
		return nil
	}, nil
}

func isSame(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// find reads the row of an object. It is not there any more, or says that the object is
// another one by now, if that is so.
func (s *Source) find(ctx context.Context, o sources.Object) (e entry, err error) {
	n, done, err := s.use(ctx, false)
	if err != nil {
		return entry{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	same, err := n.index.find(string(o.Key))
	if err != nil {
		return entry{}, err
	}
	if e, err = n.of(same); err != nil {
		return entry{}, err
	}
	if e.wrong != "" {
		return entry{}, errors.New(e.wrong)
	}
	if !s.asks(e) && (e.tag != o.VersionTag || e.size != o.Size) {
		return entry{}, sources.ErrChanged
	}
	return e, nil
}

// of reads the rows of a key, which must all say the same: of several that do not nobody
// knows which is meant.
func (n *snapshot) of(same []record) (entry, error) {
	if len(same) == 0 {
		return entry{}, fmt.Errorf("the table has no row of it any more: %w", os.ErrNotExist)
	}
	var first entry
	for i, r := range same {
		from, err := n.file.At(r.at)
		if err != nil {
			return entry{}, err
		}
		e, err := n.entry(from)
		if err != nil || string(e.key) != r.key {
			return entry{}, n.file.Changed()
		}
		switch {
		case i == 0:
			first = e
			first.line = r.line
		case first.wrong == "" && !e.equals(first):
			first.wrong = fmt.Sprintf("the rows in lines %d and %d have this key and do not say the same", first.line, r.line)
		}
	}
	if first.wrong != "" && len(same) == 1 {
		first.wrong = fmt.Sprintf("line %d: %s", first.line, first.wrong)
	}
	return first, nil
}

// Hosts are where the URLs of a table are: the first ones of many.
type hosts struct {
	first []string
	cut   bool
}

// maxHosts is how many hosts are told.
const maxHosts = 8

func (h *hosts) add(u *address) {
	if u == nil {
		return
	}
	host := u.host()
	switch {
	case slices.Contains(h.first, host):
	case len(h.first) == maxHosts:
		h.cut = true
	default:
		h.first = append(h.first, host)
	}
}

func (h *hosts) all() []string { return h.first }
func (h *hosts) more() bool    { return h.cut }

var (
	_ sources.Source  = (*Source)(nil)
	_ sources.Catalog = (*Source)(nil)
)
