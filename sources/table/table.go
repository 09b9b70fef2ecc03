// Package table reads the export of another asset manager as a source: a table of CSV or JSON
// Lines. Each row names an object, by the URL of its content or by the path of a file beside the
// table, and contains its metadata.
//
// Rows may be in any order, so an index of keys is made when the table is opened or replaced: in
// memory, or for a large table in a temporary file. Rows stay in the table and are read when
// needed.
//
// Facts that are not in the table need one request per object during the listing, several in
// parallel and ahead of the consumer. Objects have no time. A time in the table, an ETag and a date
// of the server are version tags.
package table

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"assetferry/internal/tabular"
	"assetferry/sources"
	"assetferry/sources/keyindex"
	"assetferry/sources/remote"
)

// Scheme is the beginning of SOURCE, before a colon and the path of the table.
const Scheme = "table"

// Options are the options of New; the zero value is for public URLs.
type Options struct {
	// Root is the folder of relative paths; "" is that of the table.
	Root string
	// Columns are the columns whose names do not show their meaning.
	Columns Columns
	// Check requests the size and the version of every URL during a listing, and
	// not only of those without a size in the table.
	Check bool
	// Headers are the credentials for the URLs.
	Headers remote.Headers
	// Hosts are the hosts that get the headers; if empty, the only host of the URLs.
	Hosts []string
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// AllowPrivate allows URLs of this machine and of private networks.
	AllowPrivate bool
	// TLS is the configuration for servers; nil for the default.
	TLS *tls.Config
	// Connections is the number of parallel requests during a listing, and of idle
	// connections to keep.
	Connections int
}

// A Source is a table.
type Source struct {
	path     string // absolute and cleaned
	root     string
	options  Options
	web      *remote.Anywhere
	headless sync.Map // hosts that do not support HEAD

	mu      sync.Mutex
	current *snapshot
	closed  bool
}

// New opens a table. Its error is a *tabular.Mistakes if the table has mistakes. It makes no
// request.
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

// A HostsError means that the table has several hosts, and Options.Hosts does not select those that
// get the headers.
type HostsError struct {
	Hosts []string // some of the hosts
	More  bool     // there are more hosts
}

func (e *HostsError) Error() string {
	text := strings.Join(e.Hosts, ", ")
	if e.More {
		text += " and others"
	}
	return "the URLs of the table have several hosts, and it is unclear which of them get the headers: " + text
}

// Hint returns the next step.
func (e *HostsError) Hint() string {
	return "add --source-host HOST for each host that gets the headers"
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

// Close closes the table and idle connections.
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

// CloseIdleConnections closes idle connections.
func (s *Source) CloseIdleConnections() { s.web.CloseIdleConnections() }

// A snapshot is the table at a point in time.
type snapshot struct {
	file    *tabular.File
	info    os.FileInfo
	columns columns // of CSV
	chosen  Columns
	index   *keyindex.Index
	hosts   hosts
	users   int
	retired bool
}

// open reads the current table.
func (s *Source) open(ctx context.Context) (*snapshot, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	file, err := tabular.Open(s.path, tabular.Use{Kind: "table", Topic: "sources", Example: `{"url": "https://dam.example.com/a.jpg"}`})
	if err != nil {
		return nil, err
	}
	n := &snapshot{file: file, info: info, chosen: s.options.Columns}
	if err := n.read(ctx); err != nil {
		return nil, errors.Join(err, n.retire())
	}
	return n, nil
}

// read creates the index of all rows.
func (n *snapshot) read(ctx context.Context) (err error) {
	wrong := n.file.Mistakes()
	if names := n.file.Columns(); names != nil {
		n.columns, err = columnsOf(names, n.chosen, true)
		if err = wrong.Note(err); err == nil {
			err = wrong.Verdict() // no row is valid
		}
		if err != nil {
			return err
		}
	}
	made := &keyindex.Sorter{}
	if n.hasRevisions() {
		made.Order, made.Alike = newestFirst, maxRows+1
	}
	defer func() { err = errors.Join(err, made.Discard()) }()
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
		data := position{at, line}.data()
		if n.hasRevisions() {
			data = rankOf(e.revision).data(position{at, line})
		}
		return made.Add(keyindex.Record{Key: e.key, Data: data})
	})
	if err == nil {
		err = wrong.Verdict()
	}
	if err != nil {
		return err
	}
	n.index, err = made.Index()
	return err
}

func (n *snapshot) retire() error {
	n.retired = true
	if n.users > 0 {
		return nil
	}
	err := n.file.Close()
	if n.index != nil {
		err = errors.Join(err, n.index.Close())
	}
	return err
}

// errClosed means that a source is used after Close.
var errClosed = errors.New("the source is closed")

// use returns the current table, and a function that releases it. If the file is missing, it
// returns an error if mustBeThere is true, else the last table.
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

// find reads the row of an object. It returns an error if the row is missing or has another version.
func (s *Source) find(ctx context.Context, o sources.Object) (e entry, err error) {
	n, done, err := s.use(ctx, false)
	if err != nil {
		return entry{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	same, err := n.index.Find(o.Key)
	if err != nil {
		return entry{}, err
	}
	if o.Version != "" {
		e, err = n.version(same, o.Version)
	} else {
		e, err = n.of(same)
	}
	if err != nil {
		return entry{}, err
	}
	if e.wrong != "" {
		return entry{}, errors.New(e.wrong)
	}
	if _, ok := e.contentTag(o.VersionTag); !ok || !s.asks(e) && (e.versionTag(e.tag) != o.VersionTag || e.size != o.Size) {
		return entry{}, sources.ErrChanged
	}
	return e, nil
}

// of returns the object of the rows of a key: in a table with revisions, the newest one.
func (n *snapshot) of(same []keyindex.Record) (entry, error) {
	if !n.hasRevisions() || len(same) < 2 {
		return n.identical(same)
	}
	return n.newest(same)
}

// identical reads the rows of a key. If they differ, the object has an error.
func (n *snapshot) identical(same []keyindex.Record) (entry, error) {
	if len(same) == 0 {
		return entry{}, fmt.Errorf("its row was removed from the table: %w", os.ErrNotExist)
	}
	var first entry
	for i, r := range same {
		e, err := n.row(r)
		switch {
		case err != nil:
			return entry{}, err
		case i == 0:
			first = e
		case first.wrong == "" && !e.equals(first):
			first.wrong = n.differ(first, e)
		}
	}
	if first.wrong != "" && len(same) == 1 {
		first.wrong = fmt.Sprintf("line %d: %s", first.line, first.wrong)
	}
	return first, nil
}

// row reads a row.
func (n *snapshot) row(r keyindex.Record) (entry, error) {
	_, p := n.split(r.Data)
	from, err := n.file.At(p.at)
	if err != nil {
		return entry{}, err
	}
	e, err := n.entry(from)
	if err != nil || e.key != r.Key {
		return entry{}, n.file.Changed()
	}
	e.line = p.line
	return e, nil
}

// A position is the place of a row in the table.
type position struct {
	at   int64 // offset in bytes
	line int
}

func (p position) data() string {
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(p.at)), uint64(p.line)))
}

func positionOf(data string) position {
	at, n := binary.Uvarint([]byte(data))
	line, _ := binary.Uvarint([]byte(data[n:]))
	return position{int64(at), int(line)}
}

// hosts are the hosts of the URLs of a table, or the first ones of many.
type hosts struct {
	first []string
	cut   bool
}

// maxHosts is the maximum number of hosts in an error.
const maxHosts = 8

func (h *hosts) add(u *contentURL) {
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
