package ui

import (
	"strings"
	"testing"

	"assetferry/internal/event"
)

func TestFindings(t *testing.T) {
	long := strings.Repeat("a-long-folder/", 9) + "photo.jpg"
	all := []event.Check{
		{Result: "blocking", Message: "3 objects, 11 B: no category allows the extension", Hint: "--unsupported skip or create, or have an administrator allow the extension in a category",
			Facts: []event.Fact{{Name: "xyz", Value: "2 objects, 4 B"}, {Name: "(none)", Value: "1 object, 7 B"}}, Examples: []string{"README", "a.xyz", "b/B.XYZ"}},
		{Result: "warning", Message: "1 object: empty", Examples: []string{"a\x1b[2J"}},
		{Result: "warning", Message: "2 objects, 1.2 MB: can be run as a program, by the extension", Examples: []string{long}},
		{Result: "note", Message: "1 folder, 5 B: contents that go to several categories", Examples: []string{"2024: 1 Images, 1 Files"}},
	}
	golden(t, "findings.txt", Findings(all, false))
	golden(t, "findings-verbose.txt", Findings(all, true))
	for line := range strings.Lines(Findings(all, true)) {
		if w := textWidth(strings.TrimSuffix(line, "\n")); w > screenWidth {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	equal(t, Findings(nil, false), "")
}
