package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"assetferry/sources"
)

// contentCases returns the cases that need known content, or change it.
func contentCases() []testCase {
	return []testCase{
		{"lists an empty source", listsNothing},
		{"lists one object", listsOne},
		{"lists more than a page", listsMany},
		{"accepts unusual keys", takesHostile},
		{"reads zero bytes", readsZero},
		{"reads what was stored", readsStored},
		{"refuses another version", refusesOther},
		{"refuses a deleted object", refusesRemoved},
		{"does not mix versions", doesNotMix},
		{"lists current objects", walksAfresh},
		{"allows parallel use", usedByMany},
		{"reports a missing source", isNotThere},
	}
}

func listsNothing(ctx context.Context, s suite) error {
	f, _ := s.fixture(nil)
	return lists(ctx, f.Source, "", nil)
}

func listsOne(ctx context.Context, s suite) error {
	f, files := s.fixture(sample()[:1])
	return lists(ctx, f.Source, "", keysOf(files))
}

func listsMany(ctx context.Context, s suite) error {
	f, files := s.fixture(series(s.many))
	return lists(ctx, f.Source, "", keysOf(files))
}

func keysOf(files []File) []sources.Key {
	var keys []sources.Key
	for _, f := range files {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return keys
}

func takesHostile(ctx context.Context, s suite) error {
	f, files := s.fixture(hostile())
	objects, err := byKey(ctx, f.Source)
	if err != nil {
		return err
	}
	for _, file := range files {
		o, ok := objects[file.Key]
		if !ok {
			return fmt.Errorf("%q is not listed", file.Key)
		}
		if o.Size != int64(len(file.Content)) {
			return fmt.Errorf("%q has %d bytes, want %d", file.Key, o.Size, len(file.Content))
		}
		if _, err := read(ctx, f.Source, o, 0); err != nil {
			return fmt.Errorf("%q: %w", file.Key, err)
		}
	}
	return nil
}

func readsZero(ctx context.Context, s suite) error {
	f, _ := s.fixture(append(sample(), File{Key: "zero"}))
	o, err := find(ctx, f.Source, "zero")
	if err != nil {
		return err
	}
	content, err := read(ctx, f.Source, o, 0)
	if o.Size != 0 || len(content) != 0 || err != nil {
		return fmt.Errorf("listed size %d, read %d bytes and %v", o.Size, len(content), err)
	}
	return nil
}

func readsStored(ctx context.Context, s suite) error {
	f, files := s.fixture(append(sample(), File{"large", noise(3<<20 + 1)}))
	objects, err := byKey(ctx, f.Source)
	if err != nil {
		return err
	}
	for _, file := range files {
		got, err := read(ctx, f.Source, objects[file.Key], 0)
		if err != nil {
			return err
		}
		if len(got) == len(file.Content) && !bytes.Equal(got, file.Content) {
			return fmt.Errorf("%q has other content", file.Key)
		}
	}
	return nil
}

// noise returns content with a long period, so that misplaced pieces are detected.
func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 7)
	}
	return b
}

func refusesOther(ctx context.Context, s suite) error {
	for _, now := range []string{"new", "newer", ""} {
		c, err := s.changing(ctx, []byte("old"))
		if err != nil {
			return err
		}
		if err := c.put([]byte(now)); err != nil {
			return err
		}
		if err := c.refuses(ctx, sources.ErrChanged); err != nil {
			return fmt.Errorf("old became %q: %w", now, err)
		}
	}
	return nil
}

func refusesRemoved(ctx context.Context, s suite) error {
	c, err := s.changing(ctx, []byte("old"))
	if err != nil {
		return err
	}
	if err := c.remove(); err != nil {
		return err
	}
	return c.refuses(ctx, fs.ErrNotExist)
}

// doesNotMix changes an object during reading. The reader must deliver the complete listed version
// or an error, but never a mix or a part that seems complete.
func doesNotMix(ctx context.Context, s suite) error {
	old := noise(2 << 20)
	for _, now := range [][]byte{bytes.Repeat([]byte("n"), len(old)), []byte("shorter"), noise(3 << 20)} {
		c, err := s.changing(ctx, old)
		if err != nil {
			return err
		}
		var putErr error
		got, err := c.readWhile(ctx, func() { putErr = c.put(now) })
		if putErr != nil {
			return putErr
		}
		if err == nil && !bytes.Equal(got, c.before) {
			return fmt.Errorf("read %d bytes that are not the listed version of %d, without an error", len(got), len(c.before))
		}
	}
	return nil
}

func walksAfresh(ctx context.Context, s suite) error {
	c, err := s.changing(ctx, nil)
	if err != nil {
		return err
	}
	t := list(ctx, c.Source, "", nil)
	if err := c.remove(); err != nil {
		return err
	}
	keys := slices.DeleteFunc(t.keys(), func(k sources.Key) bool { return k == c.object.Key })
	if err := lists(ctx, c.Source, "", keys); err != nil {
		return fmt.Errorf("after it was removed: %w", err)
	}
	if err := c.put(nil); err != nil {
		return err
	}
	if err := lists(ctx, c.Source, "", t.keys()); err != nil {
		return fmt.Errorf("after it was stored: %w", err)
	}
	return nil
}

// usedByMany reads every object twice in parallel, and lists and reads from several goroutines, for
// the race detector.
func usedByMany(ctx context.Context, s suite) error {
	f, _ := s.fixture(sample())
	objects, err := byKey(ctx, f.Source)
	if err != nil {
		return err
	}
	contents := make(map[sources.Key][]byte)
	for key, o := range objects {
		if contents[key], err = read(ctx, f.Source, o, 0); err != nil {
			return err
		}
		if err := readTwice(ctx, f.Source, o, contents[key]); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
	}
	var (
		wg   sync.WaitGroup
		errs = make([]error, 8)
	)
	for i := range errs {
		wg.Go(func() { errs[i] = readsThese(ctx, f.Source, contents) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func readTwice(ctx context.Context, src sources.Source, o sources.Object, want []byte) error {
	first, err := src.Open(ctx, o, 0)
	if err != nil {
		return err
	}
	defer first.Close()
	second, err := read(ctx, src, o, 0)
	if err != nil {
		return fmt.Errorf("while it is open: %w", err)
	}
	got, err := io.ReadAll(first)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) || !bytes.Equal(second, want) {
		return errors.New("two parallel readers return other content than one")
	}
	return nil
}

func readsThese(ctx context.Context, src sources.Source, contents map[sources.Key][]byte) error {
	objects, err := byKey(ctx, src)
	if err != nil {
		return err
	}
	for key, want := range contents {
		got, err := read(ctx, src, objects[key], 0)
		if err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%q has other content with parallel readers", key)
		}
	}
	return nil
}

func isNotThere(ctx context.Context, s suite) error {
	f, _ := s.fixture(sample())
	if f.Vanish == nil {
		return fmt.Errorf("taking the source away: %w", errors.ErrUnsupported)
	}
	if err := f.Vanish(); err != nil {
		return err
	}
	if t := list(ctx, f.Source, "", nil); !errors.Is(t.err, fs.ErrNotExist) {
		return fmt.Errorf("listing ends with %v, want %v", t.err, fs.ErrNotExist)
	}
	return nil
}
