package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

// A knowing source has metadata of its objects.
type knowing struct {
	*memory.Source
	say func(key sources.Key) (sources.Description, error)
}

func (k knowing) Traits() sources.Traits {
	t := k.Source.Traits()
	t.Describes = true
	return t
}

func (k knowing) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	r, err := k.Source.Open(ctx, o, offset)
	if err != nil {
		return nil, err
	}
	return speaking{r, func() (sources.Description, error) { return k.say(o.Key) }}, nil
}

type speaking struct {
	io.ReadCloser
	say func() (sources.Description, error)
}

func (s speaking) Describe(context.Context) (sources.Description, error) { return s.say() }

// knowing returns dependencies with a source whose metadata say returns.
func (w *world) knowing(say func(sources.Key) (sources.Description, error)) migrate.Deps {
	d := w.deps()
	d.Source = knowing{w.source, say}
	return d
}

func by(author string) sources.Description {
	return sources.Description{ContentType: "image/jpeg", Metadata: map[string]string{"author": author}, Tags: map[string]string{"place": "Oslo"}}
}

func authored(key sources.Key) (sources.Description, error) {
	return by("author of " + string(key)), nil
}

// wantKept verifies the source metadata that the state database has of an object; nil is none.
func (w *world) wantKept(key string, want *state.Description) {
	w.Helper()
	var got *state.Description
	d, err := w.store.Description(w.Context(), w.pair.ID, sources.Key(key))
	if err == nil {
		got = &d
	} else if !errors.Is(err, state.ErrNotFound) {
		w.Error(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		w.Errorf("kept with %s (-want +got):\n%s", key, diff)
	}
}

func keptBy(author string) *state.Description {
	d := by(author)
	return &state.Description{ContentType: d.ContentType, Metadata: d.Metadata, Tags: d.Tags}
}

// TestWhatTheSourceHasIsKept verifies that the metadata of the source is in the state database and
// in the outcome, whether or not the asset's metadata is updated afterwards.
func TestWhatTheSourceHasIsKept(t *testing.T) {
	for _, provenance := range []string{"auto", "always"} {
		t.Run(provenance, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.jpg", "a", "b.jpg", "", "c.jpg", "c")
			w.upload(w.images, "", "c.jpg", "c") // will be adopted
			r := migrate.DefaultRules()
			r.OnExisting = "adopt"
			plan, err := w.tryWith(t.Context(), w.knowing(func(key sources.Key) (sources.Description, error) {
				if key == "b.jpg" {
					return sources.Description{}, nil
				}
				return authored(key)
			}), r, func(a *apply.Applier) { a.Provenance = provenance })
			must(t, err)
			w.wantStates(plan, map[string]int64{"create done": 2, "adopt done": 1})
			w.wantKept("a.jpg", keptBy("author of a.jpg"))
			w.wantKept("b.jpg", nil)
			w.wantKept("c.jpg", nil)
			if o := w.watch.items["a.jpg"]; o.Error != "" || !gocmp.Equal(o.Receipt.Description, keptBy("author of a.jpg")) {
				t.Errorf("told %+v", o)
			}
		})
	}
}

// TestWhatTheSourceHasCannotBeRead verifies that an object is not uploaded if metadata that the
// user wants to keep cannot be read.
func TestWhatTheSourceHasCannotBeRead(t *testing.T) {
	refused := errors.New("403; leave out --tags")
	for name, tc := range map[string]struct {
		err  error
		want string
		says string
	}{
		"refused": {errors.Join(refused, fs.ErrPermission), "create failed", "read tags: 403; leave out --tags"},
		"changed": {sources.ErrChanged, "create changed", "changed since it was listed"},
		"gone":    {fs.ErrNotExist, "create changed", "deleted at the source after it was listed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.jpg", "a", "b.jpg", "b")
			plan, err := w.tryWith(t.Context(), w.knowing(func(key sources.Key) (sources.Description, error) {
				if key == "a.jpg" {
					return sources.Description{}, &sources.Error{Op: "read tags", Source: "memory", Key: key, Err: tc.err}
				}
				return authored(key)
			}), migrate.DefaultRules())
			must(t, err)
			w.wantStates(plan, map[string]int64{tc.want: 1, "create done": 1})
			w.wantAssets([]placed{{"Images", "", "b.jpg", checksum("b")}})
			if o := w.watch.items["a.jpg"]; !strings.Contains(o.Error, tc.says) {
				t.Errorf("told %q", o.Error)
			}
			w.wantKept("a.jpg", nil)
			w.wantKept("b.jpg", keptBy("author of b.jpg"))

			_, err = w.tryWith(t.Context(), w.knowing(authored), migrate.DefaultRules()) // the next run succeeds
			must(t, err)
			w.wantKept("a.jpg", keptBy("author of a.jpg"))
		})
	}
}

// TestTooMuchToKeep verifies that metadata that is too large for the state database is omitted and
// reported.
func TestTooMuchToKeep(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	almost := strings.Repeat("x", 16<<10-len("image/jpeg"+"author"+"place"+"Oslo"))
	_, err := w.tryWith(t.Context(), w.knowing(func(key sources.Key) (sources.Description, error) {
		if key == "a.jpg" {
			return by(almost), nil
		}
		return by(almost + "x"), nil
	}), migrate.DefaultRules())
	must(t, err)
	w.wantKept("a.jpg", keptBy(almost))
	w.wantKept("b.jpg", nil)
	o := w.watch.items["b.jpg"]
	if want := fmt.Sprintf("%d bytes, at most %d are", 16<<10+1, 16<<10); o.State != state.ItemDone || o.Receipt.Description != nil || !strings.Contains(o.Error, want) {
		t.Errorf("told %+v, want %q", o, want)
	}
}

// TestKeptWithWhatWasUnconfirmed verifies that the process that confirms an unconfirmed upload
// reads the metadata of the source again.
func TestKeptWithWhatWasUnconfirmed(t *testing.T) {
	for name, tc := range map[string]struct {
		say  func(sources.Key) (sources.Description, error)
		want *state.Description
		says string
	}{
		"known":   {authored, keptBy("author of b.jpg"), ""},
		"changed": {func(sources.Key) (sources.Description, error) { return by(""), sources.ErrChanged }, nil, "was not kept: changed since it was listed"},
		"refused": {func(sources.Key) (sources.Description, error) { return by(""), permanent{"403"} }, nil, "was not kept: 403"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("b.jpg", "b")
			plan := w.die(migrate.DefaultRules(), "b.jpg")
			must(t, w.applier(w.knowing(tc.say)).Apply(t.Context(), plan.Run))
			w.wantStates(plan, map[string]int64{"create done": 1})
			w.wantKept("b.jpg", tc.want)
			if o := w.watch.items["b.jpg"]; !strings.Contains(o.Error, tc.says) || tc.says == "" && o.Error != "" {
				t.Errorf("told %q", o.Error)
			}
		})
	}
}

// TestKeptWithWhatWasUnconfirmedLater verifies that an item stays unconfirmed for a while if the
// source cannot return its metadata.
func TestKeptWithWhatWasUnconfirmedLater(t *testing.T) {
	w := newWorld(t)
	w.put("b.jpg", "b")
	plan := w.die(migrate.DefaultRules(), "b.jpg")
	asked := 0
	must(t, w.applier(w.knowing(func(key sources.Key) (sources.Description, error) {
		if asked++; asked == 1 {
			return sources.Description{}, errors.New("not now")
		}
		return authored(key)
	})).Apply(t.Context(), plan.Run))
	w.wantStates(plan, map[string]int64{"create done": 1})
	w.wantKept("b.jpg", keptBy("author of b.jpg"))
	w.wantAssets([]placed{{"Images", "", "b.jpg", checksum("b")}})
}

// A permanent error occurs at every attempt.
type permanent struct{ text string }

func (p permanent) Error() string      { return p.text }
func (p permanent) Class() retry.Class { return retry.Permanent }

// A deaf Writer refuses metadata updates.
type deaf struct{ migrate.Writer }

func (deaf) Update(context.Context, string, assets.Changes) (assets.Asset, error) {
	return assets.Asset{}, refusal{retry.Permanent}
}

// TestTouchedAndNotDescribed verifies that the next run writes changed metadata of the source if
// the run that found it could not.
func TestTouchedAndNotDescribed(t *testing.T) {
	w := newWorld(t)
	author := "Ida"
	d := w.knowing(func(sources.Key) (sources.Description, error) { return by(author), nil })
	w.put("a.jpg", "a")
	w.syncWith(d, syncRules("keep"))
	author = "Olga"
	w.put("a.jpg", "a")
	w.wantStates(w.syncWith(d, syncRules("keep"), func(a *apply.Applier) { a.Write = deaf{a.Write} }), map[string]int64{"update_metadata failed": 1})
	w.wantStates(w.syncWith(d, syncRules("keep")), map[string]int64{"update_metadata done": 1})
	if a := w.assetOf("a.jpg"); a.Metadata.CustomAttributes["creator"] != "Olga" {
		t.Errorf("got %+v", a.Metadata)
	}
}

// TestTouchedAndNotAsked verifies that a temporary error of the source for one object delays no
// other object, and that the metadata of that object is written too.
func TestTouchedAndNotAsked(t *testing.T) {
	w := newWorld(t)
	author, busy := "Ida", false
	d := w.knowing(func(sources.Key) (sources.Description, error) {
		if busy {
			busy = false
			return sources.Description{}, errors.New("busy")
		}
		return by(author), nil
	})
	w.put("a.jpg", "a")
	w.syncWith(d, syncRules("keep"))
	author, busy = "Olga", true
	w.put("a.jpg", "a", "b.jpg", "b")
	w.wantStates(w.syncWith(d, syncRules("keep"), func(a *apply.Applier) { a.Concurrency = 1 }), map[string]int64{"update_metadata done": 1, "create done": 1})
	if a := w.assetOf("a.jpg"); a.Metadata.CustomAttributes["creator"] != "Olga" {
		t.Errorf("got %+v", a.Metadata)
	}
}
