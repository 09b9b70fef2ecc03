package posts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/wordpress"
)

func TestDryRunWritesNothing(t *testing.T) {
	site := newSite(image(oldImage), "<p>nothing</p>")
	s, w := newSession(t, site, "")
	must(t, s.Rewrite(t.Context()))
	if len(site.writes) > 0 {
		t.Errorf("written: %q", site.writes)
	}
	want := []string{"posts/1:2 -<a href=\"" + oldImage + "\">x</a> +<a href=\"" + newImage + "\">x</a>"}
	if diff := cmp.Diff(want, w.lines); diff != "" {
		t.Error(diff)
	}
	if c := s.Session.Counts; c.Files != 2 || c.Changed != 1 || c.Replaced != 1 {
		t.Errorf("%+v", c)
	}
}

func TestRewriteAndRestore(t *testing.T) {
	site := newSite(image(oldImage), "<p>nothing</p>", `<!-- wp:image {"id":3} --><figure><img src="`+oldImage+`" class="wp-image-3"/></figure><!-- /wp:image -->`)
	site.types["wp_template"] = map[string]any{"rest_base": "templates"}
	for id, source := range map[string]string{"theme//home": "custom", "theme//index": "theme"} {
		p := site.add("templates", id, image(oldImage))
		p["source"], p["wp_id"] = source, 9
	}
	former := site.contents()
	root := t.TempDir()
	s, w := newSession(t, site, root)
	must(t, s.Rewrite(t.Context()))
	if diff := cmp.Diff([]string{"replaced posts/1", "replaced posts/3", "replaced templates/theme//home"}, w.lines); diff != "" {
		t.Fatal(diff)
	}
	if got := site.content("/wp/v2/posts/3"); got != `<!-- wp:image --><figure><img src="`+newImage+`"/></figure><!-- /wp:image -->` {
		t.Error(got)
	}
	dir := s.Session.Backup.Dir()
	name, ok, err := SiteOf(dir)
	if name != "wordpress+https://blog.example.com" || !ok || err != nil {
		t.Error(name, ok, err)
	}

	again, w := newSession(t, site, root)
	must(t, again.Rewrite(t.Context()))
	if c := again.Session.Counts; c.Changed != 0 || len(w.lines) > 0 {
		t.Errorf("a repetition changes %d posts: %q", c.Changed, w.lines)
	}

	dry, w := newSession(t, site, "")
	must(t, dry.Restore(t.Context(), dir))
	if dry.Session.Counts.Changed != 3 || len(site.writes) != 3 {
		t.Errorf("%+v %q", dry.Session.Counts, w.lines)
	}
	back, _ := newSession(t, site, t.TempDir())
	must(t, back.Restore(t.Context(), dir))
	if diff := cmp.Diff(former, site.contents()); diff != "" {
		t.Error(diff)
	}
	undo, _ := newSession(t, site, t.TempDir())
	must(t, undo.Restore(t.Context(), back.Session.Backup.Dir()))
	if got := site.content("/wp/v2/posts/1"); got != image(newImage) {
		t.Errorf("the backup of the restore has %s", got)
	}
}

func TestRestoreKeepsLaterChanges(t *testing.T) {
	site := newSite(image(oldImage), image(oldImage), image(oldImage))
	s, _ := newSession(t, site, t.TempDir())
	must(t, s.Rewrite(t.Context()))
	dir := s.Session.Backup.Dir()
	site.posts["/wp/v2/posts/1"]["content"].(map[string]any)["raw"] = "edited"
	must(t, os.WriteFile(filepath.Join(dir, "post-2.html"), []byte("damaged"), 0o600))
	back, w := newSession(t, site, t.TempDir())
	must(t, back.Restore(t.Context(), dir))
	want := []string{"failed posts/1: " + ErrConflict.Error(), "failed posts/2: " + ErrDamaged.Error(), "restored posts/3"}
	if diff := cmp.Diff(want, w.lines); diff != "" {
		t.Error(diff)
	}
	if site.content("/wp/v2/posts/1") != "edited" || back.Session.Counts.Failed != 2 {
		t.Errorf("%v", site.contents())
	}
}

func TestRewriteRefusesWithoutRights(t *testing.T) {
	site := newSite(image(oldImage))
	site.account.Capabilities = nil
	s, _ := newSession(t, site, t.TempDir())
	var right *RightError
	if err := s.Rewrite(t.Context()); !errors.As(err, &right) || !right.IsAuth() || right.Hint() == "" {
		t.Error(err)
	}
	dry, _ := newSession(t, site, "")
	must(t, dry.Rewrite(t.Context()))

	site.account.Capabilities = map[string]bool{"edit_posts": true} // of an author
	if err := dry.Rewrite(t.Context()); !errors.As(err, &right) || !strings.Contains(right.Error(), wordpress.EditOthers) {
		t.Error(err)
	}

	site.account.Capabilities = map[string]bool{unfiltered: true, wordpress.EditOthers: true} // but the configuration forbids it
	delete(site.posts["/wp/v2/posts/1"]["_links"].(map[string]any), "wp:action-unfiltered-html")
	if err := s.Rewrite(t.Context()); !errors.As(err, &right) || !strings.Contains(right.Hint(), "DISALLOW_UNFILTERED_HTML") {
		t.Error(err)
	}
	if len(site.writes) > 0 {
		t.Errorf("written: %q", site.writes)
	}
}

func TestRewriteRefusesChangedPosts(t *testing.T) {
	for name, change := range map[string]func(p map[string]any){
		"content":  func(p map[string]any) { p["content"].(map[string]any)["raw"] = "edited" },
		"modified": func(p map[string]any) { p["modified_gmt"] = "2024-05-05T00:00:00" },
	} {
		site := newSite(image(oldImage), image(oldImage))
		site.before = func(method, route string) {
			if method == "GET" && route == "/wp/v2/posts/1" {
				change(site.posts[route])
			}
		}
		s, w := newSession(t, site, t.TempDir())
		must(t, s.Rewrite(t.Context()))
		if !has(w.lines, "failed posts/1: "+ErrChanged.Error()) || !has(w.lines, "replaced posts/2") || len(site.writes) != 1 {
			t.Errorf("%s: %q, written %q", name, w.lines, site.writes)
		}
	}
}

// TestRewriteStopsAtDifferences changes something else when a post is saved.
func TestRewriteStopsAtDifferences(t *testing.T) {
	for field, change := range map[string]func(p map[string]any){
		"content": func(p map[string]any) {
			c := p["content"].(map[string]any)
			c["raw"] = strings.ReplaceAll(c["raw"].(string), "</p>", "")
		},
		"status":     func(p map[string]any) { p["status"] = "draft" },
		"title":      func(p map[string]any) { p["title"].(map[string]any)["raw"] = "other" },
		"date":       func(p map[string]any) { p["date"] = "2025-01-01T00:00:00" },
		"author":     func(p map[string]any) { p["author"] = 2 },
		"categories": func(p map[string]any) { p["categories"] = []int{1} },
	} {
		site := newSite(image(oldImage), image(oldImage))
		site.saved = func(route string, p map[string]any) {
			if strings.Contains(site.content(route), newImage) {
				change(p)
			}
		}
		s, _ := newSession(t, site, t.TempDir())
		var e *DifferenceError
		if err := s.Rewrite(t.Context()); !errors.As(err, &e) {
			t.Errorf("%s: %v", field, err)
			continue
		}
		if e.Field != field || !e.Restored || site.content("/wp/v2/posts/1") != image(oldImage) || site.content("/wp/v2/posts/2") != image(oldImage) {
			t.Errorf("%s: %v, %v", field, e, site.contents())
		}
		if text, err := os.ReadFile(e.Original); err != nil || string(text) != image(oldImage) {
			t.Errorf("%s: %q %v", field, text, err)
		}
	}
}

// TestDraftsGetNewDates changes what WordPress changes itself.
func TestDraftsGetNewDates(t *testing.T) {
	site := newSite(image(oldImage), `<a href="`+oldImage+`" target='_blank'>x</a>`)
	site.posts["/wp/v2/posts/1"]["status"] = "draft"
	site.saved = func(route string, p map[string]any) {
		if route == "/wp/v2/posts/1" {
			p["date"] = "2025-01-01T00:00:00"
			return
		}
		c := p["content"].(map[string]any)
		c["raw"] = strings.ReplaceAll(c["raw"].(string), `target='_blank'`, `target="_blank" rel="noopener"`)
	}
	s, w := newSession(t, site, t.TempDir())
	must(t, s.Rewrite(t.Context()))
	if s.Session.Counts.Changed != 2 {
		t.Errorf("%q", w.lines)
	}
	back, w := newSession(t, site, t.TempDir())
	must(t, back.Restore(t.Context(), s.Session.Backup.Dir()))
	if back.Session.Counts.Changed != 2 {
		t.Errorf("%q", w.lines)
	}
}

// TestDeadAtEveryRequest ends the process before and after each request, and then lets another one
// finish. All originals must be in the backups, and posts are as before or as after.
func TestDeadAtEveryRequest(t *testing.T) {
	contents := []string{image(oldImage), "<p>nothing</p>", image(oldImage) + "2", image(oldImage) + "3"}
	calm := newSite(contents...)
	former := calm.contents()
	s, _ := newSession(t, calm, t.TempDir())
	must(t, s.Rewrite(t.Context()))
	want := calm.contents()
	for _, after := range []bool{false, true} {
		for n := 1; n <= calm.requests; n++ {
			site, root := newSite(contents...), t.TempDir()
			site.lives, site.dieAfter = n, after
			s, _ := newSession(t, site, root)
			if err := s.Rewrite(t.Context()); err == nil {
				t.Fatalf("request %d: no error", n)
			}
			kept := originals(t, root)
			for route, text := range site.contents() {
				original := kept[fmt.Sprintf("post-%s.html", filepath.Base(route))]
				if text != former[route] && text != want[route] || text != former[route] && original != former[route] {
					t.Errorf("request %d, %s: content %q, original %q", n, route, text, original)
				}
			}
			site.lives = 0
			s, _ = newSession(t, site, root)
			must(t, s.Rewrite(t.Context()))
			if diff := cmp.Diff(want, site.contents()); diff != "" {
				t.Errorf("request %d: %s", n, diff)
			}
			if len(originals(t, root)) != 3 {
				t.Errorf("request %d: %v", n, originals(t, root))
			}
			site.restoreAll(t, root)
			if diff := cmp.Diff(former, site.contents()); diff != "" {
				t.Errorf("request %d, restored: %s", n, diff)
			}
		}
	}
}

// restoreAll restores all backups, the newest first.
func (f *fakeSite) restoreAll(t *testing.T, root string) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	must(t, err)
	for _, dir := range slices.Backward(dirs) {
		s, _ := newSession(t, f, t.TempDir())
		must(t, s.Restore(t.Context(), dir))
	}
}

func TestReportsOtherReferences(t *testing.T) {
	site := newSite(image(oldImage), image(oldImage), image(oldImage), "[playlist ids=\"3\"]")
	site.site.Namespaces = []string{"wp/v2", "elementor/v1"}
	site.posts["/wp/v2/posts/1"]["content"].(map[string]any)["rendered"] = `<div data-elementor-type="wp-page">`
	site.posts["/wp/v2/posts/2"]["featured_media"] = 7
	site.posts["/wp/v2/posts/3"]["meta"] = map[string]any{"hero": oldImage}
	site.answers["/wp/v2/widgets"] = []map[string]any{{"sidebar": "sidebar-1", "rendered": image(oldImage)}, {"sidebar": "wp_inactive_widgets", "rendered": image(oldImage)}, {"sidebar": "sidebar-1", "rendered": "text"}}
	site.answers["/wp/v2/settings"] = map[string]any{"site_icon": 3, "site_logo": 0}
	s, w := newSession(t, site, t.TempDir())
	must(t, s.Rewrite(t.Context()))
	c := s.Session.Counts
	want := map[string]int64{"elementor": 1, Widgets: 1, CustomFields: 1}
	if diff := cmp.Diff(want, map[string]int64(c.Unreached)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int64{"featured_images": 1, "site_icon": 1}, map[string]int64(c.Local)); diff != "" {
		t.Error(diff)
	}
	if !has(w.lines, "kept posts/4 id_shortcode") || slices.Contains(site.writes, "/wp/v2/posts/1") || c.Changed != 2 {
		t.Errorf("%q, written %q", w.lines, site.writes)
	}
}

// TestFileNames verifies that a site cannot choose a path outside of the backup.
func TestFileNames(t *testing.T) {
	names := map[string]bool{}
	for _, id := range []string{`12`, `"../../etc/x"`, `"theme//home"`, `".."`, `"` + strings.Repeat("x", 300) + `"`} {
		for _, kind := range []string{"post", "../x", "Ünlaut"} {
			name := fileName(&post{ID: json.RawMessage(id), kind: postType{name: kind}})
			if !filepath.IsLocal(name) || strings.ContainsAny(name, "/\\.") || len(name) > 150 {
				t.Errorf("%s %s: %s", kind, id, name)
			}
			names[name] = true
		}
	}
	if len(names) != 15 {
		t.Errorf("%d names: %v", len(names), slices.Sorted(maps.Keys(names)))
	}
}

// TestRewriteSkipsLargePosts lists posts of which some are too large for one response.
func TestRewriteSkipsLargePosts(t *testing.T) {
	site := newSite(image(oldImage), image(oldImage), image(oldImage), image(oldImage))
	site.large = map[string]bool{"/wp/v2/posts/3": true}
	s, w := newSession(t, site, t.TempDir())
	must(t, s.Rewrite(t.Context()))
	if !has(w.lines, "failed posts/3: the post is too large") || len(site.writes) != 3 || s.Session.Counts.Files != 4 || s.Session.Counts.Failed != 1 {
		t.Errorf("%q, written %q, %+v", w.lines, site.writes, s.Session.Counts)
	}
	if site.content("/wp/v2/posts/4") != image(newImage) {
		t.Error("the post after the large one stays as it is")
	}
}
