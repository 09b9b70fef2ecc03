package sourcetest

import (
	"context"
	"fmt"
	"io"
	"slices"

	"assetferry/sources"
)

// A trace records a listing, including forbidden behaviour.
type trace struct {
	objects   []sources.Object
	err       error
	companion sources.Object // yielded with the error
	late      int            // yields after the error
	afterStop int            // yields after the loop ended
}

// list lists a source. After each object it calls more, if set, with the number of objects so far,
// and ends the loop if that returns false.
func list(ctx context.Context, src sources.Source, after sources.Key, more func(n int) bool) trace {
	var (
		t       trace
		stopped bool
	)
	src.Objects(ctx, after)(func(o sources.Object, err error) bool {
		switch {
		case stopped:
			t.afterStop++
		case t.err != nil:
			t.late++
		case err != nil:
			t.err, t.companion = err, o
		default:
			t.objects = append(t.objects, o)
			stopped = more != nil && !more(len(t.objects))
		}
		return !stopped
	})
	return t
}

// keys returns the sorted set of listed keys, so that each law detects only its own violation.
func (t trace) keys() []sources.Key {
	keys := make([]sources.Key, len(t.objects))
	for i, o := range t.objects {
		keys[i] = o.Key
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// byKey returns the listing of a source as a map.
func byKey(ctx context.Context, src sources.Source) (map[sources.Key]sources.Object, error) {
	t := list(ctx, src, "", nil)
	objects := make(map[sources.Key]sources.Object, len(t.objects))
	for _, o := range t.objects {
		objects[o.Key] = o
	}
	return objects, t.err
}

// find returns the object with a key.
func find(ctx context.Context, src sources.Source, key sources.Key) (sources.Object, error) {
	objects, err := byKey(ctx, src)
	if err != nil {
		return sources.Object{}, err
	}
	o, ok := objects[key]
	if !ok {
		return o, fmt.Errorf("%q is not listed", key)
	}
	return o, nil
}

// lists returns an error if the listing after a key differs from the wanted keys.
func lists(ctx context.Context, src sources.Source, after sources.Key, want []sources.Key) error {
	t := list(ctx, src, after, nil)
	if t.err != nil {
		return fmt.Errorf("listing after %q: %w", after, t.err)
	}
	got := t.keys()
	for _, k := range got {
		if _, ok := slices.BinarySearch(want, k); !ok {
			return fmt.Errorf("listing after %q has %q, which it should not", after, k)
		}
	}
	for _, k := range want {
		if _, ok := slices.BinarySearch(got, k); !ok {
			return fmt.Errorf("listing after %q lacks %q", after, k)
		}
	}
	return nil
}

// read reads an object from an offset to its end.
func read(ctx context.Context, src sources.Source, o sources.Object, offset int64) ([]byte, error) {
	r, err := src.Open(ctx, o, offset)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}
