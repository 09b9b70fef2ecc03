//go:build wordpress

package rewrite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/test/seedtest"
)

// TestOtherWays uses one site for an account without rights, for content that the API does not
// reach, and for processes that are killed.
func TestOtherWays(t *testing.T) {
	s := newStage(t, 12, 40)
	t.Run("author", func(t *testing.T) { s.with(t).refusesAuthor() })
	t.Run("builder", func(t *testing.T) { s.with(t).rewritesDump() })
	t.Run("killed", func(t *testing.T) { s.with(t).survivesKills(t) })
}

// with returns the stage for a subtest.
func (s *stage) with(t *testing.T) *stage {
	other := *s
	other.TB = t
	return &other
}

// refusesAuthor rewrites as an author, whose scripts and frames WordPress would remove.
func (s *stage) refusesAuthor() {
	s.addPost(map[string]any{"post_content": "<script>1</script>" + s.media(0).Full, "post_author": 2})
	out := s.site.PHP(`
$id = wp_insert_user(['user_login' => 'author', 'user_pass' => 'x', 'role' => 'author', 'user_email' => 'author@example.com']);
list($password) = WP_Application_Passwords::create_new_application_password($id, ['name' => 'assetferry']);
echo $password;`)
	author := s.as("author", out)
	former := s.contents()
	if out := author.ferry(12, "rewrite", s.url(), "--write"); !strings.Contains(out, "lacks the capability unfiltered_html") || !strings.Contains(out, "Try: use an application password of an administrator") {
		s.Error(out)
	}
	out = s.as("author", "wrong password").ferry(12, "rewrite", s.url(), "--write")
	if strings.Contains(out, "wrong password") {
		s.Error(out)
	}
	out = s.as("", "").ferry(2, "rewrite", s.url())
	if !strings.Contains(out, "needs an application password") {
		s.Error(out)
	}
	if diff := cmp.Diff(former, s.contents()); diff != "" {
		s.Error(diff)
	}
}

// as returns the stage with another account.
func (s *stage) as(user, password string) *stage {
	other := *s
	other.env = map[string]string{}
	for name, value := range s.env {
		other.env[name] = value
	}
	other.env["ASSETFERRY_WORDPRESS_USER"], other.env["ASSETFERRY_WORDPRESS_PASSWORD"] = user, password
	return &other
}

// builderPlugin makes the site look like one with Elementor: a route, and pages from metadata.
const builderPlugin = `<?php
add_action('rest_api_init', function () { register_rest_route('elementor/v1', '/globals', ['callback' => '__return_true', 'permission_callback' => '__return_true']); });
add_filter('the_content', function ($content) {
	return get_post_meta(get_the_ID(), '_elementor_data', true) ? '<div data-elementor-type="wp-post" class="elementor"></div>' : $content;
});`

// rewritesDump rewrites what builders and widgets store, in a dump of the database.
func (s *stage) rewritesDump() {
	s.must(os.MkdirAll(filepath.Join(s.site.Files, "wp-content", "mu-plugins"), 0o755))
	plugin := filepath.Join(s.site.Files, "wp-content", "mu-plugins", "builder.php")
	s.must(os.WriteFile(plugin, []byte(builderPlugin), 0o644))
	m := s.media(1)
	id := s.addPost(map[string]any{"post_content": "<p>fallback " + m.Full + "</p>"})
	s.site.PHP(`
list($id, $full, $medium) = $args;
update_post_meta($id, '_elementor_data', wp_slash(json_encode([['elType' => 'widget', 'settings' => ['image' => ['url' => $full, 'id' => 7], 'text' => "„Мост“ <img src=\"$medium\">"]]])));
update_post_meta($id, 'panels_data', ['widgets' => [['url' => $full, 'text' => "橋 '\"; $medium"], ['nested' => serialize(['src' => $full])]]]);
update_option('widget_text', [2 => ['text' => "<img src='$medium'>"], '_multiwidget' => 1]);
update_option('sidebars_widgets', ['sidebar-1' => ['text-2'], 'wp_inactive_widgets' => [], 'array_version' => 3]);`, id, m.Full, m.Medium)
	former := s.contents()[fmt.Sprint(id)]
	out := s.ferry(3, "rewrite", s.url())
	if !strings.Contains(out, "Unreached: 1 post (built with elementor).") || !strings.Contains(out, "wp db export") {
		s.Error(out)
	}
	if s.contents()[fmt.Sprint(id)] != former {
		s.Error("a post of the builder was changed")
	}

	prefix := s.site.URL + "/wp-content/uploads/"
	if !strings.Contains(out, "rewrite --old-prefix "+prefix+" - < old.sql") {
		s.Error(out)
	}
	c := s.command("rewrite", "--old-prefix", prefix, "-")
	c.Stdin = strings.NewReader(s.site.Dump("wp_postmeta", "wp_options"))
	rewritten, err := c.Output()
	s.must(err)
	s.site.Load(string(rewritten))
	var got struct {
		Elementor []struct {
			Settings struct {
				Image struct{ URL string }
				Text  string
			}
		}
		Panels struct {
			Widgets []map[string]string
		}
		Nested map[string]string
		Widget string
	}
	text := s.site.PHP(`
$panels = get_post_meta($args[0], 'panels_data', true);
echo json_encode(['Elementor' => json_decode(get_post_meta($args[0], '_elementor_data', true)), 'Panels' => $panels, 'Nested' => unserialize($panels['widgets'][1]['nested']), 'Widget' => get_option('widget_text')[2]['text']]);`, id)
	s.must(json.Unmarshal([]byte(text), &got))
	if strings.Contains(text, "uploads") {
		s.Errorf("old URLs: %s", text)
	}
	whole := got.Elementor[0].Settings.Image.URL
	medium := strings.TrimSuffix(whole, "/file") + "/images/320.webp" // the next width after 300 pixels
	for _, text := range []string{got.Panels.Widgets[0]["url"], got.Nested["src"]} {
		if text != whole {
			s.Errorf("%q is not %q", text, whole)
		}
	}
	for _, text := range []string{got.Elementor[0].Settings.Text, got.Panels.Widgets[0]["text"], got.Widget} {
		if !strings.Contains(text, medium) {
			s.Errorf("%q is not in %q", medium, text)
		}
	}
	for _, image := range []string{whole, medium} {
		if status, kind, _ := s.get(image); status != 200 || !strings.HasPrefix(kind, "image/") {
			s.Errorf("%s: %d %s", image, status, kind)
		}
	}
	s.must(os.Remove(plugin))
	s.site.PHP(`wp_delete_post($args[0], true);`, id)
}

// survivesKills kills rewrite --write, at a line of its output or at a stored original. At any time,
// the original of each changed post is kept, and a repetition finishes.
func (s *stage) survivesKills(t *testing.T) {
	dice := seedtest.Rand(t)
	former := s.contents()
	const kills = 8
	for n := range kills {
		c := s.command("rewrite", s.url(), "--write")
		out, err := c.StdoutPipe()
		s.must(err)
		s.must(c.Start())
		ended := make(chan struct{})
		lines := bufio.NewScanner(out)
		if n%2 == 0 {
			for k := 1 + dice.IntN(4); k > 0 && lines.Scan(); {
				if strings.Contains(lines.Text(), "original in") {
					k--
				}
			}
			close(ended)
		} else {
			s.awaitOriginals(len(s.originals())+1+dice.IntN(4), lines, ended)
		}
		_ = c.Process.Kill() // it may have ended
		<-ended
		_ = c.Wait() // killed
		kept := s.originals()
		for id, text := range s.contents() {
			if text != former[id] && kept[id] != former[id] {
				s.Errorf("kill %d: post %s has no original", n, id)
			}
		}
	}
	s.ferry(0, "rewrite", s.url(), "--write")
	s.checkMissed()
	backups := s.backups()
	t.Logf("%d backups after %d kills", len(backups), kills)
	for _, dir := range backups {
		s.ferry(0, "rewrite", "--restore", dir, "--write", "--backup-dir", t.TempDir())
	}
	if diff := cmp.Diff(former, s.contents()); diff != "" {
		s.Error(diff)
	}
}

// awaitOriginals returns when a number of originals is kept, or when the process has ended. The
// channel is closed at the end of its output.
func (s *stage) awaitOriginals(n int, lines *bufio.Scanner, ended chan struct{}) {
	s.Helper()
	go func() {
		defer close(ended)
		for lines.Scan() {
		}
	}()
	for len(s.originals()) < n {
		select {
		case <-ended:
			return
		default:
		}
	}
}

// originals returns the originals with a record in all backups, by the ID of their posts.
func (s *stage) originals() map[string]string {
	s.Helper()
	all := map[string]string{}
	names, err := filepath.Glob(filepath.Join(s.dir, "state", "assetferry", "backups", "*", "[a-z]*.json"))
	s.must(err)
	for _, name := range names {
		text, err := os.ReadFile(strings.TrimSuffix(name, ".json") + ".html")
		s.must(err)
		id := strings.TrimSuffix(name[strings.LastIndexByte(name, '-')+1:], ".json")
		if was, again := all[id]; again && was != string(text) {
			s.Errorf("%s: two originals differ", name)
		}
		all[id] = string(text)
	}
	return all
}
