//go:build wordpress

package rewrite

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

//go:embed editor.html
var editorPage string

// A validation is the result of the block editor for some contents.
type validation struct {
	Blocks  int
	Invalid map[string][]string // names of blocks, by the key of the content
	Errors  []string
}

var result = regexp.MustCompile(`<pre id="result">([^<]+)</pre>`)

// validate lets the block editor of the site check contents, in a browser without the rest of the
// editor: a block is invalid if its HTML is not what the editor would save.
func (s *stage) validate(contents map[string]string) (v validation) {
	s.Helper()
	scripts := s.site.PHP(`wp_scripts()->do_items(['wp-block-library']);`)
	encoded, err := json.Marshal(contents) // it escapes the ends of scripts
	s.must(err)
	dir := s.TempDir()
	page := filepath.Join(dir, "page.html")
	s.must(os.WriteFile(page, []byte(strings.NewReplacer("SCRIPTS", scripts, "CONTENTS", string(encoded)).Replace(editorPage)), 0o600))
	ctx, cancel := context.WithTimeout(s.Context(), 3*time.Minute)
	defer cancel()
	arguments := []string{"--headless=new", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--user-data-dir=" + filepath.Join(dir, "profile"), "--dump-dom"}
	if os.Geteuid() == 0 { // Chromium's own sandbox does not work for root
		arguments = append(arguments, "--no-sandbox")
	}
	c := exec.CommandContext(ctx, "chromium", append(arguments, "file://"+page)...)
	c.WaitDelay = time.Minute
	out, err := c.Output()
	s.must(err)
	found := result.FindSubmatch(out)
	if found == nil {
		s.Fatalf("the editor did not report:\n%s", out)
	}
	decoded, err := base64.StdEncoding.DecodeString(string(found[1]))
	s.must(err)
	s.must(json.Unmarshal(decoded, &v))
	if len(v.Errors) > 0 {
		s.Fatalf("the editor did not start: %q", v.Errors)
	}
	return v
}

// checkBlocks verifies that all blocks of the posts are valid.
func (s *stage) checkBlocks(contents map[string]string) {
	s.Helper()
	v := s.validate(contents)
	for id, names := range v.Invalid {
		s.Errorf("post %s has invalid blocks %q:\n%s", id, names, contents[id])
	}
	if v.Blocks < 500 {
		s.Errorf("the editor found %d blocks", v.Blocks)
	}
	s.Logf("%d blocks are valid for the editor", v.Blocks)
}

// checkSrcset verifies that blocks with srcset and sizes would be invalid, except where the editor
// keeps HTML as it is. So blocks have one URL, and the check of blocks notices a wrong attribute.
func (s *stage) checkSrcset() {
	s.Helper()
	const srcset = ` srcset="https://x/a.jpg 300w, https://x/b.jpg 600w" sizes="100vw"`
	invalid := map[string][]string{
		"image": {"core/image"}, "gallery": {"core/image"}, "media-text": {"core/media-text"}, "cover": {"core/cover"},
	}
	contents := map[string]string{}
	for name, form := range map[string]string{
		"image":      `<!-- wp:image --><figure class="wp-block-image"><img src="https://x/a.jpg" alt=""%s/></figure><!-- /wp:image -->`,
		"gallery":    `<!-- wp:gallery {"linkTo":"none"} --><figure class="wp-block-gallery has-nested-images columns-default is-cropped"><!-- wp:image --><figure class="wp-block-image"><img src="https://x/a.jpg" alt=""%s/></figure><!-- /wp:image --></figure><!-- /wp:gallery -->`,
		"media-text": `<!-- wp:media-text {"mediaType":"image"} --><div class="wp-block-media-text is-stacked-on-mobile"><figure class="wp-block-media-text__media"><img src="https://x/a.jpg" alt=""%s/></figure><div class="wp-block-media-text__content"></div></div><!-- /wp:media-text -->`,
		"cover":      `<!-- wp:cover {"url":"https://x/a.jpg","dimRatio":50} --><div class="wp-block-cover"><span aria-hidden="true" class="wp-block-cover__background has-background-dim"></span><img class="wp-block-cover__image-background" alt="" src="https://x/a.jpg"%s data-object-fit="cover"/><div class="wp-block-cover__inner-container"></div></div><!-- /wp:cover -->`,
		"html":       `<!-- wp:html --><img src="https://x/a.jpg" alt=""%s/><!-- /wp:html -->`,
		"paragraph":  `<!-- wp:paragraph --><p>x <img src="https://x/a.jpg" alt=""%s> y</p><!-- /wp:paragraph -->`,
		"freeform":   `<p><img src="https://x/a.jpg" alt=""%s/></p>`,
	} {
		contents[name+" with srcset"], contents[name] = fmt.Sprintf(form, srcset), fmt.Sprintf(form, "")
	}
	want := map[string][]string{}
	for name, blocks := range invalid {
		want[name+" with srcset"] = blocks
	}
	if diff := cmp.Diff(want, s.validate(contents).Invalid); diff != "" {
		s.Errorf("invalid blocks (-want +got):\n%s", diff)
	}
}
