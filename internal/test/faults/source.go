package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"assetferry/sources"
)

// The operations of a source, as in sources.Error.
const (
	list = "list"
	open = "open"
	read = "read"
)

// A Source wraps another source and makes one operation fail: a step of a listing, an Open, or a
// Read.
type Source struct {
	sources.Source
	*Moment
	Kind SourceKind
}

// A SourceKind is a way for a source to fail.
type SourceKind struct {
	Name string
	err  error
	ops  []string // the operations that can fail in this way
}

// SourceKinds returns all ways for a source to fail.
func SourceKinds() []SourceKind {
	return []SourceKind{
		{"error", errors.New("input/output error"), []string{list, open, read}},
		{"permission", fs.ErrPermission, []string{list, open, read}},
		{"not there", fs.ErrNotExist, []string{list, open, read}},
		{"short read", io.ErrUnexpectedEOF, []string{read}},
		{"changed", sources.ErrChanged, []string{open, read}},
	}
}

// fail counts an operation of the kind, and returns an error if it is the one that fails.
func (s *Source) fail(op string, key sources.Key) error {
	if !slices.Contains(s.Kind.ops, op) || !s.comes() {
		return nil
	}
	return &sources.Error{Op: op, Source: "faults", Key: key, Err: fmt.Errorf("%w: %w", Err, s.Kind.err)}
}

// Objects implements sources.Source. The listing may fail before each object and at its end.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for o, err := range s.Source.Objects(ctx, after) {
			if e := s.fail(list, ""); e != nil {
				yield(sources.Object{}, e)
				return
			}
			if !yield(o, err) {
				return
			}
		}
		if err := s.fail(list, ""); err != nil {
			yield(sources.Object{}, err)
		}
	}
}

// Open implements sources.Source.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if err := s.fail(open, o.Key); err != nil {
		return nil, err
	}
	r, err := s.Source.Open(ctx, o, offset)
	if err != nil {
		return nil, err
	}
	return &reader{r, s, o.Key}, nil
}

// KeepsVersions implements sources.Historian.
func (s *Source) KeepsVersions(ctx context.Context) (bool, error) {
	h, ok := s.Source.(sources.Historian)
	if !ok {
		return false, nil
	}
	return h.KeepsVersions(ctx)
}

// Versions implements sources.Historian. The listing may fail like that of objects.
func (s *Source) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		if err := s.fail(list, o.Key); err != nil {
			yield(sources.Object{}, err)
			return
		}
		if h, ok := s.Source.(sources.Historian); ok {
			h.Versions(ctx, o)(yield)
		}
	}
}

type reader struct {
	io.ReadCloser
	source *Source
	key    sources.Key
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.source.fail(read, r.key); err != nil {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}
