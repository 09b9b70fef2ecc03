package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/mapping"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/sources"
	"assetferry/sources/memory"
)

// TestExplainMapping verifies that explain shows all metadata of an object, wherever it is in the
// listing, and lists little else of the source.
func TestExplainMapping(t *testing.T) {
	s := new(memory.Source)
	for _, key := range []string{"a/1.jpg", "a/photo", "a/photo-1.jpg", "a/photo.jpg", "a/photo1.jpg", "é.jpg", "z.jpg"} {
		s.Put(sources.Key(key), []byte(key))
	}
	s.Put("a/photo.jpg.JSON", []byte(`{"title": "by name"}`))
	s.Put("a/photo.yaml", []byte(`title: of another`))
	s.Put("a/photo.json", []byte(`{"title": "without ending"}`))
	s.Put("a/photo1.jpg.yaml", []byte("title: [\n"))
	s.Put("a/photo1.xmp", nil)
	d := migrate.Deps{Source: s, Mapping: mapping.New(nil, mapping.Options{})}
	for key, want := range map[string]string{
		"a/photo.jpg": "by name", "a/photo": "without ending", "a/photo-1.jpg": "", "é.jpg": "", "a/1.jpg": "", "z.jpg": "",
	} {
		e, err := collect.New(d).ExplainMapping(t.Context(), sources.Key(key))
		if err != nil || e.Said.Attributes["title"] != want || e.Key != key {
			t.Errorf("%s: %q, %v\n%s", key, e.Said.Attributes["title"], err, e.Text(true))
		}
	}
	e, err := collect.New(d).ExplainMapping(t.Context(), "a/photo1.jpg")
	reported := func(n mapping.Note) bool { return strings.Contains(n.What, "a/photo1.jpg.yaml") }
	if err != nil || !slices.ContainsFunc(e.Notes, reported) {
		t.Errorf("what is wrong with a sidecar is not told: %v\n%s", err, e.Text(true))
	}
	for sidecar, describes := range map[sources.Key]sources.Key{
		"a/photo.jpg.JSON": "a/photo.jpg", "a/photo.json": "a/photo", "a/photo1.jpg.yaml": "a/photo1.jpg", "a/photo1.xmp": "a/photo1.jpg",
	} {
		if _, err := collect.New(d).ExplainMapping(t.Context(), sidecar); !errors.As(err, new(*collect.SidecarError)) || !strings.Contains(err.Error(), string(describes)+`"`) {
			t.Errorf("%s: %v", sidecar, err)
		}
	}
	for _, key := range []sources.Key{"a/photo.jp", "a/photo.jpg.x", "a", "y"} {
		if _, err := collect.New(d).ExplainMapping(t.Context(), key); !errors.As(err, new(*collect.NoObjectError)) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestRulesThatCannotBeApplied verifies that an asset to which the rules cannot be applied stays,
// and that its item fails without a retry.
func TestRulesThatCannotBeApplied(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b")
	d := w.describing(says("a.jpg", strings.Repeat("word ", 300), "b.jpg", "short"))
	d.Mapping = mapping.New(nil, mapping.Options{OnLimit: mapping.Fail})
	plan := w.syncWith(d, migrate.DefaultRules())
	w.wantStates(plan, map[string]int64{"create done": 1, "create failed": 1})
	w.wantDescriptions(map[string]string{"a.jpg": "", "b.jpg": "short"})

	d.Mapping = mapping.New(nil, mapping.Options{OnLimit: mapping.Skip}) // the content owner has fixed it
	w.syncWith(d, migrate.DefaultRules())
	w.wantDescriptions(map[string]string{"a.jpg": "", "b.jpg": "short"})
}
