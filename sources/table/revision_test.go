package table

import (
	"slices"
	"strings"
	"testing"
)

// TestRanks verifies the order of revisions of each form.
func TestRanks(t *testing.T) {
	for _, ascending := range [][]string{
		{"0", "1", "v2", "V2.0.1", "2.1", "2.9", "2.10", "10", "1571218330", "20240531120000"},
		{"0001-01-01", "1969-12-31 23:59", "2024-05-31", "2024-05-31T00:00:00.5Z", "2024-05-31T02:00:01+02:00", "2024-05-31 00:00:02", "2024-05-31T00:01", "2024-05-31 12:00:00Z"},
	} {
		var ranks []string
		for _, text := range ascending {
			r := rankOf(text)
			if !r.isOf(rankOf(ascending[0])) {
				t.Errorf("%q has the rank %q", text, r)
			}
			ranks = append(ranks, string(r))
		}
		if !slices.IsSorted(ranks) || len(slices.Compact(ranks)) != len(ascending) {
			t.Errorf("%q does not ascend: %q", ascending, ranks)
		}
	}
	for _, same := range [][2]string{{"1", "1.0"}, {"v1", "1.0.00"}, {"0", "0.0"}, {"2024-05-31", "2024-05-31T02:00:00+02:00"}} {
		if rankOf(same[0]) != rankOf(same[1]) || rankOf(same[0]) == "" {
			t.Errorf("%q differ", same)
		}
	}
	for _, text := range []string{"", "v", "vv1", ".", "1.", "1..0", "-1", "+1", "1,000", "1e3", "0x1", "final", "31.05.2024 12:00", "05/31/2024", "18446744073709551616", strings.Repeat("1.", 8) + "1"} {
		if r := rankOf(text); r != "" {
			t.Errorf("%q has the rank %q", text, r)
		}
	}
	if rankOf("1").isOf(rankOf("2024-05-31")) {
		t.Error("a number can be compared with a date")
	}
}

// TestVersionTags verifies that a version tag contains the revision, and that it can be removed.
func TestVersionTags(t *testing.T) {
	for _, revision := range []string{"", "1.0", "2024-05-31 12:00", "odd; text"} {
		for _, tag := range []string{"", "etag", "a; b", "1.0"} {
			e := entry{revision: revision}
			if got, ok := e.contentTag(e.versionTag(tag)); !ok || got != tag {
				t.Errorf("%q of %q: got %q, %v", tag, revision, got, ok)
			}
			if other := (entry{revision: "2"}); revision != "" && rankOf(revision) != "" {
				_, ok := other.contentTag(e.versionTag(tag))
				if r, rest := splitTag(e.versionTag(tag)); ok || r != rankOf(revision) || rest != tag {
					t.Errorf("%q of %q has another revision", tag, revision)
				}
			}
		}
	}
}
