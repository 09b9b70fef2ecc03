package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"testing"

	"assetferry/migrate"
	"assetferry/sources"
)

// A lister changes the listing of a source.
type lister struct {
	sources.Source
	list func([]sources.Object) ([]sources.Object, error)
}

func (l lister) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		var all []sources.Object
		for o, err := range l.Source.Objects(ctx, after) {
			if err != nil {
				yield(sources.Object{}, err)
				return
			}
			all = append(all, o)
		}
		all, err := l.list(all)
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
		if err != nil {
			yield(sources.Object{}, err)
		}
	}
}

// TestListingsThatMisbehave verifies that a listing that is wrong at any position never causes a
// wrong upload, and that everything is uploaded once as soon as the source is healthy again.
func TestListingsThatMisbehave(t *testing.T) {
	t.Parallel()
	unhealthy := errors.New("the share has gone away")
	const objects = 5
	for name, tc := range map[string]struct {
		list    func(at int, all []sources.Object) ([]sources.Object, error)
		refused string // what the error says; empty if the mistake cannot be detected
	}{
		"repeats a key": {func(at int, all []sources.Object) ([]sources.Object, error) {
			return append(all[:at+1:at+1], all[at:]...), nil
		}, "not sorted"},
		"goes back to the beginning": {func(at int, all []sources.Object) ([]sources.Object, error) {
			return append(all[:at+1:at+1], all...), nil
		}, "not sorted"},
		"swaps two keys": {func(at int, all []sources.Object) ([]sources.Object, error) {
			all[at], all[(at+1)%len(all)] = all[(at+1)%len(all)], all[at]
			return all, nil
		}, "not sorted"},
		"ends early": {func(at int, all []sources.Object) ([]sources.Object, error) {
			return all[:at+1], nil
		}, ""},
		"fails midway": {func(at int, all []sources.Object) ([]sources.Object, error) {
			return all[:at], unhealthy
		}, unhealthy.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			for at := range objects {
				w := newWorld(t)
				var want []placed
				for n := range objects {
					key := fmt.Sprintf("%d.jpg", n)
					w.put(key, key)
					want = append(want, placed{"Images", "", key, checksum(key)})
				}
				d := w.deps()
				d.Source = lister{w.source, func(all []sources.Object) ([]sources.Object, error) { return tc.list(at, all) }}
				_, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
				switch {
				case tc.refused == "" && err != nil:
					t.Errorf("at %d: %v", at, err)
				case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)):
					t.Errorf("at %d: got %v, want %q", at, err, tc.refused)
				case tc.refused != "" && w.requests()["POST /assets"] > 0:
					t.Errorf("at %d: something was sent", at)
				}
				w.migrate(migrate.DefaultRules())
				w.wantAssets(want)
				w.close()
			}
		})
	}
}

// TestFileAndFolderOfOneName verifies that a source may list both an object and a folder of the
// same name, as object stores do.
func TestFileAndFolderOfOneName(t *testing.T) {
	w := newWorld(t)
	w.put("foo.jpg", "a file", "foo.jpg/bar.jpg", "below it", "foo.jpg/foo.jpg/bar.jpg", "deeper")
	w.migrate(migrate.DefaultRules())
	w.wantAssets([]placed{
		{"Images", "", "foo.jpg", checksum("a file")}, {"Images", "foo.jpg", "bar.jpg", checksum("below it")},
		{"Images", "foo.jpg/foo.jpg", "bar.jpg", checksum("deeper")},
	})
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"unchanged skipped": 3})
}

// An opener changes the content of objects, whatever was listed.
type opener struct {
	sources.Source
	open func(content string) (io.Reader, error)
}

func (s opener) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	r, err := s.Source.Open(ctx, o, offset)
	if err != nil || o.Key != "b.jpg" {
		return r, err
	}
	content, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	changed, err := s.open(string(content))
	if err != nil {
		return nil, err
	}
	return io.NopCloser(changed), nil
}

// endsWith returns a reader that fails with err after a text.
func endsWith(text string, err error) io.Reader {
	return io.MultiReader(strings.NewReader(text), &brokenReader{err})
}

type brokenReader struct{ err error }

func (f *brokenReader) Read([]byte) (int, error) { return 0, f.err }

// TestObjectsThatMisbehave verifies that an object whose content differs from its listing never
// becomes an asset, and does not delay other items.
func TestObjectsThatMisbehave(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		open func(content string) (io.Reader, error)
		want string
	}{
		"shrinks":                  {func(c string) (io.Reader, error) { return strings.NewReader(c[:len(c)-1]), nil }, "changed"},
		"shrinks to nothing":       {func(string) (io.Reader, error) { return strings.NewReader(""), nil }, "changed"},
		"grows":                    {func(c string) (io.Reader, error) { return strings.NewReader(c + "x"), nil }, "changed"},
		"changes while it is read": {func(c string) (io.Reader, error) { return endsWith(c, sources.ErrChanged), nil }, "changed"},
		"is gone":                  {func(string) (io.Reader, error) { return nil, fs.ErrNotExist }, "changed"},
		"may not be read":          {func(string) (io.Reader, error) { return nil, fs.ErrPermission }, "failed"},
		"cannot be read":           {func(string) (io.Reader, error) { return nil, errors.New("input/output error") }, "failed"},
		"cannot be read to its end": {func(c string) (io.Reader, error) {
			return endsWith(c[:3], errors.New("input/output error")), nil
		}, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.jpg", "the first", "b.jpg", "the second", "c.jpg", "the third")
			d := w.deps()
			d.Source = opener{w.source, tc.open}
			plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
			must(t, err)
			w.wantStates(plan, map[string]int64{"create done": 2, "create " + tc.want: 1})
			w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("the first")}, {"Images", "", "c.jpg", checksum("the third")}})
			if i := w.item(plan, "b.jpg"); i.Error == "" {
				t.Error("it is not said why")
			}
			w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 1, "unchanged skipped": 2})
		})
	}
}
