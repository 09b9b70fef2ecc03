package table

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/keyindex"
)

// Objects implements sources.Source.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		return s.list(ctx, after, yield)
	}, func(err error) error { return s.failList(ctx, err) })
}

func (s *Source) list(ctx context.Context, after sources.Key, yield func(sources.Object) error) (err error) {
	n, done, err := s.use(ctx, true)
	if err != nil {
		return err
	}
	defer func() {
		if e := done(); err == nil {
			err = e
		}
	}()
	l := s.ahead(ctx, n, n.index.Groups(after))
	defer l.stop()
	var h health
	for r := range l.results {
		if r.ready != nil {
			<-r.ready
		}
		if r.err != nil {
			return r.err
		}
		if err := h.note(r); err != nil {
			return err
		}
		if err := yield(r.object); err != nil {
			return err
		}
	}
	return h.verdict(after == "")
}

// A result is the next object of a listing, or its end.
type result struct {
	object    sources.Object
	revision  string
	asked     bool
	serverErr error         // an error of the server; nil otherwise
	err       error         // ends the listing
	ready     chan struct{} // closed when the result is complete; nil if it is
}

// An ahead reads ahead of a listing and makes requests for facts that are not in the table.
type ahead struct {
	results chan *result
	stop    func()
}

// ahead starts reading ahead of a listing of groups of rows, with one object each. Results come in
// order; stop ends it.
func (s *Source) ahead(ctx context.Context, n *snapshot, groups iter.Seq2[[]keyindex.Record, error]) ahead {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan *result, 2*s.options.Connections)
	slots := make(chan struct{}, s.options.Connections)
	var all sync.WaitGroup
	all.Go(func() {
		defer close(results)
		for same, err := range groups {
			r := &result{err: err}
			if err == nil {
				s.resolve(ctx, n, same, r, func(ask func()) {
					r.ready = make(chan struct{})
					slots <- struct{}{}
					all.Go(func() {
						defer func() { <-slots; close(r.ready) }()
						ask()
					})
				})
			}
			select {
			case results <- r:
			case <-ctx.Done():
				return
			}
			if r.ready == nil && r.err != nil {
				return
			}
		}
	})
	return ahead{results, func() { cancel(); all.Wait() }}
}

// resolve sets the object of the rows of a key. It passes slow operations to later.
func (s *Source) resolve(ctx context.Context, n *snapshot, same []keyindex.Record, r *result, later func(func())) {
	e, err := n.of(same)
	if err != nil {
		r.err = err
		return
	}
	r.object = sources.Object{Key: e.key, Size: max(e.size, 0), VersionTag: e.versionTag(e.tag), ContentType: e.contentType}
	r.revision = e.revision
	switch {
	case e.wrong != "":
		r.object = sources.Object{Key: e.key, Obstacle: sources.Miswritten.Because(e.wrong)}
	case e.url == nil:
		later(func() { s.look(e, r) })
	case s.asks(e):
		later(func() { s.askFor(ctx, e, r) })
	}
}

// asks reports whether an entry needs a request or a lookup.
func (s *Source) asks(e entry) bool { return e.url == nil || e.size < 0 || s.options.Check }

// look looks up a file.
func (s *Source) look(e entry, r *result) {
	info, err := s.stat(e.path)
	switch {
	case err != nil:
		r.object = sources.Object{Key: e.key, Obstacle: sources.Unreadable.Because(sources.Cause(err).Error())}
	case !info.Mode().IsRegular():
		r.object = sources.Object{Key: e.key, Obstacle: sources.Special}
	default:
		r.object.Size, r.object.VersionTag = info.Size(), e.versionTag(tagOf(info))
	}
}

func (s *Source) stat(path string) (fs.FileInfo, error) {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Stat(filepath.FromSlash(path))
}

// tagOf returns the version tag of a file.
func tagOf(info fs.FileInfo) string { return info.ModTime().UTC().Format(time.RFC3339Nano) }

// askFor requests facts from a server.
func (s *Source) askFor(ctx context.Context, e entry, r *result) {
	r.asked = true
	is, err := s.ask(ctx, e)
	switch {
	case ctx.Err() != nil:
		r.err = context.Cause(ctx)
	case errors.Is(err, retry.ErrDraining):
		r.err = err
	case err != nil:
		err = s.redacted(err)
		if isServerError(err) {
			r.serverErr = err
		}
		r.object = sources.Object{Key: e.key, Obstacle: sources.Unreadable.Because(err.Error())}
	default:
		r.object.Size, r.object.VersionTag = is.size, e.versionTag(is.tag)
		if e.contentType == "" {
			r.object.ContentType = is.contentType
		}
	}
}

// maxServerErrors is the number of server errors in a row that ends a listing.
const maxServerErrors = 10

// health ends a listing when servers do not respond. Otherwise all objects would count as unreadable.
type health struct {
	asked, failed, row int
	last               error
}

func (h *health) note(r *result) error {
	if !r.asked {
		return nil
	}
	h.asked++
	if r.serverErr == nil {
		h.row = 0
		return nil
	}
	h.failed++
	h.row++
	h.last = r.serverErr
	if h.row < maxServerErrors {
		return nil
	}
	return &unavailableError{h.row, h.last}
}

// verdict returns the error at the end of a listing. A resumed listing may have too few objects for
// it.
func (h *health) verdict(whole bool) error {
	if !whole || h.asked == 0 || h.failed < h.asked {
		return nil
	}
	return &unavailableError{h.failed, h.last}
}
