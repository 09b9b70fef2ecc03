package engine

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"assetferry/migrate"
	"assetferry/migrate/verify"
	"assetferry/sources"
	"assetferry/sources/memory"
)

// wrongSizes is a source that lists objects with more bytes than their contents have.
type wrongSizes struct{ *memory.Source }

// surplus is the number of bytes that it lists too many.
const surplus = 100

func (w wrongSizes) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for o, err := range w.Source.Objects(ctx, after) {
			if err == nil {
				o.Size += surplus
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

func (w wrongSizes) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	listed := o.Listed()
	stored := listed
	stored.Size -= surplus
	r, err := w.Source.Open(ctx, stored, offset)
	if err != nil || listed != o {
		return r, err
	}
	return &cutShort{r, &sources.SizeError{Listed: listed.Size, Object: listed.Resized(stored.Size)}}, nil
}

// A cutShort is a reader that ends with an error.
type cutShort struct {
	io.ReadCloser
	end error
}

func (c *cutShort) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err == io.EOF {
		err = c.end
	}
	return n, err
}

func (w *world) wrongSizes() migrate.Deps {
	d := w.deps()
	d.Source = wrongSizes{w.source}
	return d
}

// TestWrongSizes verifies that objects whose storage lists wrong sizes get assets with their content and
// a remark, and that the next runs change nothing until they change.
func TestWrongSizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("a.jpg", "a", "dir/b.jpg", "bb", "dir/c.jpg", "ccc")
	plan, err := w.tryWith(t.Context(), w.wrongSizes(), migrate.DefaultRules())
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 3})
	i := w.item(plan, "dir/c.jpg")
	if i.Size != 3 || i.Error != migrate.RemarkListedSize+": 103 bytes instead of 3" {
		t.Errorf("the item has %d bytes and the remark %q", i.Size, i.Error)
	}
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}, {"Images", "dir", "b.jpg", checksum("bb")}, {"Images", "dir", "c.jpg", checksum("ccc")}})
	w.wantSound()
	if _, found := w.verify(w.wrongSizes(), verify.LevelChecksum, 0); len(found) > 0 {
		t.Errorf("differences: %q", found)
	}
	if sent := writes(w.during(func() { w.syncWith(w.wrongSizes(), syncing()) })); len(sent) > 0 {
		t.Errorf("the next sync sent %v", sent)
	}

	w.put("dir/c.jpg", "replaced")
	plan = w.syncWith(w.wrongSizes(), syncing())
	if i := w.item(plan, "dir/c.jpg"); i.Size != 8 || !strings.Contains(i.Error, migrate.RemarkListedSize) {
		t.Errorf("the replaced item has %d bytes and the remark %q", i.Size, i.Error)
	}
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}, {"Images", "dir", "b.jpg", checksum("bb")}, {"Images", "dir", "c.jpg", checksum("replaced")}})
	if sent := writes(w.during(func() { w.syncWith(w.wrongSizes(), syncing()) })); len(sent) > 0 {
		t.Errorf("the sync after a replacement sent %v", sent)
	}
}

// TestWrongSizesUnconfirmed verifies that an upload whose response was lost is recognised by the size of
// its content.
func TestWrongSizesUnconfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faults(t, "POST /assets drop=after"))
	w.put("a.jpg", "a", "b.jpg", "bb")
	plan, err := w.tryWith(t.Context(), w.wrongSizes(), migrate.DefaultRules())
	must(t, err)
	w.wantStates(plan, map[string]int64{"create done": 2})
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("a")}, {"Images", "", "b.jpg", checksum("bb")}})
}

// TestWrongSizesInterrupted ends a run before and after the size of a content is stored. The next one
// uploads the object once.
func TestWrongSizesInterrupted(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{false, true} {
		w := newWorld(t)
		w.put("a.jpg", "a")
		died := errors.New("no power")
		w.hook(func(op string, done bool) error {
			if op == "store size of content" && done == stored {
				return died
			}
			return nil
		})
		if _, err := w.tryWith(t.Context(), w.wrongSizes(), migrate.DefaultRules()); !errors.Is(err, died) {
			t.Errorf("the run ended with %v", err)
		}
		w.unhook()
		plan, err := w.tryWith(t.Context(), w.wrongSizes(), migrate.DefaultRules())
		must(t, err)
		w.wantFinished(plan)
		if got, want := w.assetsAt(), []placed{{"Images", "", "a.jpg", checksum("a")}}; !slices.Equal(got, want) {
			t.Errorf("stored before: %v: assets %v, want %v", stored, got, want)
		}
	}
}
