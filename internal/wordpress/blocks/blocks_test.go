package blocks

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// service begins the URLs of all assets in the tests.
const service = "https://assets.example.com/env/assets/"

// lookup finds assets: those whose ID begins with p are images, all others are files.
func lookup(url string) (widths []Width, ok bool) {
	rest, ok := strings.CutPrefix(url, service)
	if !ok {
		return nil, false
	}
	id, _, _ := strings.Cut(rest, "/")
	if strings.HasPrefix(id, "p") {
		for _, n := range []int{80, 160, 320} {
			widths = append(widths, Width{n, fmt.Sprintf("%s%s/images/%d.webp", service, id, n)})
		}
	}
	return widths, true
}

func TestConvert(t *testing.T) {
	const p, small = service + "p1/file", service + "p1/images/160.webp"
	const set = service + "p1/images/80.webp 80w, " + service + "p1/images/160.webp 160w, " + service + "p1/images/320.webp 320w"
	for _, test := range []struct {
		name, text, want string
		ids, sets        int
		left             []string
	}{
		{name: "no reference", text: `<p>Text & <b>bold</b> [gallery] <img src="https://example.com/a.jpg" class="wp-image-3"></p>`},
		{
			name: "image", ids: 2,
			text: `<!-- wp:image {"id":5,"sizeSlug":"large"} --><figure class="wp-block-image size-large"><img src="` + p + `" alt="a" class="wp-image-5"/></figure><!-- /wp:image -->`,
			want: `<!-- wp:image {"sizeSlug":"large"} --><figure class="wp-block-image size-large"><img src="` + p + `" alt="a"/></figure><!-- /wp:image -->`,
		},
		{
			name: "image with only an ID", ids: 2,
			text: `<!-- wp:image {"id":5} --><figure class="wp-block-image"><img src="` + p + `" alt="" class="wp-image-5"/></figure><!-- /wp:image -->`,
			want: `<!-- wp:image --><figure class="wp-block-image"><img src="` + p + `" alt=""/></figure><!-- /wp:image -->`,
		},
		{name: "image without an asset", text: `<!-- wp:image {"id":5} --><figure><img src="/a.jpg" class="wp-image-5"/></figure><!-- /wp:image -->`},
		{
			name: "media and text loses the size, too", ids: 2,
			text: `<!-- wp:media-text {"mediaId":7,"mediaType":"image"} --><div><figure><img src="` + p + `" alt="" class="wp-image-7 size-full"/></figure></div><!-- /wp:media-text -->`,
			want: `<!-- wp:media-text {"mediaType":"image"} --><div><figure><img src="` + p + `" alt=""/></figure></div><!-- /wp:media-text -->`,
		},
		{
			name: "cover", ids: 2,
			text: `<!-- wp:cover {"url":"` + p + `","id":9,"dimRatio":50} --><div><img class="wp-block-cover__image-background wp-image-9" alt="" src="` + p + `"/><!-- wp:paragraph --><p>x</p><!-- /wp:paragraph --></div><!-- /wp:cover -->`,
			want: `<!-- wp:cover {"url":"` + p + `","dimRatio":50} --><div><img class="wp-block-cover__image-background" alt="" src="` + p + `"/><!-- wp:paragraph --><p>x</p><!-- /wp:paragraph --></div><!-- /wp:cover -->`,
		},
		{
			name: "parallax", ids: 2,
			text: `<!-- wp:cover {"url":"` + p + `","id":9,"hasParallax":true} --><div role="img" class="wp-image-9 has-parallax" style="background-image:url(` + p + `)"></div><!-- /wp:cover -->`,
			want: `<!-- wp:cover {"url":"` + p + `","hasParallax":true} --><div role="img" class="has-parallax" style="background-image:url(` + p + `)"></div><!-- /wp:cover -->`,
		},
		{
			name: "file", ids: 1,
			text: `<!-- wp:file {"id":4,"href":"` + service + `d1/file"} --><div><a href="` + service + `d1/file">d</a></div><!-- /wp:file -->`,
			want: `<!-- wp:file {"href":"` + service + `d1/file"} --><div><a href="` + service + `d1/file">d</a></div><!-- /wp:file -->`,
		},
		{
			name: "video and audio", ids: 2,
			text: `<!-- wp:video {"id":4} --><video src="` + service + `v1/file"></video><!-- /wp:video --><!-- wp:core/audio {"autoplay":true,"id":4} --><audio src="` + service + `a1/file"></audio><!-- /wp:core/audio -->`,
			want: `<!-- wp:video --><video src="` + service + `v1/file"></video><!-- /wp:video --><!-- wp:core/audio {"autoplay":true} --><audio src="` + service + `a1/file"></audio><!-- /wp:core/audio -->`,
		},
		{
			name: "gallery of image blocks", ids: 3,
			text: `<!-- wp:gallery {"ids":[1],"linkTo":"none"} --><figure><!-- wp:image {"id":1} --><figure><img src="` + small + `" class="wp-image-1"/></figure><!-- /wp:image --></figure><!-- /wp:gallery -->`,
			want: `<!-- wp:gallery {"linkTo":"none"} --><figure><!-- wp:image --><figure><img src="` + small + `"/></figure><!-- /wp:image --></figure><!-- /wp:gallery -->`,
		},
		{
			name: "gallery of the first form", ids: 5,
			text: `<!-- wp:gallery {"ids":[1,2]} --><ul><li><img src="` + p + `" data-id="1" class="wp-image-1"/></li><li><img src="` + small + `" data-id="2" class="wp-image-2"/></li></ul><!-- /wp:gallery -->`,
			want: `<!-- wp:gallery --><ul><li><img src="` + p + `"/></li><li><img src="` + small + `"/></li></ul><!-- /wp:gallery -->`,
		},
		{
			name: "gallery with another file", left: []string{Mixed},
			text: `<!-- wp:gallery {"ids":[1,2]} --><ul><li><img src="` + p + `" data-id="1" class="wp-image-1"/></li><li><img src="/b.jpg" data-id="2" class="wp-image-2"/></li></ul><!-- /wp:gallery -->`,
		},
		{
			name: "classic", ids: 1, sets: 1,
			text: `<a href="` + p + `"><img class="alignleft size-medium wp-image-12" src="` + small + `" alt="a" width="150" height="100" /></a>`,
			want: `<a href="` + p + `"><img class="alignleft size-medium" src="` + small + `" srcset="` + set + `" sizes="(max-width: 150px) 100vw, 150px" alt="a" width="150" height="100" /></a>`,
		},
		{
			name: "the class directly after the URL", ids: 1, sets: 1,
			text: `<IMG SRC='` + small + `' class=wp-image-12>`,
			want: `<IMG SRC='` + small + `' srcset="` + set + `" sizes="(max-width: 160px) 100vw, 160px">`,
		},
		{
			name: "other widths", sets: 1,
			text: `<img src="` + small + `" srcset="` + small + ` 300w" sizes="100vw">`,
			want: `<img src="` + small + `" srcset="` + set + `" sizes="100vw">`,
		},
		{name: "image without an ID", text: `<img src="` + p + `" width="20">`},
		{
			name: "caption", ids: 2, sets: 1,
			text: `[caption id="attachment_5" align="alignnone" width="160"]<img class="wp-image-5" src="` + small + `"> Text[/caption] [[caption id="attachment_5"]<img src="` + small + `">[/caption]]`,
			want: `[caption align="alignnone" width="160"]<img src="` + small + `" srcset="` + set + `" sizes="(max-width: 160px) 100vw, 160px"> Text[/caption] [[caption id="attachment_5"]<img src="` + small + `">[/caption]]`,
		},
		{name: "caption of another image", text: `[caption id="attachment_5"]<img class="wp-image-5" src="/b.jpg"> Text[/caption]`},
		{
			name: "image in a paragraph", ids: 1, sets: 1,
			text: `<!-- wp:paragraph --><p>a <img class="wp-image-5" style="width: 20px;" src="` + small + `" alt=""></p><!-- /wp:paragraph -->`,
			want: `<!-- wp:paragraph --><p>a <img style="width: 20px;" src="` + small + `" srcset="` + set + `" sizes="(max-width: 160px) 100vw, 160px" alt=""></p><!-- /wp:paragraph -->`,
		},
		{
			name: "block of a plugin", left: []string{Foreign},
			text: `<!-- wp:kadence/image {"id":5} --><figure><img src="` + p + `" class="wp-image-5"/></figure><!-- /wp:kadence/image -->`,
		},
		{name: "no end", left: []string{Unbalanced}, text: `<!-- wp:image {"id":5} --><figure><img src="` + p + `" class="wp-image-5"/></figure>`},
		{name: "no beginning", left: []string{Unbalanced}, text: `<p>a</p><!-- /wp:image -->`},
		{
			name: "crossed", left: []string{Unbalanced, Unbalanced, Unbalanced},
			text: `<!-- wp:group --><!-- wp:image {"id":5} --><img src="` + p + `" class="wp-image-5"/><!-- /wp:group --><!-- /wp:image -->`,
		},
		{name: "no JSON", left: []string{Invalid}, text: `<!-- wp:image {"id":5,} --><img src="` + p + `" class="wp-image-5"/><!-- /wp:image -->`},
		{name: "playlist", left: []string{ByID}, text: `[playlist ids="3,4"] [[playlist ids="3"]]`},
		{name: "page builder", left: []string{ByID}, text: `[vc_single_image image="17" img_size="full"]`},
		{name: "script and comment", text: `<script>x = '<img src="` + p + `" class="wp-image-5">'</script><!-- <img src="` + p + `" class="wp-image-5"> --><img src="` + p},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := Result{Text: test.want, IDs: test.ids, Sets: test.sets}
			if test.want == "" {
				want.Text = test.text
			}
			got := Convert(test.text, lookup)
			var left []string
			for _, l := range got.Left {
				left = append(left, l.Why)
			}
			got.Left = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(test.left, left); diff != "" {
				t.Errorf("left, -want +got:\n%s", diff)
			}
			if again := Convert(got.Text, lookup); again.Text != got.Text || again.IDs+again.Sets > 0 {
				t.Errorf("a second conversion changes it to\n%s", again.Text)
			}
		})
	}
}

// TestGolden converts whole posts, after their galleries were expanded.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text := read(t, name)
		if rendered, err := os.ReadFile(strings.TrimSuffix(name, ".html") + ".rendered"); err == nil {
			var left []Left
			if text, left = ExpandGalleries(text, string(rendered), isAsset); left != nil {
				t.Errorf("%s: %v", name, left)
			}
		}
		got := Convert(text, lookup).Text
		if *update {
			if err := os.WriteFile(name+".golden", []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(read(t, name+".golden"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func isAsset(url string) bool {
	_, ok := lookup(url)
	return ok
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
