package wordpress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"
	"sync"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/keyindex"
	"assetferry/sources/remote"
)

const mediaRoute = "/wp/v2/media"

// Objects implements sources.Source.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		return s.list(ctx, after, yield)
	}, func(err error) error { return s.fail(ctx, "list", "", err) })
}

func (s *Source) list(ctx context.Context, after sources.Key, yield func(sources.Object) error) (err error) {
	l, release, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e := release(); err == nil {
			err = e
		}
	}()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	found := make(chan *finding, 2*parallel)
	running.Go(func() { s.walk(ctx, l, after, found, &running) })
	failures := 0
	for f := range found {
		<-f.known
		if f.err != nil {
			return f.err
		}
		if failures++; f.failure == nil {
			failures = 0
		}
		if failures == maxFailures {
			return fmt.Errorf("%d files in a row cannot be reached: %w", failures, f.failure)
		}
		if err := yield(f.object); err != nil {
			return err
		}
	}
	return nil
}

// maxFailures is the number of failures of servers in a row that ends a listing. Otherwise all
// objects would count as unreadable.
const maxFailures = 10

// open lists the entries of the site, and makes them the current library.
func (s *Source) open(ctx context.Context) (*library, func() error, error) {
	if err := s.signIn(ctx); err != nil {
		return nil, nil, err
	}
	index, err := s.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	l := &library{index: index}
	release, err := s.keep(l)
	return l, release, err
}

// read sorts the entries of the site by key. Different files with the same key get keys of their
// own, which takes a second pass.
func (s *Source) read(ctx context.Context) (*keyindex.Index, error) {
	index, err := sorted(func(add func(keyindex.Record) error) error { return s.addAll(ctx, add) })
	if err != nil {
		return nil, err
	}
	collide := false
	for same, err := range index.Groups("") {
		if err != nil {
			return nil, errors.Join(err, index.Close())
		}
		collide = collide || len(separate(same)) > 1
	}
	if !collide {
		return index, nil
	}
	again, err := sorted(func(add func(keyindex.Record) error) error { return addSeparately(index, add) })
	return again, errors.Join(err, index.Close())
}

// sorted returns the records of a function in the order of keys.
func sorted(all func(add func(keyindex.Record) error) error) (index *keyindex.Index, err error) {
	sorter := &keyindex.Sorter{}
	if err = all(sorter.Add); err == nil {
		index, err = sorter.Index()
	}
	return index, errors.Join(err, sorter.Discard())
}

// addAll adds all entries of the site.
func (s *Source) addAll(ctx context.Context, add func(keyindex.Record) error) error {
	keys := keysOf(s)
	for item, err := range s.client.List(ctx, mediaRoute, s.query()) {
		if err != nil {
			return err
		}
		e, err := decode(item)
		if err != nil {
			return err
		}
		if err := keys.add(ctx, e, add); err != nil {
			return err
		}
	}
	return keys.flush(ctx, add)
}

// decode decodes an entry.
func decode(item json.RawMessage) (e entry, err error) {
	if err := json.Unmarshal(item, &e); err != nil {
		return e, &remote.Failure{Err: fmt.Errorf("an entry of the media library does not have the form of the REST API of WordPress: %w", err), Kind: retry.Permanent}
	}
	return e, nil
}

// entriesIn decodes records.
func entriesIn(same []keyindex.Record) []entry {
	all := make([]entry, len(same))
	for n, r := range same {
		all[n] = decoded(r)
	}
	return all
}

func decoded(r keyindex.Record) (e entry) {
	if err := json.Unmarshal([]byte(r.Data), &e); err != nil {
		panic(err) // encoded by this package
	}
	return e
}

// separate divides records of one key by the URL of their content, in order.
func separate(same []keyindex.Record) (all [][]keyindex.Record) {
	places := map[string]int{}
	for _, r := range same {
		e := decoded(r)
		place := e.contentURLs()[0]
		n, ok := places[place]
		if !ok {
			n = len(all)
			places[place] = n
			all = append(all, nil)
		}
		all[n] = append(all[n], r)
	}
	return all
}

// addSeparately adds all records of an index. The oldest of several files with one key keeps it.
func addSeparately(index *keyindex.Index, add func(keyindex.Record) error) error {
	for same, err := range index.Groups("") {
		if err != nil {
			return err
		}
		for n, group := range separate(same) {
			if n > 0 {
				rename(group)
			}
			for _, r := range group {
				if err := add(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// rename adds the ID of the oldest entry of a file to its key.
func rename(group []keyindex.Record) {
	id := decoded(group[0]).ID
	for n, r := range group {
		extension := path.Ext(string(r.Key))
		group[n].Key = sources.Key(fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(string(r.Key), extension), id, extension))
	}
}

func idsOf(all []entry) string {
	ids := make([]string, len(all))
	for n, e := range all {
		ids[n] = strconv.FormatInt(e.ID, 10)
	}
	return strings.Join(ids, ",")
}

// A finding is an object whose facts are requested.
type finding struct {
	object  sources.Object
	failure error         // of a server, or nil
	err     error         // ends the listing
	known   chan struct{} // closed when the rest is set
}

// walk sends the objects of a library in order, and requests their facts ahead of the consumer.
func (s *Source) walk(ctx context.Context, l *library, after sources.Key, found chan<- *finding, running *sync.WaitGroup) {
	defer close(found)
	slots := make(chan struct{}, parallel)
	for same, err := range l.index.Groups(after) {
		f := &finding{err: err, known: make(chan struct{})}
		select {
		case found <- f:
		case <-ctx.Done():
			return
		}
		if err != nil {
			close(f.known)
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			close(f.known)
			return
		}
		running.Go(func() {
			defer func() { <-slots; close(f.known) }()
			s.look(ctx, same, f)
		})
	}
}

// look requests the facts of an object.
func (s *Source) look(ctx context.Context, same []keyindex.Record, f *finding) {
	all := entriesIn(same)
	e := all[0]
	f.object = sources.Object{Key: same[0].Key, Time: e.modified(), ContentType: e.MIMEType}
	is, err := s.facts(ctx, e)
	switch {
	case ctx.Err() != nil:
		f.err = context.Cause(ctx)
	case errors.Is(err, retry.ErrDraining):
		f.err = err
	case err != nil:
		text := s.client.Redact(err.Error())
		if errors.Is(err, fs.ErrNotExist) {
			text = "the file is missing at the site: " + text
		} else if isServerFailure(err) {
			f.failure = err
		}
		f.object.Obstacle = sources.Unreadable.Because(text)
	default:
		f.object.Size = is.size
		f.object.VersionTag = tag{idsOf(all), metadataVersion(all), is.validator}.String()
	}
}
