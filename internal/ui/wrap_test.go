package ui

import (
	"strings"
	"testing"
)

func TestWrapLines(t *testing.T) {
	const columns = 40
	for _, test := range []struct{ name, text, want string }{
		{"short lines stay", "one\n\n  two  three\n", "one\n\n  two  three\n"},
		{"words", "All 70 objects are accounted for: 68 uploaded, 2 skipped.\n", "All 70 objects are accounted for: 68\nuploaded, 2 skipped.\n"},
		{"indent", "  conflict: photos/a.jpg has another name at the destination", "  conflict: photos/a.jpg has another\n  name at the destination"},
		{"a label", "conflict  photos/a.jpg: another asset has the name", "conflict  photos/a.jpg: another asset\n          has the name"},
		{"columns of a table", "create  not at the destination yet     67  3.3 MB", "create  not at the destination yet     67  3.3 MB"},
		{"a command of its own", "  assetferry migrate library --unsupported skip --limit 500", "  assetferry migrate library --unsupported skip --limit 500"},
		{"a command of a demo", "   $ assetferry migrate library --unsupported skip", "   $ assetferry migrate library --unsupported skip"},
		{"a command in a sentence", "To resume: assetferry migrate library --limit 500", "To resume:\nassetferry migrate library --limit 500"},
		{"a command in brackets", "Try: finish it (assetferry migrate library --limit 500), or give it up", "Try: finish it (assetferry migrate\nlibrary --limit 500), or give it up"},
		{"several commands", "run assetferry plan photos/2024, then assetferry apply plan.jsonl", "run assetferry plan photos/2024, then\nassetferry apply plan.jsonl"},
		{"a flag and its value", "Uploads are slow today: try it with --concurrency 2 or less", "Uploads are slow today: try it with\n--concurrency 2 or less"},
		{"a long word", "see " + strings.Repeat("x", 50) + " there", "see\n" + strings.Repeat("x", 50) + "\nthere"},
	} {
		if got := wrapLines(test.text, columns, "assetferry"); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
		if got := wrapLines(test.text, 0, "assetferry"); got != test.text {
			t.Errorf("%s: changed without a terminal:\n%s", test.name, got)
		}
	}
}

// Commands stay whole under the path by which the program was called, also on a narrow terminal.
func TestNextStepsCanBePasted(t *testing.T) {
	var stderr buffer
	out := New(Options{
		Stdout: &buffer{}, Stderr: &stderr, Progress: "none", IsTerminal: func() bool { return true }, Width: func() int { return 40 },
		Hint: func(text string) string {
			return strings.ReplaceAll(text, "assetferry ", "/opt/assetferry-1.2/assetferry ")
		},
	})
	out.Next("upload the other 1,234 objects, and then some", "assetferry migrate library --unsupported skip")
	out.Next("", "assetferry verify")
	out.Next("check the source, then run the same command again", "")
	equal(t, stderr.String(), `Next: upload the other 1,234 objects,
and then some
  /opt/assetferry-1.2/assetferry migrate library --unsupported skip
Next:
  /opt/assetferry-1.2/assetferry verify
Next: check the source, then run the
same command again
`)
}
