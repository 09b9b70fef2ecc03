package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"assetferry/sources"
	"assetferry/state"
)

// maxKept is how many bytes are kept of what a source has with an object. S3 itself
// allows 2 KB of metadata and ten tags.
const maxKept = 16 << 10

// NotKept begins the remark on an item that is done, but of which the journal lacks
// what the source has with its object.
const NotKept = "what the source has with it was not kept"

// keptWith asks a reader what the source has with its object; nil if that is nothing.
func keptWith(ctx context.Context, r io.Reader) (*sources.Description, error) {
	describer, ok := r.(sources.Describer)
	if !ok {
		return nil, nil
	}
	d, err := describer.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return &d, nil
}

// keep has a receipt keep what the source has with the object. What is too large for
// a journal is left out, and the note says so.
func keep(r *state.Receipt, d *sources.Description) (note string) {
	if d == nil {
		return ""
	}
	kept := &state.Description{ContentType: d.ContentType, Metadata: d.Metadata, Tags: d.Tags}
	if n := keptSize(kept); n > maxKept {
		return fmt.Sprintf("%s: %d bytes, at most %d are", NotKept, n, maxKept)
	}
	if !kept.IsZero() {
		r.Description = kept
	}
	return ""
}

func keptSize(d *state.Description) int {
	if d == nil {
		return 0
	}
	n := len(d.ContentType)
	for _, m := range []map[string]string{d.Metadata, d.Tags} {
		for name, value := range m {
			n += len(name) + len(value)
		}
	}
	return n
}

// keepFound is keep for an item in doubt that was found at the destination: whoever
// sent it cannot tell any more. A source that may answer later leaves it in doubt.
func (a *Applier) keepFound(ctx context.Context, f *finding) {
	if !a.Source.Traits().Describes || f.receipt.Adopted {
		return
	}
	d, err := askAtEnd(ctx, a.Source, f.item.Object)
	switch {
	case err == nil:
		f.remark = keep(f.receipt, d)
	case saysNothing(err):
		f.remark = NotKept + ": " + err.Error()
	default:
		f.receipt, f.err = nil, err
	}
}

// askAtEnd opens an object at its end, where there is little to read.
func askAtEnd(ctx context.Context, s sources.Source, o sources.Object) (*sources.Description, error) {
	r, err := s.Open(ctx, o, o.Size)
	if err != nil {
		return nil, err
	}
	d, err := keptWith(ctx, r)
	return d, errors.Join(err, r.Close())
}

// joined puts texts for people together, of which some may be empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "; ")
}
