package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
	"assetferry/sources/memory"
)

// TestTeeth breaks each promise once, and wants exactly its case to notice.
func TestTeeth(t *testing.T) {
	for _, b := range append(breaches(), versionBreaches()...) {
		t.Run(b.name, func(t *testing.T) {
			s := newSuite(func(tb testing.TB, files []File) Fixture {
				return newFixture(files, b.apply)
			}, []Option{Many(1001)}).on(t)
			var got []string
			for _, c := range cases() {
				if err := c.run(t.Context(), s); err != nil && !errors.Is(err, errors.ErrUnsupported) {
					got = append(got, c.name)
					t.Log(c.name+":", err)
				}
			}
			if diff := cmp.Diff(b.want, got); diff != "" {
				t.Errorf("failing cases (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryCaseHasTeeth verifies that for each case there is a broken source that fails it.
func TestEveryCaseHasTeeth(t *testing.T) {
	var broken []string
	for _, b := range append(breaches(), versionBreaches()...) {
		broken = append(broken, b.want...)
	}
	for _, c := range cases() {
		if !slices.Contains(broken, c.name) {
			t.Errorf("no breach of %q", c.name)
		}
	}
}

func TestCheck(t *testing.T) {
	src := new(memory.Source)
	src.Put("b", []byte("content"))
	src.Put("a", nil)
	src.PutObject(sources.Object{Key: "c", Obstacle: sources.Unreadable}, nil)
	if err := Check(t.Context(), src, "c", "a", "b"); err != nil {
		t.Errorf("a good source: %v", err)
	}
	if err := Check(t.Context(), src, "a", "b"); err == nil {
		t.Error("a source with one key too many passes")
	}
	if err := Check(t.Context(), src, "a", "b", "c", "d"); err == nil {
		t.Error("a source that lacks a key passes")
	}
	err := Check(t.Context(), &double{Source: src, objects: unsorted(src)})
	if want := "keys ascend: \"b\" comes after \"c\""; err == nil || err.Error() != want {
		t.Errorf("unsorted: got %v, want %s", err, want)
	}
}

func TestFixturesHoldOnlyWhatIsStorable(t *testing.T) {
	storable := func(keys ...sources.Key) bool { return !slices.Contains(keys, "a-b") }
	s := newSuite(func(_ testing.TB, files []File) Fixture {
		return newFixture(files, func(*double) {})
	}, []Option{Storable(storable), Many(10)}).on(t)
	f, files := s.fixture(sample())
	want := slices.DeleteFunc(keysOf(sample()), func(k sources.Key) bool { return k == "a-b" })
	if diff := cmp.Diff(want, keysOf(files)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if err := Check(t.Context(), f.Source, want...); err != nil {
		t.Error(err)
	}
	if s.many != 10 {
		t.Errorf("many is %d", s.many)
	}
}

// TestCasesThatNeedChangesSayThatTheyCannotRun verifies that a case that cannot run is skipped, and
// neither passes nor fails.
func TestCasesThatNeedChangesSayThatTheyCannotRun(t *testing.T) {
	s := newSuite(func(_ testing.TB, files []File) Fixture {
		return Fixture{Source: newFixture(files, func(*double) {}).Source}
	}, nil).on(t)
	var got []string
	for _, c := range cases() {
		if err := c.run(t.Context(), s); errors.Is(err, errors.ErrUnsupported) {
			got = append(got, c.name)
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	want := []string{"refuses another version", "refuses a deleted object", "does not mix versions", "lists current objects", "reports a missing source"}
	for _, c := range versionCases() {
		want = append(want, c.name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unsupported cases (-want +got):\n%s", diff)
	}
}

func newFixture(files []File, breach func(*double)) Fixture {
	src := new(memory.Source)
	for _, f := range files {
		src.Put(f.Key, f.Content)
	}
	d := &double{Source: src, objects: src.Objects, open: src.Open, traits: src.Traits}
	breach(d)
	f := Fixture{
		Source: d,
		Put:    func(f File) error { src.Put(f.Key, f.Content); return nil },
		Remove: func(k sources.Key) error { src.Delete(k); return nil },
		Vanish: func() error { src.Vanish(); return nil },
	}
	if d.versions != nil { // or the cases for versions would notice breaches of others
		f.KeepVersions = func() error { src.Versioned = true; return nil }
		f.DropVersion = func(o sources.Object) error { src.DropVersion(o); return nil }
	}
	return f
}

// A double is a source in memory whose methods a breach replaces.
type double struct {
	*memory.Source
	objects objectsFunc
	open    openFunc
	traits  func() sources.Traits

	versions versionsFunc // nil: no versions
	keeps    bool
}

type (
	versionsFunc = func(context.Context, sources.Object) iter.Seq2[sources.Object, error]

	objectsFunc = func(context.Context, sources.Key) iter.Seq2[sources.Object, error]
	openFunc    = func(context.Context, sources.Object, int64) (io.ReadCloser, error)
)

func (d *double) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return d.objects(ctx, after)
}

func (d *double) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if d.open == nil {
		return d.Source.Open(ctx, o, offset)
	}
	return d.open(ctx, o, offset)
}

func (d *double) Traits() sources.Traits {
	if d.traits == nil {
		return d.Source.Traits()
	}
	return d.traits()
}

func (d *double) KeepsVersions(context.Context) (bool, error) { return d.keeps, nil }

func (d *double) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return d.versions(ctx, o)
}

// editVersions is edit for older versions.
func editVersions(src *memory.Source, change func(sources.Object, []sources.Object) []sources.Object) versionsFunc {
	return func(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
		return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
			var all []sources.Object
			for v, err := range src.Versions(ctx, o) {
				if err != nil {
					return err
				}
				all = append(all, v)
			}
			for _, v := range change(o, all) {
				if err := yield(v); err != nil {
					return err
				}
			}
			return nil
		}, func(err error) error { return err })
	}
}

// versionBreaches are the ways not to be a source with older versions.
func versionBreaches() []breach {
	keeping := func(d *double) { d.versions, d.keeps = d.Source.Versions, true }
	asked := func() func(sources.Key) int {
		times := map[sources.Key]int{}
		return func(k sources.Key) int { times[k]++; return times[k] }
	}
	return []breach{
		{"none, with versions", keeping, nil},
		{"denies its versions", func(d *double) { d.versions = d.Source.Versions }, []string{"has no older versions of new objects"}},
		{"lists the oldest version first", func(d *double) {
			keeping(d)
			d.versions = editVersions(d.Source, func(_ sources.Object, all []sources.Object) []sources.Object {
				slices.Reverse(all)
				return all
			})
		}, []string{"lists older versions, the newest first"}},
		{"lists versions once", func(d *double) {
			keeping(d)
			n := asked()
			d.versions = editVersions(d.Source, func(o sources.Object, all []sources.Object) []sources.Object {
				if n(o.Key) > 1 {
					return nil
				}
				return all
			})
		}, []string{"lists versions of objects in any order", "changes nothing for versions"}},
		{"lists versions after break", func(d *double) {
			keeping(d)
			d.versions = func(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
				return func(yield func(sources.Object, error) bool) {
					d.Source.Versions(ctx, o)(func(v sources.Object, err error) bool {
						if yield(v, err) {
							return true
						}
						return yield(v, err)
					})
				}
			}
		}, []string{"lists as many versions as are asked for"}},
		{"ignores the offset of a version", func(d *double) {
			keeping(d)
			d.open = func(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
				if o.Version != "" {
					offset = 0
				}
				return d.Source.Open(ctx, o, offset)
			}
		}, []string{"reads older versions from everywhere"}},
		{"takes a deleted version for changed", func(d *double) {
			keeping(d)
			d.open = func(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
				r, err := d.Source.Open(ctx, o, offset)
				if err != nil && o.Version != "" {
					return nil, sources.ErrChanged
				}
				return r, err
			}
		}, []string{"reports a deleted version"}},
		{"ignores cancellation of versions", func(d *double) {
			keeping(d)
			d.versions = func(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
				return d.Source.Versions(context.WithoutCancel(ctx), o)
			}
		}, []string{"ends a list of versions when cancelled"}},
		{"changes versions with each list", func(d *double) {
			keeping(d)
			n := asked()
			d.versions = editVersions(d.Source, func(o sources.Object, all []sources.Object) []sources.Object {
				for i := range all {
					all[i].Time = all[i].Time.Add(-time.Duration(n(o.Key)) * time.Hour)
				}
				return all
			})
		}, []string{"changes nothing for versions"}},
	}
}

// A breach is one way not to be a source, and the cases that must notice.
type breach struct {
	name  string
	apply func(*double)
	want  []string
}

func breaches() []breach {
	return []breach{
		{"none", func(*double) {}, nil},
		{"unsorted", func(d *double) { d.objects = unsorted(d.Source) }, []string{"keys ascend"}},
		{"repeats the last key", func(d *double) {
			d.objects = edit(d.Source, func(list []sources.Object) []sources.Object {
				return append(list, list[max(0, len(list)-1):]...)
			})
		}, []string{"keys are unique"}},
		{"makes up an object", func(d *double) {
			d.objects = edit(d.Source, func(list []sources.Object) []sources.Object {
				if len(list) == 0 {
					return append(list, sources.Object{Key: "made up", Obstacle: sources.Special})
				}
				return list
			})
		}, []string{"lists an empty source", "resumes after every key"}},
		{"loses a single object", func(d *double) {
			whole := func() int { return len(list(context.Background(), d.Source, "", nil).objects) }
			d.objects = edit(d.Source, func(list []sources.Object) []sources.Object {
				if whole() == 1 {
					return nil
				}
				return list
			})
		}, []string{"lists one object"}},
		{"knows one page", func(d *double) {
			d.objects = edit(d.Source, func(list []sources.Object) []sources.Object { return list[:min(1000, len(list))] })
		}, []string{"lists more than a page"}},
		{"cleans keys", func(d *double) {
			d.objects = edit(d.Source, func(list []sources.Object) []sources.Object {
				for i, o := range list {
					list[i].Key = sources.Key(path.Clean(string(o.Key)))
				}
				return list
			})
		}, []string{"accepts unusual keys"}},
		{"hides empty objects", func(d *double) {
			d.objects = edit(d.Source, func(list []sources.Object) []sources.Object {
				return slices.DeleteFunc(list, func(o sources.Object) bool { return o.Key == "zero" })
			})
		}, []string{"reads zero bytes"}},
		{"ignores after", func(d *double) {
			d.objects = func(ctx context.Context, _ sources.Key) iter.Seq2[sources.Object, error] {
				return d.Source.Objects(ctx, "")
			}
		}, []string{"resumes after every key"}},
		{"starts at after", func(d *double) {
			d.objects = func(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
				first, err := find(ctx, d.Source, after)
				return func(yield func(sources.Object, error) bool) {
					if err == nil && !yield(first, nil) {
						return
					}
					d.Source.Objects(ctx, after)(yield)
				}
			}
		}, []string{"resumes after every key"}},
		{"resumes only at keys that exist", func(d *double) {
			d.objects = func(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
				if _, err := find(ctx, d.Source, after); err != nil {
					after = ""
				}
				return d.Source.Objects(ctx, after)
			}
		}, []string{"resumes after every key"}},
		{"goes on after break", func(d *double) {
			d.objects = relay(d.Source, func(yield yieldFunc, o sources.Object, err error) bool {
				if yield(o, err) {
					return true
				}
				return yield(o, err)
			})
		}, []string{"stops when the loop ends"}},
		{"leaks a goroutine", func(d *double) {
			d.objects = func(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
				return relay(d.Source, func(yield yieldFunc, o sources.Object, err error) bool {
					if yield(o, err) {
						return true
					}
					go func() { <-ctx.Done() }() // the end of the test
					return false
				})(ctx, after)
			}
		}, []string{"leaves nothing running"}},
		{"ignores cancellation", func(d *double) {
			d.objects = func(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
				return d.Source.Objects(context.WithoutCancel(ctx), after)
			}
		}, []string{"returns the cause of cancellation"}},
		{"ignores cancellation at the last object", func(d *double) {
			d.objects = func(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
				count := len(list(context.WithoutCancel(ctx), d.Source, after, nil).objects)
				return relay(d.Source, func(yield yieldFunc, o sources.Object, err error) bool {
					count--
					return (count != -1 || errors.Is(err, fs.ErrNotExist)) && yield(o, err)
				})(ctx, after)
			}
		}, []string{"returns the cause of cancellation"}},
		{"forgets the cause", func(d *double) {
			d.objects = replaceError(d.Source, func(error) (sources.Object, error) { return sources.Object{}, context.Canceled })
		}, []string{"returns the cause of cancellation"}},
		{"goes on after an error", func(d *double) {
			d.objects = relay(d.Source, func(yield yieldFunc, o sources.Object, err error) bool {
				return yield(o, err) && (err == nil || yield(o, err))
			})
		}, []string{"an error is last"}},
		{"sends an object with an error", func(d *double) {
			d.objects = replaceError(d.Source, func(err error) (sources.Object, error) { return sources.Object{Key: "half"}, err })
		}, []string{"an error comes without an object"}},
		{"has local times", func(d *double) {
			d.objects = edit(d.Source, func(list []sources.Object) []sources.Object {
				for i, o := range list {
					list[i].Time = o.Time.In(time.FixedZone("here", 3600))
				}
				return list
			})
		}, []string{"objects are plain values"}},
		{"hides its times", func(d *double) {
			d.objects = edit(d.Source, func(list []sources.Object) []sources.Object {
				for i := range list {
					list[i].Time = time.Time{}
				}
				return list
			})
		}, []string{"objects are plain values"}},
		{"has moody traits", func(d *double) {
			var n int
			d.traits = func() sources.Traits {
				n++
				return sources.Traits{Precision: time.Second, Concurrency: n}
			}
		}, []string{"traits are stable"}},
		{"describes nothing", func(d *double) {
			d.traits = func() sources.Traits { return sources.Traits{Precision: time.Second, Describes: true} }
		}, []string{"describes as in its traits"}},
		{"has version tags without the metadata", func(d *double) {
			d.traits = func() sources.Traits { return sources.Traits{Precision: time.Second, MetadataTags: true} }
		}, []string{"version tags are as in its traits"}},
		{"ends early", func(d *double) {
			d.open = func(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
				r, err := d.Source.Open(ctx, o, offset)
				if err != nil {
					return nil, err
				}
				return io.NopCloser(io.LimitReader(r, (o.Size-offset)/2)), nil
			}
		}, []string{"reads to the listed size"}},
		{"ignores the offset", func(d *double) {
			d.open = func(ctx context.Context, o sources.Object, _ int64) (io.ReadCloser, error) {
				return d.Source.Open(ctx, o, 0)
			}
		}, []string{"reads to the listed size"}},
		{"reads zeros", func(d *double) {
			d.open = func(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
				if r, err := d.Source.Open(ctx, o, offset); err != nil {
					return r, err
				}
				return io.NopCloser(bytes.NewReader(make([]byte, o.Size-offset))), nil
			}
		}, []string{"reads what was stored"}},
		{"opens a changed object", func(d *double) {
			d.open = func(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
				o, err := find(ctx, d.Source, o.Key)
				if err != nil {
					return nil, fs.ErrNotExist
				}
				return d.Source.Open(ctx, o, min(offset, o.Size))
			}
		}, []string{"refuses another version"}},
		{"takes gone for changed", func(d *double) {
			d.open = func(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
				r, err := d.Source.Open(ctx, o, offset)
				if err != nil {
					return nil, sources.ErrChanged
				}
				return r, nil
			}
		}, []string{"refuses a deleted object"}},
		{"reads on in a changed object", func(d *double) {
			d.open = func(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
				if r, err := d.Source.Open(ctx, o, offset); err != nil {
					return r, err
				}
				return &liveReader{d.Source, o.Key, offset}, nil
			}
		}, []string{"does not mix versions"}},
		{"lists from a cache", func(d *double) {
			var cache []sources.Object
			d.objects = listing(func(after sources.Key) ([]sources.Object, error) {
				t := list(context.Background(), d.Source, "", nil)
				if t.err == nil && cache == nil {
					cache = t.objects
				}
				i := slices.IndexFunc(cache, func(o sources.Object) bool { return o.Key > after })
				if i < 0 {
					return nil, t.err
				}
				return cache[i:], t.err
			})
		}, []string{"lists current objects"}},
		{"has one reader", func(d *double) {
			var open sync.Mutex
			d.open = func(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
				if !open.TryLock() {
					return nil, errors.New("busy")
				}
				r, err := d.Source.Open(ctx, o, offset)
				if err != nil {
					open.Unlock()
					return nil, err
				}
				return closer{r, sync.OnceFunc(open.Unlock)}, nil
			}
		}, []string{"allows parallel use"}},
		{"takes absence for emptiness", func(d *double) {
			d.objects = relay(d.Source, func(yield yieldFunc, o sources.Object, err error) bool {
				return !errors.Is(err, fs.ErrNotExist) && yield(o, err)
			})
		}, []string{"reports a missing source"}},
	}
}

type yieldFunc = func(sources.Object, error) bool

// relay passes each object and error of a source on through a function.
func relay(src *memory.Source, pass func(yield yieldFunc, o sources.Object, err error) bool) objectsFunc {
	return func(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
		return func(yield func(sources.Object, error) bool) {
			src.Objects(ctx, after)(func(o sources.Object, err error) bool { return pass(yield, o, err) })
		}
	}
}

func replaceError(src *memory.Source, other func(error) (sources.Object, error)) objectsFunc {
	return relay(src, func(yield yieldFunc, o sources.Object, err error) bool {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			o, err = other(err)
		}
		return yield(o, err)
	})
}

// listing keeps to the law with the objects that a function returns.
func listing(after func(sources.Key) ([]sources.Object, error)) objectsFunc {
	return func(ctx context.Context, k sources.Key) iter.Seq2[sources.Object, error] {
		return func(yield func(sources.Object, error) bool) {
			objects, err := after(k)
			for _, o := range objects {
				if ctx.Err() != nil {
					break
				}
				if !yield(o, nil) {
					return
				}
			}
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(sources.Object{}, err)
			}
		}
	}
}

// edit changes a listing as a whole.
func edit(src *memory.Source, change func([]sources.Object) []sources.Object) objectsFunc {
	return listing(func(after sources.Key) ([]sources.Object, error) {
		t := list(context.Background(), src, after, nil)
		return change(t.objects), t.err
	})
}

func unsorted(src *memory.Source) objectsFunc {
	return edit(src, func(list []sources.Object) []sources.Object {
		slices.Reverse(list)
		return list
	})
}

// A liveReader reads the content that is stored at each moment.
type liveReader struct {
	src    *memory.Source
	key    sources.Key
	offset int64
}

func (r *liveReader) Read(p []byte) (int, error) {
	ctx := context.Background()
	o, err := find(ctx, r.src, r.key)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if r.offset >= o.Size {
		return 0, io.EOF
	}
	from, err := r.src.Open(ctx, o, r.offset)
	if err != nil {
		return 0, err
	}
	n, err := from.Read(p)
	r.offset += int64(n)
	return n, err
}

func (r *liveReader) Close() error { return nil }

type closer struct {
	io.Reader
	close func()
}

func (c closer) Close() error {
	c.close()
	return nil
}
