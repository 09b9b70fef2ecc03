package rewrite

import (
	"errors"
	"strings"
	"testing"
)

// TestContradictions verifies that rows with different new URLs for an old URL are an error.
// Otherwise the first one would be used silently.
func TestContradictions(t *testing.T) {
	const a, b = "https://cdn.example.com/img/a%20b.jpg", "/img/b.jpg"
	for name, rows := range map[string][]Row{
		"spelled alike":       {{a, asset("1")}, {b, asset("2")}, {a, asset("3")}},
		"spelled differently": {{a, asset("1")}, {b, asset("2")}, {"HTTP://CDN.example.com/img/a b.jpg", asset("3")}},
		"after equal rows":    {{b, asset("1")}, {b, asset("1")}, {b, asset("3")}},
		"two of them":         {{a, asset("1")}, {b, asset("1")}, {b, asset("3")}, {a, asset("4")}},
		"between forms":       {{"/img/å.jpg", asset("1")}, {"/img/a\u030a.jpg", asset("2")}, {"/img/%C3%A5.jpg", asset("3")}},
	} {
		_, err := NewMap(each(rows))
		e, ok := errors.AsType[*RowError](err)
		if !ok || e.Row != 3 || e.URL != rows[2].Old || !strings.Contains(e.Msg, asset("1")) || !strings.Contains(e.Msg, asset("3")) {
			t.Errorf("%s: got %+v", name, err)
		}
	}
}

// TestNoContradictions verifies that a repeated row is accepted. So are objects whose keys differ
// only in their form of Unicode, which urls lists: the first one counts.
func TestNoContradictions(t *testing.T) {
	rows := []Row{
		{"/img/a.jpg", asset("a")}, {"/img/å.jpg", asset("1")}, {"/img/a.jpg", asset("a")},
		{"/img/a\u030a.jpg", asset("2")}, {"/img/a.jpg", strings.Replace(asset("a"), "https:", "http:", 1)},
	}
	_, m := newRewriter(t, rows)
	if v, err := m.Find(Canonical("/img/a%CC%8A.jpg")); err != nil || v.New != asset("1") {
		t.Errorf("got %+v (%v)", v, err)
	}
}
