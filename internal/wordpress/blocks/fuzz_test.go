package blocks

import (
	"strings"
	"testing"
)

// parts are the parts of the texts of the fuzz target.
var parts = []string{
	"<!-- wp:image {\"id\":5} -->", "<!-- wp:image -->", "<!-- /wp:image -->", "<!-- wp:gallery {\"ids\":[1,2]} -->", "<!-- /wp:gallery -->", "<!-- wp:cover {\"url\":\"" + service + "p2/file\",\"id\":7} -->",
	"<!-- /wp:cover -->", "<!-- wp:html -->", "<!-- /wp:html -->", "<!-- wp:x/y {\"id\":1} /-->", "<!-- wp:paragraph -->", "<!-- /wp:paragraph -->", "<img ", "src=\"" + service + "p1/file\" ", "src='/a.jpg' ",
	"class=\"wp-image-5\" ", "class='a wp-image-5 size-full'", "class=wp-image-6", "srcset=\"x 1w\"", "data-id=\"1\"", "/>", ">", "<", "\"", "'", "[caption id=\"attachment_5\"]", "[/caption]", "[gallery]", "[", "]",
	"<script>", "</script>", "<!--", "-->", "{", "}", "\n", "\n\n", " ", "é", "\xff", "=", "/", "a", "<a href=\"" + service + "d/file\">", "<video ", "</p>", "<p>",
}

func FuzzConvert(f *testing.F) {
	f.Add([]byte{0, 12, 13, 15, 20, 2})
	f.Add([]byte{3, 0, 12, 13, 15, 20, 2, 4, 25, 12, 13, 16, 21, 26})
	f.Fuzz(func(t *testing.T, choice []byte) {
		var b strings.Builder
		for _, c := range choice {
			b.WriteString(parts[int(c)%len(parts)])
		}
		text := b.String()
		if got := Convert(text, func(string) ([]Width, bool) { return nil, false }); got.Text != text || got.IDs+got.Sets > 0 {
			t.Fatalf("without assets,\n%q becomes\n%q", text, got.Text)
		}
		once := Convert(text, lookup)
		if once.IDs+once.Sets == 0 && once.Text != text {
			t.Fatalf("no change is counted, but\n%q becomes\n%q", text, once.Text)
		}
		if again := Convert(once.Text, lookup); again.Text != once.Text {
			t.Fatalf("%q becomes\n%q and then\n%q", text, once.Text, again.Text)
		}
		if before, after := comments(text), comments(once.Text); before != after {
			t.Fatalf("%q has %d blocks\n%q has %d", text, before, once.Text, after)
		}
		if got, left := ExpandGalleries(text, madeOne, isAsset); len(left) > 0 && got != text {
			t.Fatalf("refused, but\n%q becomes\n%q", text, got)
		}
	})
}

func comments(text string) int { return len(delimiter().FindAllString(text, -1)) }
