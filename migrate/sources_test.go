package migrate_test

import (
	"context"
	"errors"
	"iter"

	"assetferry/sources"
)

var errBroken = errors.New("the disk is gone")

// A breaking source fails at a key, and remembers where its last listing began.
type breaking struct {
	sources.Source
	at    sources.Key
	after sources.Key
}

func (b *breaking) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	b.after = after
	return func(yield func(sources.Object, error) bool) {
		for o, err := range b.Source.Objects(ctx, after) {
			if err == nil && o.Key >= b.at {
				yield(sources.Object{}, errBroken)
				return
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// A disorderly source lists everything twice.
type disorderly struct{ sources.Source }

func (d disorderly) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for range 2 {
			for o, err := range d.Source.Objects(ctx, after) {
				if !yield(o, err) {
					return
				}
			}
		}
	}
}
