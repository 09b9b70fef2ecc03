package engine

import (
	"context"
	"testing"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A structured source reports its categories.
type structured struct {
	sources.Source
	categories []sources.Category
}

func (s structured) Structure(context.Context) ([]sources.Category, error) { return s.categories, nil }

// TestPrivateCategoryIsMade verifies that a category that is private at the source is created as
// private, with the extensions that it allows there.
func TestPrivateCategoryIsMade(t *testing.T) {
	w := newWorld(t)
	w.put("Secret/a.jpg", "a", "Open/b.jpg", "b")
	d := w.deps()
	d.Source = structured{w.source, []sources.Category{{Segment: "Secret", Name: "Secret", Private: true, Extensions: []string{"png"}}, {Segment: "Open", Name: "Open"}}}
	r := migrate.DefaultRules()
	r.CategoryBy = "folder"
	plan, err := w.tryWith(t.Context(), d, r)
	must(t, err)
	for key, want := range map[string]bool{"Secret/a.jpg": true, "Open/b.jpg": false} {
		a, err := w.client.Asset(t.Context(), w.item(plan, key).Asset)
		must(t, err)
		c, err := w.client.Category(t.Context(), a.CategoryID)
		must(t, err)
		if c.Private != want || want && len(c.Extensions) != 2 {
			t.Errorf("%s is in %+v", key, c)
		}
	}
	known, err := w.store.Categories(t.Context(), w.pair.Destination)
	must(t, err)
	for id, c := range known {
		if c.Private != (c.Name == "Secret") {
			t.Errorf("the state database has %s as %+v", id, c)
		}
	}
}

// TestPrivateIsNotSentToPublic verifies that an object that would become public is not sent, and
// that the plan reports it.
func TestPrivateIsNotSentToPublic(t *testing.T) {
	w := newWorld(t)
	w.category("Secret", "jpg")
	w.put("Secret/a.jpg", "a")
	d := w.deps()
	d.Source = structured{w.source, []sources.Category{{Segment: "Secret", Name: "Secret", Private: true}}}
	r := migrate.DefaultRules()
	r.CategoryBy = "folder"
	plan, err := w.tryWith(t.Context(), d, r)
	must(t, err)
	if i := w.item(plan, "Secret/a.jpg"); i.State != state.ItemConflict || i.Reason != string(migrate.ReasonCategoryPublic) || len(w.assetsAt()) != 0 {
		t.Errorf("%+v; %v", i, w.assetsAt())
	}
}

// TestSidecarOfWhatLooksLikeOne verifies that an object may be named like a sidecar and have a
// sidecar, as exports write them.
func TestSidecarOfWhatLooksLikeOne(t *testing.T) {
	w := newWorld(t)
	w.category("Data", "json")
	w.put("data.json", saying("of nothing"), "data.json.json", saying("of data"), "data.json.json.json", saying("of what is no object"))
	w.sync(nil, migrate.DefaultRules())
	w.wantDescriptions(map[string]string{"data.json": "of data", "data.json.json.json": ""})
}

// TestSourceWithoutSidecars verifies that no object is a sidecar if the source says that it has
// none.
func TestSourceWithoutSidecars(t *testing.T) {
	w := newWorld(t)
	w.category("Data", "json")
	w.put("a.jpg", "a", "a.jpg.json", saying("of a"))
	d := w.deps()
	d.Source = unaccompanied{w.source}
	w.syncWith(d, migrate.DefaultRules())
	w.wantDescriptions(map[string]string{"a.jpg": "", "a.jpg.json": ""})
}

type unaccompanied struct{ sources.Source }

func (u unaccompanied) Traits() sources.Traits {
	t := u.Source.Traits()
	t.NoSidecars = true
	return t
}
