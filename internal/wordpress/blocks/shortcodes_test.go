package blocks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const madeOne = "<p>a</p>\n<div id='gallery-1' class='gallery galleryid-3 gallery-columns-3 gallery-size-thumbnail'><figure class='gallery-item'>\n\t\t\t<div class='gallery-icon landscape'>\n\t\t\t\t<a href='https://example.com/?attachment_id=5'><img src=\"" + service + "p1/file\" /></a>\n\t\t\t</div></figure>\n\t\t</div>\n<p>b</p>"

const madeLine = `<div id='gallery-1' class='gallery galleryid-3 gallery-columns-3 gallery-size-thumbnail'><figure class='gallery-item'><div class='gallery-icon landscape'><a href='https://example.com/?attachment_id=5'><img src="` + service + `p1/file" /></a></div></figure></div>`

func TestExpandGalleries(t *testing.T) {
	const code = `[gallery ids="5"]`
	for _, test := range []struct {
		name, text, rendered, want string
		refused                    bool
	}{
		{name: "no gallery", text: "<p>a</p>", rendered: madeOne, want: "<p>a</p>"},
		{name: "shown as text", text: "[[gallery]]", rendered: "[gallery]", want: "[[gallery]]"},
		{name: "classic", text: "a\r\n\r\n" + code + "\r\n\r\nb", rendered: madeOne, want: "a\r\n\r\n" + madeLine + "\r\n\r\nb"},
		{name: "whole post", text: code, rendered: madeOne, want: madeLine},
		{name: "within a line", text: "a " + code + "\n\nb", rendered: madeOne, refused: true},
		{name: "no empty line before", text: "a\n" + code + "\n\nb", rendered: madeOne, refused: true},
		{
			name: "block", rendered: madeOne,
			text: "<!-- wp:shortcode -->\n" + code + "\n<!-- /wp:shortcode -->\n\n<!-- wp:paragraph --><p>b</p><!-- /wp:paragraph -->",
			want: "<!-- wp:html -->\n" + madeLine + "\n<!-- /wp:html -->\n\n<!-- wp:paragraph --><p>b</p><!-- /wp:paragraph -->",
		},
		{name: "HTML block", text: "<!-- wp:html --><b>" + code + "</b><!-- /wp:html -->", rendered: madeOne, want: "<!-- wp:html --><b>" + madeLine + "</b><!-- /wp:html -->"},
		{name: "block with other text", text: "<!-- wp:shortcode -->a " + code + "<!-- /wp:shortcode -->", rendered: madeOne, refused: true},
		{name: "paragraph block", text: "<!-- wp:paragraph --><p>" + code + "</p><!-- /wp:paragraph -->", rendered: madeOne, refused: true},
		{name: "random order", text: `[gallery ids="5" orderby="rand"]`, rendered: madeOne, refused: true},
		{name: "not in the rendered text", text: code, rendered: "<p>protected</p>", refused: true},
		{name: "another number", text: code, rendered: madeOne + madeOne, refused: true},
		{name: "without assets", text: code, rendered: strings.ReplaceAll(madeOne, service, "/old/"), want: code},
		{name: "with another file", text: code, rendered: strings.ReplaceAll(madeOne, "<img ", `<img src="/b.jpg" /><img `), refused: true},
		{name: "no end", text: code, rendered: strings.ReplaceAll(madeOne, "</div>", ""), refused: true},
		{name: "one of two is in a line", text: code + "\n\na " + code, rendered: madeOne + madeOne, refused: true},
		{name: "list markup in classic text", text: code, rendered: strings.ReplaceAll(madeOne, "</figure>", "</figure><br style='clear: both' />"), refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, left := ExpandGalleries(test.text, test.rendered, isAsset)
			if test.refused {
				test.want = test.text
			}
			if diff := cmp.Diff(test.want, got); diff != "" || test.refused != (len(left) > 0) {
				t.Errorf("refused: %v (-want +got):\n%s", left, diff)
			}
		})
	}
}
