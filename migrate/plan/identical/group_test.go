package identical

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/sources"
	"assetferry/state"
)

func candidates(keys string) (all []state.Candidate) {
	for key := range strings.FieldsSeq(keys) {
		c := state.Candidate{}
		c.Key = sources.Key(key)
		all = append(all, c)
	}
	return all
}

func keysOf(all []state.Candidate) string {
	var keys []string
	for _, c := range all {
		keys = append(keys, string(c.Key))
	}
	return strings.Join(keys, " ")
}

// TestPair verifies the order of matching: case first, then the longest common ending, then the
// last remaining pair.
func TestPair(t *testing.T) {
	for _, tc := range []struct{ deleted, new, pairs, ambiguous string }{
		{"a.jpg", "b.jpg", "a.jpg>b.jpg", ""},
		{"a.jpg b.jpg", "x/B.jpg A.jpg", "a.jpg>A.jpg b.jpg>x/B.jpg", ""},
		{"x/a.jpg y/a.jpg", "z/y/a.jpg z/x/a.jpg", "y/a.jpg>z/y/a.jpg x/a.jpg>z/x/a.jpg", ""},
		{"a.jpg b.jpg", "c.jpg d.jpg", "", "c.jpg d.jpg"},
		{"a.jpg", "c.jpg d.jpg", "", "c.jpg d.jpg"},
		{"a.jpg", "x/a.jpg d.jpg", "a.jpg>x/a.jpg", ""},
		{"x/e\u0301.jpg b.jpg", "\u00e9.jpg c.jpg d.jpg", "x/e\u0301.jpg>\u00e9.jpg", "c.jpg d.jpg"},
	} {
		pairs, ambiguous := Group{candidates(tc.deleted), candidates(tc.new)}.Pair()
		var got []string
		for _, m := range pairs {
			got = append(got, string(m.Deleted.Key+">"+m.New.Key))
		}
		if diff := cmp.Diff([]string{tc.pairs, tc.ambiguous}, []string{strings.Join(got, " "), keysOf(ambiguous)}); diff != "" {
			t.Errorf("%s, %s:\n%s", tc.deleted, tc.new, diff)
		}
	}
}

func TestByContent(t *testing.T) {
	g := Group{candidates("a b c"), candidates("1 2 3 4")}
	g.Deleted[0].Checksum, g.Deleted[1].Checksum, g.Deleted[2].Checksum = []byte("x"), []byte("y"), []byte("x")
	var got []string
	for _, equal := range g.ByContent([]string{"y", "", "x", "y"}) {
		got = append(got, keysOf(equal.Deleted)+": "+keysOf(equal.New))
	}
	if diff := cmp.Diff([]string{"b: 1 4", "a c: 3"}, got); diff != "" {
		t.Error(diff)
	}
}
