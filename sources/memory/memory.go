// Package memory is a source in a map, for tests and as the reference implementation.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"assetferry/sources"
)

// A Source is a set of objects that tests can change during reading. The zero value is empty and
// ready to use.
type Source struct {
	mu      sync.RWMutex
	items   map[sources.Key]item
	changes int // number of Puts, for version tags and times
	missing bool

	// Versioned keeps the previous content of replaced objects as versions. It is set before the
	// first Put.
	Versioned bool
}

// An item is replaced, never changed, so that readers need no lock.
type item struct {
	object  sources.Object
	content []byte
	older   []item // versions, the newest first
}

// Put stores content under a key, with a time one second after the last one, and returns the object.
func (s *Source) Put(key sources.Key, content []byte) sources.Object {
	return s.PutObject(sources.Object{Key: key}, content)
}

// PutObject stores an object with the size of the content, a new version tag, and a time if it has
// none. An object with an obstacle keeps its size.
func (s *Source) PutObject(o sources.Object, content []byte) sources.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(o, content)
}

func (s *Source) put(o sources.Object, content []byte) sources.Object {
	if s.items == nil {
		s.items = make(map[sources.Key]item)
	}
	s.missing = false
	s.changes++
	if o.Obstacle == "" {
		o.Size = int64(len(content))
		o.VersionTag = strconv.Itoa(s.changes)
		if o.Time.IsZero() {
			o.Time = time.Date(2026, 1, 1, 0, 0, s.changes, 0, time.UTC)
		}
	}
	var older []item
	if was, ok := s.items[o.Key]; ok && s.Versioned {
		was.object.Version = was.object.VersionTag
		older, was.older = append([]item{was}, was.older...), nil
	}
	s.items[o.Key] = item{o, slices.Clone(content), older}
	return o
}

// Delete removes an object, if it exists.
func (s *Source) Delete(key sources.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, key)
}

// Replace replaces all objects.
func (s *Source) Replace(contents map[sources.Key][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.items)
	s.missing = false
	for key, content := range contents {
		s.put(sources.Object{Key: key}, content)
	}
}

// Vanish removes the source itself, until the next Put.
func (s *Source) Vanish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.items)
	s.missing = true
}

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Second}
}

// Objects implements sources.Source. It lists the objects at the beginning of the loop.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		objects, err := s.snapshot(after)
		for _, o := range objects {
			if err := yield(o); err != nil {
				return err
			}
		}
		return err
	}, func(err error) error { return err })
}

// snapshot returns the objects after a key, in order.
func (s *Source) snapshot(after sources.Key) ([]sources.Object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.missing {
		return nil, fail("list", "", fs.ErrNotExist)
	}
	objects := make([]sources.Object, 0, len(s.items))
	for _, i := range s.items {
		objects = append(objects, i.object)
	}
	slices.SortFunc(objects, func(a, b sources.Object) int { return cmp.Compare(a.Key, b.Key) })
	first, found := slices.BinarySearchFunc(objects, after, func(o sources.Object, k sources.Key) int { return cmp.Compare(o.Key, k) })
	if found {
		first++
	}
	return objects[first:], nil
}

// Open implements sources.Source.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.RLock()
	current, ok := s.items[o.Key]
	s.mu.RUnlock()
	if ok && o.Version != "" {
		current, ok = current.version(o.Version)
	}
	switch {
	case !ok:
		return nil, fail("open", o.Key, fs.ErrNotExist)
	case current.object.Obstacle != "":
		return nil, fail("open", o.Key, explain(current.object.Obstacle))
	case current.object.VersionTag != o.VersionTag:
		return nil, fail("open", o.Key, sources.ErrChanged)
	}
	if err := o.CheckOffset(offset); err != nil {
		return nil, fail("open", o.Key, err)
	}
	return &reader{ctx, current.content[offset:]}, nil
}

// version returns an older version.
func (i item) version(id string) (item, bool) {
	for _, v := range i.older {
		if v.object.Version == id {
			return v, true
		}
	}
	return item{}, false
}

// KeepsVersions implements sources.Historian.
func (s *Source) KeepsVersions(context.Context) (bool, error) { return s.Versioned, nil }

// Versions implements sources.Historian.
func (s *Source) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		s.mu.RLock()
		older := s.items[o.Key].older
		s.mu.RUnlock()
		for _, v := range older {
			if err := yield(v.object); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) error { return err })
}

// DropVersions removes older versions of an object that are chosen by their content.
func (s *Source) DropVersions(key sources.Key, drop func(content []byte) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.items[key]
	i.older = slices.DeleteFunc(slices.Clone(i.older), func(v item) bool { return drop(v.content) })
	s.items[key] = i
}

// DropVersion removes an older version of an object.
func (s *Source) DropVersion(o sources.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.items[o.Key]
	i.older = slices.DeleteFunc(slices.Clone(i.older), func(v item) bool { return v.object.Version == o.Version })
	s.items[o.Key] = i
}

// explain returns the error of an obstacle.
func explain(o sources.Obstacle) error {
	if o == sources.Unreadable {
		return fmt.Errorf("%s: %w", o, fs.ErrPermission)
	}
	return errors.New(string(o))
}

func fail(op string, key sources.Key, err error) error {
	return &sources.Error{Op: op, Source: "memory", Key: key, Err: err}
}

// A reader reads the version at the time of Open.
type reader struct {
	ctx  context.Context
	left []byte
}

func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (r *reader) Close() error { return nil }
