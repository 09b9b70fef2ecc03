//go:build wordpress

// Package rewrite rewrites the posts of a real WordPress with the built program: the rendered pages,
// the whole database and the sandbox are compared before and after.
//
//	go test -tags wordpress ./internal/test/wordpress/rewrite
package rewrite

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRewrite(t *testing.T) {
	s := newStage(t, 60, 200)
	s.addOthers()
	former, formerPages, formerData := s.contents(), s.pages(), s.database()
	s.checkSrcset()
	s.checkBlocks(former)

	s.ferry(0, "rewrite", s.url())
	if diff := cmp.Diff(former, s.contents()); diff != "" {
		t.Fatalf("a dry run changes content: %s", diff)
	}
	t.Logf("a dry run changes:\n%s", listed(formerData.changes(s.database())))

	formerData = s.database()
	out := s.ferry(0, "rewrite", s.url(), "--write")
	t.Logf("…%s", out[strings.LastIndex(out, "original in"):])
	changes := formerData.changes(s.database())
	t.Logf("rewrite --write changes:\n%s", listed(changes))
	for name := range changes {
		if !slices.Contains(expectedChanges, name) {
			t.Errorf("unexpected change: %s", name)
		}
	}

	found := differences{}
	urls := map[string]bool{}
	for page, after := range s.pages() {
		found.compare(s, page, formerPages[page], after)
		for _, url := range images(after) {
			urls[url] = true
		}
	}
	t.Logf("the pages change:\n%s", listed(found))
	for kind := range found {
		if !isExpected(kind) {
			t.Errorf("unexpected difference: %s", kind)
		}
	}
	s.checkImages(urls)
	s.checkMissed()
	s.checkBlocks(s.contents())

	s.ferry(0, "rewrite", s.url(), "--write")
	if n := len(s.backups()); n != 1 {
		t.Errorf("a repetition leaves %d backups", n)
	}
	dir := s.backups()[0]
	s.ferry(0, "rewrite", "--restore", dir)
	s.ferry(0, "rewrite", "--restore", dir, "--write")
	if diff := cmp.Diff(former, s.contents()); diff != "" {
		t.Errorf("restored content differs: %s", diff)
	}
	for page, after := range s.pages() {
		if after != formerPages[page] {
			t.Errorf("%s differs after the restore:\n%s", page, cmp.Diff(formerPages[page], after))
		}
	}
}

// expectedChanges are the columns and rows that a write may change: content, its time, a revision,
// the use of the application password, and what WordPress does whenever a post is saved.
var expectedChanges = []string{
	"wp_posts.post_content", "wp_posts.post_modified", "wp_posts.post_modified_gmt", "wp_posts: new revision",
	"wp_usermeta.meta_value _application_passwords",
	"wp_postmeta: new _encloseme", "wp_postmeta: new _pingme", "wp_options.option_value cron", "wp_options: new _transient_doing_cron", "wp_options.option_value _transient_doing_cron",
	"wp_posts.post_date", // of drafts
}

// isExpected reports whether a kind of difference concerns URLs, widths or removed IDs.
func isExpected(kind string) bool {
	for _, part := range []string{
		" src: U -> U", " href: U -> U", " data-full-url: U -> U", " data-link: U -> U", " srcset: U Nw... -> U Nw...", " sizes: ", " gains srcset=U Nw...", " gains sizes=", " loses srcset=", " loses sizes=",
		" loses width=N", " loses height=N", // of blocks: WordPress knows them only by ID
		" loses class=wp-image-N", " loses id=attachment_N", " loses aria-describedby=caption-attachment-N", " loses id=caption-attachment-N", " loses data-id=N",
		" loses loading=lazy",
	} {
		if strings.Contains(kind, part) {
			return true
		}
	}
	if _, style, ok := strings.Cut(kind, " style: "); ok { // a background
		was, is, _ := strings.Cut(style, " -> ")
		return was == is && strings.Contains(is, "background-image:url(U)")
	}
	name, rest, isClass := strings.Cut(kind, " class: ")
	was, is, _ := strings.Cut(rest, " -> ")
	return isClass && name != "" && strings.Join(strings.Fields(strings.ReplaceAll(was, "wp-image-N", "")), " ") == is
}

// checkImages requests all images of the pages: those of migrated files are at the sandbox.
func (s *stage) checkImages(urls map[string]bool) {
	s.Helper()
	local := 0
	for _, url := range slices.Sorted(maps.Keys(urls)) {
		status, kind, _ := s.get(url)
		if status != http.StatusOK || !strings.HasPrefix(kind, "image/") {
			s.Errorf("%s: %d %s", url, status, kind)
		}
		if strings.HasPrefix(url, s.site.URL) {
			local++
		}
	}
	s.Logf("%d images of the pages answer, %d of them at the site (featured images)", len(urls), local)
}

// checkMissed verifies that no content refers to the uploads any more, except by links that must stay.
func (s *stage) checkMissed() {
	s.Helper()
	for id, text := range s.contents() {
		if n := strings.Index(text, "/wp-content/uploads/"); n >= 0 {
			s.Errorf("post %s still has an old URL: %s", id, text[max(0, n-100):min(len(text), n+100)])
		}
	}
}

// addOthers adds posts of other types and states, and with content that a filter would remove.
func (s *stage) addOthers() {
	s.Helper()
	m, next := s.media(3), s.media(4)
	image := fmt.Sprintf("<!-- wp:image {\"id\":%d,\"sizeSlug\":\"medium\"} -->\n<figure class=\"wp-block-image size-medium\"><img src=\"%s\" alt=\"\" class=\"wp-image-%[1]d\"/></figure>\n<!-- /wp:image -->", m.ID, m.Medium)
	script := fmt.Sprintf("<!-- wp:html -->\n<script>var x = \"%s\"; if (1 < 2 && x) {}</script><iframe src=\"https://example.com/\"></iframe>\n<!-- /wp:html -->\n\n%s", strings.ReplaceAll(m.Full, "/", `\/`), image)
	s.addPost(map[string]any{"post_content": script, "post_name": "script"})
	reusable := s.addPost(map[string]any{"post_type": "wp_block", "post_content": image})
	s.addPost(map[string]any{"post_content": fmt.Sprintf("<!-- wp:block {\"ref\":%d} /-->", reusable), "post_name": "reuse"})
	s.addPost(map[string]any{"post_type": "story", "post_content": image, "post_name": "story"})
	for _, status := range []string{"draft", "private", "future", "pending"} {
		s.addPost(map[string]any{"post_content": image, "post_status": status, "post_date": "2031-01-02 03:04:05"})
	}
	s.addPost(map[string]any{"post_content": fmt.Sprintf("[gallery ids=\"%d,%d\" link=\"file\" columns=\"2\"]\r\n\r\nТекст `\\n` \\\\ \"x\"\r\n\r\n[gallery ids=\"%[2]d\" link=\"none\" size=\"full\"]", m.ID, next.ID), "post_name": "galleries"})
	s.addPost(map[string]any{"post_content": fmt.Sprintf("<!-- wp:shortcode -->\n[gallery ids=\"%d,%d\"]\n<!-- /wp:shortcode -->\n\n<!-- wp:paragraph -->\n<p>本文 <img class=\"wp-image-%[1]d\" style=\"width: 50px;\" src=\"%[3]s\" alt=\"\"></p>\n<!-- /wp:paragraph -->", m.ID, next.ID, m.Medium), "post_name": "shortcode-block"})
	s.addPost(map[string]any{"post_content": otherForms(m.ID, m.Full, m.Medium), "post_name": "forms"})
	s.site.PHP(`
$id = wp_insert_post(['post_type' => 'wp_template', 'post_name' => 'extra', 'post_title' => 'Extra', 'post_status' => 'publish', 'post_content' => wp_slash($args[0])]);
wp_set_object_terms($id, 'plain', 'wp_theme');`, image)
}

// otherForms returns blocks in other forms than those of most posts: a fixed background, a filled
// column, a resized image, a button, and a gallery of older versions.
func otherForms(id int, full, medium string) string {
	return strings.NewReplacer("ID", fmt.Sprint(id), "FULL", full, "MEDIUM", medium).Replace(`<!-- wp:cover {"url":"FULL","id":ID,"hasParallax":true,"dimRatio":50} -->
<div class="wp-block-cover has-parallax"><span aria-hidden="true" class="wp-block-cover__background has-background-dim"></span><div role="img" class="wp-block-cover__image-background wp-image-ID has-parallax" style="background-position:50% 50%;background-image:url(FULL)"></div><div class="wp-block-cover__inner-container"></div></div>
<!-- /wp:cover -->

<!-- wp:media-text {"align":"wide","mediaId":ID,"mediaType":"image","imageFill":true} -->
<div class="wp-block-media-text alignwide is-stacked-on-mobile is-image-fill"><figure class="wp-block-media-text__media" style="background-image:url(FULL);background-position:50% 50%"><img src="FULL" alt="" class="wp-image-ID size-full"/></figure><div class="wp-block-media-text__content"></div></div>
<!-- /wp:media-text -->

<!-- wp:image {"id":ID,"width":150,"height":113,"sizeSlug":"medium"} -->
<figure class="wp-block-image size-medium is-resized"><img src="MEDIUM" alt="" class="wp-image-ID" width="150" height="113"/></figure>
<!-- /wp:image -->

<!-- wp:file {"id":ID,"href":"FULL"} -->
<div class="wp-block-file"><a id="wp-block-file--media-1" href="FULL">file</a><a href="FULL" class="wp-block-file__button wp-element-button" download aria-describedby="wp-block-file--media-1">Download</a></div>
<!-- /wp:file -->

<!-- wp:gallery {"ids":[ID],"linkTo":"none"} -->
<figure class="wp-block-gallery columns-1 is-cropped"><ul class="blocks-gallery-grid"><li class="blocks-gallery-item"><figure><img src="FULL" alt="" data-id="ID" data-full-url="FULL" data-link="FULL" class="wp-image-ID"/></figure></li></ul></figure>
<!-- /wp:gallery -->`)
}
