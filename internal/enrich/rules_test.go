package enrich

import (
	"assetferry/state/enrichment"
	"testing"
)

// The rules permit only what is clearly permitted.
func TestRules(t *testing.T) {
	asset := func(change func(*enrichment.AuditedAsset)) enrichment.AuditedAsset {
		a := enrichment.AuditedAsset{Asset: "a", Category: "c1", CategoryName: "Images", Folder: "people/board", Name: "Zoe\u0308", Extension: "jpg", Tags: []string{"portrait"}}
		if change != nil {
			change(&a)
		}
		return a
	}
	for _, tt := range []struct {
		name  string
		rules Rules
		asset enrichment.AuditedAsset
		want  Reason
	}{
		{"no rules", Rules{}, asset(nil), ""},
		{"private", Rules{}, asset(func(a *enrichment.AuditedAsset) { a.Private = true }), ReasonPrivate},
		{"private allowed", Rules{Private: true}, asset(func(a *enrichment.AuditedAsset) { a.Private = true }), ""},
		{"a folder", Rules{Exclude: []string{"Images/people/**"}}, asset(nil), ReasonExcluded},
		{"a folder in other capitals", Rules{Exclude: []string{"images/PEOPLE/**"}}, asset(nil), ReasonExcluded},
		{"a folder anywhere", Rules{Exclude: []string{"board"}}, asset(nil), ReasonExcluded},
		{"another folder", Rules{Exclude: []string{"Images/places/**"}}, asset(nil), ""},
		{"a name in another form", Rules{Exclude: []string{"Zo\u00eb.*"}}, asset(nil), ReasonExcluded},
		{"a category", Rules{Categories: []string{" images"}}, asset(nil), ReasonCategory},
		{"a category by its id", Rules{Categories: []string{"c1"}}, asset(nil), ReasonCategory},
		{"another category", Rules{Categories: []string{"Image"}}, asset(nil), ""},
		{"a tag", Rules{Tags: []string{"Portrait"}}, asset(nil), ReasonTag},
		{"another tag", Rules{Tags: []string{"no-ai"}}, asset(nil), ""},
		{"in no folder", Rules{Exclude: []string{"Images/*.jpg"}}, asset(func(a *enrichment.AuditedAsset) { a.Folder = "" }), ReasonExcluded},
		{"without an extension", Rules{Exclude: []string{"*.jpg"}}, asset(func(a *enrichment.AuditedAsset) { a.Extension = "" }), ""},
	} {
		if got := tt.rules.exclusion(tt.asset); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if err := (Rules{Exclude: []string{"[a"}}).Check(); err == nil {
		t.Error("a glob that is none is taken")
	}
}
