package strictyaml_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assetferry/internal/strictyaml"
)

// TestPlaceIn verifies the position of the caret for every form of a value.
func TestPlaceIn(t *testing.T) {
	for name, text := range map[string]string{
		"plain":         "a: 1\nb: some €text @ here\n",
		"single quotes": "b: 'it''s €, it''s @'\n",
		"double quotes": `b: "a \"quote\", \u00e9 \x41 @ and on"` + "\n",
		"literal":       "b: |\n  first\n    second\n\n  @ third\n",
		"folded":        "b: >-\n  first\n  second @ third\n",
		"plain, folded": "b: first\n    second @ third\n",
		"in quotes":     "b: 'first  \n\n   second @'\n",
		"continued":     "b: \"first \\\n   @second\"\n",
		"first":         "b: @@\n",
	} {
		t.Run(name, func(t *testing.T) {
			text = strings.Replace(text, "@@", "¶x", 1)
			text = strings.Replace(text, "@", "¶", 1)
			f, err := strictyaml.Parse("t.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			entries, err := f.Entries(f.Root)
			if err != nil {
				t.Fatal(err)
			}
			node := entries[len(entries)-1].Value
			value, _ := strictyaml.Scalar(node)
			at := utf8.RuneCountInString(value[:strings.Index(value, "¶")])
			line, column := f.PlaceIn(node, at)
			lines := strings.Split(text, "\n")
			if got := []rune(lines[line-1])[column-1:]; len(got) == 0 || got[0] != '¶' {
				t.Errorf("character %d of %q is at %d:%d, which is %q", at, value, line, column, string(got))
			}
			if e := f.ErrorIn(node, at, "here").Error(); !strings.HasSuffix(e, strings.Repeat(" ", column-1)+"^") {
				t.Errorf("the caret is elsewhere:\n%s", e)
			}
		})
	}
}
