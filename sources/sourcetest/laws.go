package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"assetferry/sources"
)

// A law is a property of all sources, with any objects.
type law struct {
	name  string
	check func(context.Context, Fixture) error
}

func laws() []law {
	return []law{
		{"keys ascend", ascends},
		{"keys are unique", comesOnce},
		{"resumes after every key", resumes},
		{"stops when the loop ends", stops},
		{"leaves nothing running", leavesNothing},
		{"returns the cause of cancellation", reportsCause},
		{"an error is last", errorIsLast},
		{"an error comes without an object", errorIsAlone},
		{"objects are plain values", plainValues},
		{"traits are stable", stableTraits},
		{"reads to the listed size", readsAll},
		{"describes as in its traits", describes},
		{"version tags are as in its traits", tags},
	}
}

func ascends(ctx context.Context, f Fixture) error {
	t := list(ctx, f.Source, "", nil)
	for i := 1; i < len(t.objects); i++ {
		if last, o := t.objects[i-1], t.objects[i]; o.Key < last.Key {
			return fmt.Errorf("%q comes after %q", o.Key, last.Key)
		}
	}
	return nil
}

func comesOnce(ctx context.Context, f Fixture) error {
	seen := make(map[sources.Key]bool)
	for _, o := range list(ctx, f.Source, "", nil).objects {
		if seen[o.Key] {
			return fmt.Errorf("%q is listed twice", o.Key)
		}
		seen[o.Key] = true
	}
	return nil
}

func resumes(ctx context.Context, f Fixture) error {
	t := list(ctx, f.Source, "", nil)
	if t.err != nil {
		return t.err
	}
	keys := t.keys()
	for _, after := range cursors(keys) {
		i, found := slices.BinarySearch(keys, after)
		if found {
			i++
		}
		if err := lists(ctx, f.Source, after, keys[i:]); err != nil {
			return err
		}
	}
	return nil
}

// cursors returns the keys, or a few hundred of them, and names between them.
func cursors(keys []sources.Key) []sources.Key {
	list := []sources.Key{"!", "~~~~"}
	for i := 0; i < len(keys); i += 1 + len(keys)/200 {
		k := keys[i]
		_, size := utf8.DecodeLastRuneInString(string(k))
		dir, _ := k.Split()
		list = append(list, k, k[:len(k)-size], k+"!", k+"/", k+"0", sources.Key(dir), sources.Key(dir)+"/~")
	}
	return list
}

func stops(ctx context.Context, f Fixture) error {
	return breakEverywhere(ctx, f.Source, func(n int, t trace) error {
		if t.afterStop > 0 {
			return fmt.Errorf("continued after the loop ended at object %d", n)
		}
		return nil
	})
}

func leavesNothing(ctx context.Context, f Fixture) error {
	list(ctx, f.Source, "", nil) // start permanent goroutines of the source
	f.StopBackground()
	before := goleak.IgnoreCurrent()
	err := breakEverywhere(ctx, f.Source, func(int, trace) error { return nil })
	if err != nil {
		return err
	}
	f.StopBackground()
	return goleak.Find(before)
}

// breakEverywhere ends a listing after the first object, the second and so on, for at most a few
// hundred objects.
func breakEverywhere(ctx context.Context, src sources.Source, check func(n int, t trace) error) error {
	count := len(list(ctx, src, "", nil).objects)
	for end := 1; end <= count; end += 1 + count/200 {
		t := list(ctx, src, "", func(n int) bool { return n < end })
		if err := check(end, t); err != nil {
			return err
		}
	}
	return nil
}

// reportsCause requires the cause even after the last object, because the consumer does not know that
// it was the last one.
func reportsCause(ctx context.Context, f Fixture) error {
	cause := errors.New("cancelled by the suite")
	count := len(list(ctx, f.Source, "", nil).objects)
	for _, at := range []int{0, 1, count / 2, count} {
		if t := cancelAt(ctx, f.Source, at, cause); !errors.Is(t.err, cause) {
			return fmt.Errorf("cancelled at object %d of %d: error is %v, want %v", at, count, t.err, cause)
		}
	}
	return nil
}

func errorIsLast(ctx context.Context, f Fixture) error {
	count := len(list(ctx, f.Source, "", nil).objects)
	if t := cancelAt(ctx, f.Source, count/2, context.Canceled); t.late > 0 {
		return fmt.Errorf("%d values came after the error %v", t.late, t.err)
	}
	return nil
}

func errorIsAlone(ctx context.Context, f Fixture) error {
	count := len(list(ctx, f.Source, "", nil).objects)
	if t := cancelAt(ctx, f.Source, count/2, context.Canceled); t.companion != (sources.Object{}) {
		return fmt.Errorf("%+v comes with the error %v", t.companion, t.err)
	}
	return nil
}

// cancelAt lists a source and cancels the listing in the loop of the n-th object.
func cancelAt(ctx context.Context, src sources.Source, n int, cause error) trace {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if n == 0 {
		cancel(cause)
	}
	return list(ctx, src, "", func(i int) bool {
		if i == n {
			cancel(cause)
		}
		return true
	})
}

func plainValues(ctx context.Context, f Fixture) error {
	first, err := byKey(ctx, f.Source)
	if err != nil {
		return err
	}
	second, err := byKey(ctx, f.Source)
	if err != nil {
		return err
	}
	precision := f.Source.Traits().Precision
	for key, o := range first {
		switch {
		case second[key] != o:
			return fmt.Errorf("%+v is another value in the next listing: %+v", o, second[key])
		case o.Time.Location() != time.UTC:
			return fmt.Errorf("time of %q is not in UTC: %v", key, o.Time)
		case o.Size < 0:
			return fmt.Errorf("size of %q is %d", key, o.Size)
		case o.Obstacle != "":
			continue
		case o.Time.IsZero() != (precision == 0):
			return fmt.Errorf("time of %q is %v, but the precision is %v", key, o.Time, precision)
		}
	}
	return nil
}

func stableTraits(_ context.Context, f Fixture) error {
	if first, second := f.Source.Traits(), f.Source.Traits(); first != second {
		return fmt.Errorf("%+v became %+v", first, second)
	}
	return nil
}

// describes checks that readers return metadata if the traits say so, and that they can be read
// afterwards.
func describes(ctx context.Context, f Fixture) error {
	if !f.Source.Traits().Describes {
		return nil
	}
	return ofEach(ctx, f.Source, describesOne)
}

// tags checks that version tags have both parts if the traits say so.
func tags(ctx context.Context, f Fixture) error {
	if !f.Source.Traits().MetadataTags {
		return nil
	}
	return ofEach(ctx, f.Source, func(_ context.Context, _ sources.Source, o sources.Object) error {
		if of, _, ok := strings.Cut(o.VersionTag, " "); !ok || of == "" {
			return fmt.Errorf("the version tag %q has not the version of the metadata, a space, and that of the content", o.VersionTag)
		}
		return nil
	})
}

func describesOne(ctx context.Context, src sources.Source, o sources.Object) (err error) {
	r, err := src.Open(ctx, o, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	d, ok := r.(sources.Describer)
	if !ok {
		return errors.New("the reader is not a Describer")
	}
	if _, err := d.Describe(ctx); err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, r); err != nil || n != o.Size {
		return errors.Join(fmt.Errorf("read %d bytes after it, %d are listed", n, o.Size), err)
	}
	return nil
}

func readsAll(ctx context.Context, f Fixture) error {
	return ofEach(ctx, f.Source, readsFromAnywhere)
}

// ofEach checks a law for every readable object.
func ofEach(ctx context.Context, src sources.Source, law func(context.Context, sources.Source, sources.Object) error) error {
	objects, err := byKey(ctx, src)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.Obstacle != "" {
			continue
		}
		if err := law(ctx, src, o); err != nil {
			return fmt.Errorf("%q: %w", o.Key, err)
		}
	}
	return nil
}

func readsFromAnywhere(ctx context.Context, src sources.Source, o sources.Object) error {
	whole, err := read(ctx, src, o, 0)
	if err != nil {
		return err
	}
	if int64(len(whole)) != o.Size {
		return fmt.Errorf("read %d bytes, %d are listed", len(whole), o.Size)
	}
	for _, offset := range []int64{o.Size / 2, o.Size} {
		rest, err := read(ctx, src, o, offset)
		if err != nil {
			return fmt.Errorf("from %d of %d: %w", offset, o.Size, err)
		}
		if !bytes.Equal(rest, whole[offset:]) {
			return fmt.Errorf("from %d of %d: read %d bytes that are not the rest", offset, o.Size, len(rest))
		}
	}
	r, err := src.Open(ctx, o, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	return iotest.TestReader(r, whole)
}
