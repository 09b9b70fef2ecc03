package engine

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata"
	"assetferry/migrate/apply"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

// A catalog is a source with metadata, whose version tags are those of the metadata and the content.
type catalog struct {
	*memory.Source
	author   map[sources.Key]string
	contents map[sources.Key]string // versions of the content
	opened   *atomic.Int64
}

func newCatalog(w *world) catalog {
	return catalog{w.source, map[sources.Key]string{}, map[sources.Key]string{}, &atomic.Int64{}}
}

// put stores an object.
func (c catalog) put(key sources.Key, content, version, author string) {
	c.Source.Put(key, []byte(content))
	c.author[key], c.contents[key] = author, version
}

func (c catalog) Traits() sources.Traits {
	t := c.Source.Traits()
	t.Describes, t.MetadataTags = true, true
	return t
}

func (c catalog) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for o, err := range c.Source.Objects(ctx, after) {
			o.VersionTag = c.tag(o.Key)
			if !yield(o, err) {
				return
			}
		}
	}
}

func (c catalog) tag(key sources.Key) string { return c.author[key] + " " + c.contents[key] }

func (c catalog) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	c.opened.Add(1)
	if o.VersionTag != c.tag(o.Key) {
		return nil, sources.ErrChanged
	}
	plain, err := tagging{Source: c.Source}.object(ctx, o.Key)
	if err != nil {
		return nil, err
	}
	r, err := c.Source.Open(ctx, plain, offset)
	if err != nil {
		return nil, err
	}
	return speaking{r, func() (sources.Description, error) { return c.Describe(ctx, o) }}, nil
}

// Describe implements sources.Catalog.
func (c catalog) Describe(_ context.Context, o sources.Object) (sources.Description, error) {
	d := by(c.author[o.Key])
	d.Fields = map[string][]string{"old_url": {"https://old.example/" + string(o.Key)}}
	return d, nil
}

func (w *world) wantAuthor(key, want string) {
	w.Helper()
	if got := w.assetOf(key).Metadata.CustomAttributes["creator"]; got != want {
		w.Errorf("%s is by %v, want %s", key, got, want)
	}
}

// TestMetadataTags verifies that the content of an object is not read if only the version of its
// metadata changed, and that it is read if the version of the content is another one or unknown.
func TestMetadataTags(t *testing.T) {
	for name, c := range map[string]struct {
		was, is string
		opened  int64
	}{
		"same content":    {"v1", "v1", 0},
		"another version": {"v1", "v2", 1},
		"unknown":         {"", "", 1},
		"known now":       {"", "v1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			source := newCatalog(w)
			d := w.deps()
			d.Source = source
			source.put("a.jpg", "a", c.was, "Ida")
			source.put("b.jpg", "b", c.was, "Ida")
			w.syncWith(d, syncRules("keep"))
			before := w.assetOf("a.jpg")

			source.put("a.jpg", "a", c.is, "Olga")
			source.opened.Store(0)
			w.wantStates(w.syncWith(d, syncRules("keep")), map[string]int64{"update_metadata done": 1, "unchanged skipped": 1})
			if n := source.opened.Load(); n != c.opened {
				t.Errorf("opened %d objects, want %d", n, c.opened)
			}
			w.wantAuthor("a.jpg", "Olga")
			if after := w.assetOf("a.jpg"); after.ID != before.ID || after.URL != before.URL {
				t.Errorf("asset %s became %s", before.ID, after.ID)
			}

			source.opened.Store(0) // the new version is stored
			w.wantStates(w.syncWith(d, syncRules("keep")), map[string]int64{"unchanged skipped": 2})
			if n := source.opened.Load(); n != 0 {
				t.Errorf("opened %d unchanged objects", n)
			}
		})
	}
}

// byOldURL describes objects by an old URL, as a table can.
type byOldURL struct{ url, says string }

func (b byOldURL) Describe(o metadata.Identity) (metadata.Fields, bool, error) {
	if !slices.Contains(o.OldURLs, b.url) {
		return nil, false, nil
	}
	return metadata.Fields{"description": {b.says}}, true, nil
}

func (byOldURL) AsksForChecksums() bool { return false }

// TestOldURLsOfTheStorage verifies that a run finds a changed row of a table whose rows name old
// URLs, if the storage and no sidecar has the old URLs of the objects.
func TestOldURLsOfTheStorage(t *testing.T) {
	w := newWorld(t)
	source := newCatalog(w)
	source.put("a.jpg", "a", "v1", "Ida")
	d := w.deps()
	d.Source = source
	for _, run := range []struct{ says, want string }{{"A", "create done"}, {"A", "unchanged skipped"}, {"B", "update_metadata done"}} {
		d.Describer = byOldURL{"https://old.example/a.jpg", run.says}
		w.wantStates(w.syncWith(d, syncRules("source")), map[string]int64{run.want: 1})
		w.wantDescriptions(map[string]string{"a.jpg": run.says})
	}
}

// TestMetadataTagsDoNotHideContent verifies that content of another size is uploaded, and that
// --checksum reads each object.
func TestMetadataTagsDoNotHideContent(t *testing.T) {
	w := newWorld(t)
	source := newCatalog(w)
	d := w.deps()
	d.Source = source
	source.put("a.jpg", "a", "v1", "Ida")
	source.put("b.jpg", "b", "v1", "Ida")
	w.syncWith(d, syncRules("keep"))

	source.put("a.jpg", "longer", "v1", "Olga")
	w.wantStates(w.syncWith(d, syncRules("keep")), map[string]int64{"replace done": 1, "unchanged skipped": 1})
	w.wantAuthor("a.jpg", "Olga")

	source.put("b.jpg", "B", "v1", "Olga") // as if the version of its content were wrong
	r := syncRules("keep")
	r.Sync.Checksum = true
	w.wantStates(w.syncWith(d, r), map[string]int64{"replace done": 1, "unchanged skipped": 1})
}

// TestMetadataOfMovedObjects verifies that the metadata of an object with another key is read from
// its source, and that its old URL is stored with the one from before.
func TestMetadataOfMovedObjects(t *testing.T) {
	w := newWorld(t)
	source := newCatalog(w)
	d := w.deps()
	d.Source = source
	source.put("a.jpg", "a", "v1", "Ida")
	source.put("old/b.jpg", "b", "v1", "Ida")
	w.syncWith(d, syncRules("keep"))

	source.put("renamed.jpg", "a", "v1", "Ida") // only its URL is another one
	source.put("new/b.jpg", "b", "v1", "Olga")
	source.Delete("a.jpg")
	source.Delete("old/b.jpg")
	w.wantStates(w.syncWith(d, syncRules("keep")), map[string]int64{"move done": 2})
	w.wantAuthor("renamed.jpg", "Ida")
	w.wantAuthor("new/b.jpg", "Olga")
	for key, want := range map[string][]string{
		"renamed.jpg": {"https://old.example/a.jpg", "https://old.example/renamed.jpg"},
		"new/b.jpg":   {"https://old.example/new/b.jpg", "https://old.example/old/b.jpg"},
	} {
		got, err := w.store.OldURLs(t.Context(), w.pair.ID, sources.Key(key))
		must(t, err)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("old URLs of %s (-want +got):\n%s", key, diff)
		}
	}
	w.wantStates(w.syncWith(d, syncRules("keep")), map[string]int64{"unchanged skipped": 2})
}

// TestMovedObjectThatCannotBeRead verifies that an error of the source for the metadata of one moved
// object does not stop other moves, and that the next run writes it.
func TestMovedObjectThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	source := newCatalog(w)
	d := w.deps()
	d.Source = source
	source.put("a.jpg", "a", "v1", "Ida")
	source.put("b.jpg", "b", "v1", "Ida")
	w.syncWith(d, syncRules("keep"))

	for key, now := range map[sources.Key]sources.Key{"a.jpg": "A1.jpg", "b.jpg": "B1.jpg"} {
		source.put(now, map[sources.Key]string{"a.jpg": "a", "b.jpg": "b"}[key], "v1", "Olga")
		source.Delete(key)
	}
	d.Source = busy{source, "A1.jpg"}
	plan := w.syncWith(d, syncRules("keep"), func(a *apply.Applier) { a.Concurrency = 1 })
	w.wantStates(plan, map[string]int64{"move done": 1, "move failed": 1})
	if i := w.item(plan, "A1.jpg"); i.State != state.ItemFailed {
		t.Errorf("got %+v", i)
	}
	w.wantAuthor("A1.jpg", "Ida")
	w.wantAuthor("B1.jpg", "Olga")

	d.Source = source
	w.wantStates(w.syncWith(d, syncRules("keep")), map[string]int64{"update_metadata done": 1, "unchanged skipped": 1})
	w.wantAuthor("A1.jpg", "Olga")
}

// A busy source cannot read the metadata of one object.
type busy struct {
	catalog
	key sources.Key
}

func (b busy) Describe(ctx context.Context, o sources.Object) (sources.Description, error) {
	if o.Key == b.key {
		return sources.Description{}, &sources.Error{Op: "describe", Source: "memory", Key: o.Key, Err: errors.New("busy")}
	}
	return b.catalog.Describe(ctx, o)
}
