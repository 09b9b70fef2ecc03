package blocks

import (
	"fmt"
	"strings"
	"testing"
)

// TestFit verifies that a block shows an image of at most the width that WordPress offers instead of
// a larger file, in its HTML and in its attributes, and that links keep the file.
func TestFit(t *testing.T) {
	const file, image = service + "p1/file", service + "p1/images/2100.webp"
	large := func(url string) (widths []Width, ok bool) {
		if !strings.HasPrefix(url, service) {
			return nil, false
		}
		for _, n := range []int{700, 1400, 2100, 2800, 3500} {
			widths = append(widths, Width{n, fmt.Sprintf("%sp1/images/%d.webp", service, n)})
		}
		return widths, true
	}
	for name, c := range map[string][2]string{
		"image": {
			`<!-- wp:image {"id":5} --><figure><a href="FILE"><img src="FILE" alt="" class="wp-image-5"/></a></figure><!-- /wp:image -->`,
			`<!-- wp:image --><figure><a href="FILE"><img src="IMAGE" alt=""/></a></figure><!-- /wp:image -->`,
		},
		"image in another width": {
			`<!-- wp:image {"id":5} --><img src="` + service + `p1/images/700.webp" alt=""/><!-- /wp:image -->`,
			`<!-- wp:image --><img src="` + service + `p1/images/700.webp" alt=""/><!-- /wp:image -->`,
		},
		"image without an ID": {
			`<!-- wp:image --><img src="FILE" alt=""/><!-- /wp:image -->`,
			`<!-- wp:image --><img src="FILE" alt=""/><!-- /wp:image -->`,
		},
		"gallery": {
			`<!-- wp:gallery {"ids":[5]} --><ul><li><img src="FILE" data-id="5" data-full-url="FILE" class="wp-image-5"/></li></ul><!-- /wp:gallery -->`,
			`<!-- wp:gallery --><ul><li><img src="IMAGE" data-full-url="FILE"/></li></ul><!-- /wp:gallery -->`,
		},
		"media and text": {
			`<!-- wp:media-text {"mediaId":5,"mediaLink":"FILE","mediaType":"image","imageFill":true} --><figure style="background-image:url(FILE);background-position:50% 50%"><img src="FILE" class="wp-image-5 size-full"/></figure><!-- /wp:media-text -->`,
			`<!-- wp:media-text {"mediaLink":"FILE","mediaType":"image","imageFill":true} --><figure style="background-image:url(IMAGE);background-position:50% 50%"><img src="IMAGE"/></figure><!-- /wp:media-text -->`,
		},
		"cover": {
			`<!-- wp:cover {"customURL":"FILE","url":"FILE","id":5,"dimRatio":50} --><img class="a wp-image-5" src="FILE"/><!-- /wp:cover -->`,
			`<!-- wp:cover {"customURL":"FILE","url":"IMAGE","dimRatio":50} --><img class="a" src="IMAGE"/><!-- /wp:cover -->`,
		},
		"parallax": {
			`<!-- wp:cover {"id":5,"url":"FILE"} --><div style="background-position:50% 50%;background-image:url(FILE)"></div><!-- /wp:cover -->`,
			`<!-- wp:cover {"url":"IMAGE"} --><div style="background-position:50% 50%;background-image:url(IMAGE)"></div><!-- /wp:cover -->`,
		},
		"file": {
			`<!-- wp:file {"id":5,"href":"FILE"} --><a href="FILE">x</a><!-- /wp:file -->`,
			`<!-- wp:file {"href":"FILE"} --><a href="FILE">x</a><!-- /wp:file -->`,
		},
	} {
		urls := strings.NewReplacer("FILE", file, "IMAGE", image)
		text, want := urls.Replace(c[0]), urls.Replace(c[1])
		got := Convert(text, large)
		if got.Text != want {
			t.Errorf("%s becomes\n%s\nwant\n%s", name, got.Text, want)
		}
		if again := Convert(got.Text, large); again.Text != got.Text {
			t.Errorf("%s becomes\n%s\nand then\n%s", name, got.Text, again.Text)
		}
	}
}
