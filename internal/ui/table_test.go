package ui

import (
	"strings"
	"testing"
)

func TestTableFitsTheScreen(t *testing.T) {
	columns := []Column{{Title: "Action"}, {Title: "Reason", Wrap: true}, {Title: "Objects", Right: true}}
	got := Table(columns, [][]string{
		{"create", "sent before, and nobody can tell whether it arrived, see --retry-exhausted, if need be", "1,234,567"},
		{"adopt", "equal", "1"},
	})
	want := `Action  Reason                                                      Objects
create  sent before, and nobody can tell whether it arrived, see  1,234,567
        --retry-exhausted, if need be
adopt   equal                                                             1
`
	equal(t, got, want)
	for line := range strings.Lines(got) {
		if w := textWidth(strings.TrimSuffix(line, "\n")); w > screenWidth {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	narrow := Table(columns, [][]string{{"create", "new", "1"}})
	equal(t, narrow, "Action  Reason  Objects\ncreate  new           1\n")
}
