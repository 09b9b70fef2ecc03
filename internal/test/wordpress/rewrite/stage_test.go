//go:build wordpress

package rewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/test/built"
	"assetferry/internal/test/wordpress"
)

// A stage is a real site whose library was migrated to a sandbox.
type stage struct {
	testing.TB
	site    *wordpress.Site
	dir     string
	program string
	env     map[string]string
}

// newStage starts a site with images and posts, and a sandbox, and migrates the library.
func newStage(t *testing.T, images, posts int) *stage {
	t.Helper()
	s := &stage{TB: t, site: wordpress.Start(t, wordpress.Options{}), dir: t.TempDir(), env: map[string]string{}}
	s.program = built.Program(t, s.dir)
	maps.Copy(s.env, map[string]string{
		"HOME": s.dir, "XDG_STATE_HOME": filepath.Join(s.dir, "state"), "XDG_DATA_HOME": filepath.Join(s.dir, "data"),
		"ASSETFERRY_WORDPRESS_USER": s.site.User, "ASSETFERRY_WORDPRESS_PASSWORD": s.site.AppPassword,
	})
	maps.Copy(s.env, built.Sandbox(t, s.program, s.environment()))
	s.site.PHP(`file_put_contents(get_theme_file_path('functions.php'), $args[0], FILE_APPEND);`, functions)
	s.site.PHP(`flush_rewrite_rules(false);`) // with the type of the theme
	ids := s.site.AddImages(images, 0)
	s.site.AddFiles()
	s.site.AddPosts(posts, ids)
	s.ferry(0, "migrate", s.url())
	return s
}

// functions are additions to the theme: what current themes declare, and a type of posts.
const functions = `
add_theme_support('html5', ['gallery', 'caption', 'style', 'script']);
add_action('init', function () {
	register_post_type('story', ['public' => true, 'show_in_rest' => true, 'supports' => ['title', 'editor', 'revisions']]);
	register_taxonomy('mood', 'story', ['show_in_rest' => true]);
});
`

func (s *stage) url() string { return "wordpress+" + s.site.URL }

func (s *stage) environment() []string {
	all := os.Environ()
	for name, value := range s.env {
		all = append(all, name+"="+value)
	}
	return all
}

func (s *stage) command(args ...string) *exec.Cmd {
	c := exec.Command(s.program, args...)
	c.Dir, c.Env = s.dir, s.environment()
	return c
}

// ferry runs the program with an expected exit code, and returns its output.
func (s *stage) ferry(code int, args ...string) string {
	s.Helper()
	var out bytes.Buffer
	c := s.command(args...)
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == code || err == nil && code == 0 {
		return out.String()
	}
	s.Fatalf("%q: %v, want exit code %d\n%s", args, err, code, out.String())
	return ""
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// addPost adds a post with raw content, and returns its ID.
func (s *stage) addPost(fields map[string]any) (id int) {
	s.Helper()
	out := s.site.PHP(`
$post = wp_insert_post(wp_slash($args[0] + ['post_title' => 'Мост & 橋', 'post_status' => 'publish', 'post_author' => 1]), true);
if (is_wp_error($post)) throw new Exception($post->get_error_message());
echo $post;`, fields)
	if _, err := fmt.Sscan(out, &id); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	return id
}

// media are the URLs of an image in the library.
type media struct {
	ID           int
	Full, Medium string
}

func (s *stage) media(n int) (m media) {
	s.Helper()
	out := s.site.PHP(`
$ids = get_posts(['post_type' => 'attachment', 'post_mime_type' => 'image/jpeg', 'numberposts' => -1, 'orderby' => 'ID', 'order' => 'ASC', 'fields' => 'ids', 'post_status' => 'any']);
$id = $ids[$args[0]];
echo json_encode(['ID' => $id, 'Full' => wp_get_attachment_url($id), 'Medium' => wp_get_attachment_image_src($id, 'medium')[0]]);`, n)
	s.must(json.Unmarshal([]byte(out), &m))
	return m
}

// contents returns the content of all posts, by ID.
func (s *stage) contents() map[string]string {
	all := map[string]string{}
	for _, row := range s.site.SQL("SELECT ID, post_content FROM wp_posts WHERE post_type NOT IN ('attachment', 'revision')") {
		all[row[0]] = strings.Join(row[1:], "\t")
	}
	return all
}

// backups returns the folders with originals, the newest first.
func (s *stage) backups() []string {
	s.Helper()
	all, err := filepath.Glob(filepath.Join(s.dir, "state", "assetferry", "backups", "*"))
	s.must(err)
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}
