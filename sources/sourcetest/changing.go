package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"assetferry/sources"
)

// changing is a source with a listed object that will change.
type changing struct {
	Fixture
	object sources.Object
	before []byte // its content
}

func (s suite) changing(ctx context.Context, content []byte) (changing, error) {
	const key = "dir/changing"
	f, _ := s.fixture(append(sample(), File{key, content}))
	o, err := find(ctx, f.Source, key)
	if err != nil {
		return changing{}, err
	}
	before, err := read(ctx, f.Source, o, 0)
	return changing{f, o, before}, err
}

func (c changing) put(content []byte) error {
	if c.Put == nil {
		return fmt.Errorf("storing an object: %w", errors.ErrUnsupported)
	}
	return c.Put(File{c.object.Key, content})
}

func (c changing) remove() error {
	if c.Remove == nil {
		return fmt.Errorf("removing an object: %w", errors.ErrUnsupported)
	}
	return c.Remove(c.object.Key)
}

// refuses checks that opening or reading the listed version fails with an error, or delivers it if
// versions are pinned.
func (c changing) refuses(ctx context.Context, want error) error {
	got, err := read(ctx, c.Source, c.object, 0)
	switch {
	case errors.Is(err, want):
		return nil
	case err != nil:
		return fmt.Errorf("error is %q, want %q", err, want)
	case !c.Source.Traits().PinsVersions:
		return fmt.Errorf("read %d bytes, want %q", len(got), want)
	case !bytes.Equal(got, c.before):
		return errors.New("the pinned version has other content")
	}
	return nil
}

// readWhile reads the object, and calls change after the first bytes.
func (c changing) readWhile(ctx context.Context, change func()) ([]byte, error) {
	r, err := c.Source.Open(ctx, c.object, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	start := make([]byte, 1000)
	n, err := io.ReadFull(r, start)
	if err != nil {
		return nil, err
	}
	change()
	rest, err := io.ReadAll(r)
	return append(start[:n], rest...), err
}
