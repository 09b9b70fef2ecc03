package blocks

import (
	"strings"
	"testing"
)

// TestHostileContent converts large posts whose cost must not grow with the square of their size. Any
// author of a site can write them, and a conversion cannot be cancelled.
func TestHostileContent(t *testing.T) {
	const n = 30_000
	many := func(text string) string { return strings.Repeat(text, n) }
	image := `<img class="wp-image-1" src="` + service + `p1/file">`
	for name, test := range map[string]struct {
		text string
		ids  int
	}{
		"captions without end":       {many("[caption a]"), 0},
		"captions with one end":      {many("[caption a]") + image + "[/caption]", 1},
		"captions before images":     {many("[caption a][/caption]") + many(image), n},
		"blocks without end":         {many("<!-- wp:group -->"), 0},
		"ends of other blocks":       {many("<!-- wp:group -->") + many("<!-- /wp:quote -->"), 0},
		"galleries inside galleries": {many("<!-- wp:gallery -->") + image + many("<!-- /wp:gallery -->"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if r := Convert(test.text, lookup); r.IDs != test.ids || r.IDs == 0 && r.Text != test.text {
				t.Errorf("%d IDs removed, want %d", r.IDs, test.ids)
			}
		})
	}
}
