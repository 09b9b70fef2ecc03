package placement

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/sources"
)

// TestPrivacy verifies that no rule puts an object that is private at the source where all users
// can see it, and that categories which are created for it are private, too.
func TestPrivacy(t *testing.T) {
	sourceCategories := sourceCategories{
		{Segment: "Open", Name: "Open", Extensions: []string{"JPG", "not fit"}},
		{Segment: "Secret", Name: "Secret", Private: true, Extensions: []string{"png"}},
		{Segment: "Secret (2)", Name: "Secret"},
		{Segment: "caf\u00e9", Name: "cafe\u0301", Private: true},
	}
	public, private := category("1", "Secret", "jpg"), category("2", "Secret", "jpg", "png")
	private.Private = true
	all := category("3", "All", "jpg", "png", "odd")
	byFolder, byExtension, named := migrate.DefaultRules(), migrate.DefaultRules(), migrate.DefaultRules()
	byFolder.CategoryBy, byFolder.Unsupported, named.Category = "folder", "create", "New"
	for _, tc := range []struct {
		r      migrate.Rules
		key    string
		want   string // the category
		why    migrate.Reason
		wanted []migrate.NewCategory
	}{
		{byFolder, "Secret/a.jpg", "2", "", nil},
		{byFolder, "Secret (2)/a.jpg", "new:Secret (2)", "", []migrate.NewCategory{{Name: "Secret (2)", Extensions: []string{"jpg"}}}},
		{byFolder, "Open/a.odd", "new:Open", "", []migrate.NewCategory{{Name: "Open", Extensions: []string{"jpg", "odd"}}}},
		{byFolder, "cafe\u0301/a.jpg", "new:caf\u00e9", "", []migrate.NewCategory{{Name: "caf\u00e9", Extensions: []string{"jpg"}, Private: true}}},
		{byFolder, "Secret/a.odd", "new:Other files", migrate.ReasonCategoryPublic, nil},
		{byExtension, "Open/a.jpg", "1", "", nil},
		{byExtension, "Secret/a.jpg", "1", migrate.ReasonCategoryPublic, nil},
		{byExtension, "Secret/a.png", "2", "", nil},
		{byExtension, "elsewhere/a.jpg", "1", "", nil},
		{named, "Open/a.jpg", "new:New", "", []migrate.NewCategory{{Name: "New", Extensions: []string{"jpg"}}}},
		{named, "Secret/a.jpg", "new:New", migrate.ReasonCategoryPublic, nil},
	} {
		p := newTestPlacer(tc.r, nil, public, private, all)
		p.sourceCategories = sourceCategories
		got, why := p.Place(sources.Object{Key: sources.Key(tc.key)}, nil)
		if got.Category != tc.want || why != tc.why {
			t.Errorf("%s goes to %q, %q; want %q, %q", tc.key, got.Category, why, tc.want, tc.why)
		}
		if why == "" {
			p.Use(got)
		}
		if diff := cmp.Diff(tc.wanted, p.wanted); diff != "" {
			t.Errorf("%s wants:\n%s", tc.key, diff)
		}
	}
}

// TestPrivacyOfSeveral verifies that a new category is private if any of several source categories
// of the same name is private.
func TestPrivacyOfSeveral(t *testing.T) {
	k := sourceCategories{{Segment: "a", Name: "Name", Extensions: []string{"jpg"}}, {Segment: "b", Name: "Name", Private: true, Extensions: []string{"png", "jpg"}}}
	if diff := cmp.Diff(migrate.NewCategory{Name: "Name", Private: true, Extensions: []string{"jpg", "png"}}, k.called("Name")); diff != "" {
		t.Error(diff)
	}
}

// TestFullCategory verifies that a category with the maximum number of extensions accepts no
// others.
func TestFullCategory(t *testing.T) {
	full := sources.Category{Segment: "Full", Name: "Full"}
	for n := range maxExtensions {
		full.Extensions = append(full.Extensions, fmt.Sprintf("e%d", n))
	}
	r := migrate.DefaultRules()
	r.CategoryBy = "folder"
	p := newTestPlacer(r, nil)
	p.sourceCategories = sourceCategories{full}
	for key, want := range map[string]migrate.Reason{"Full/a.e1": "", "Full/a.jpg": migrate.ReasonUnsupportedType} {
		if _, why := p.Place(sources.Object{Key: sources.Key(key)}, nil); why != want {
			t.Errorf("%s: %q, want %q", key, why, want)
		}
	}
}
