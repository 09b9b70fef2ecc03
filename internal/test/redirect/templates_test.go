//go:build webserver

package redirect

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRedirectsByTemplates verifies that all names of an object that was renamed twice redirect,
// and each width of an image, at the paths of all templates, two of which differ only in their
// hosts.
func TestRedirectsByTemplates(t *testing.T) {
	s := newSite(t)
	must(t, os.WriteFile(filepath.Join(s.dir, "assetferry.yaml"), []byte(`old_urls:
  - https://old.example.com/files/${path}
  - https://cdn.example.com/files/${path}
  - {url: "https://cdn.example.com/x/${folder}/w${width}-${name}", widths: [20, 400]}
`), 0o600))
	l := newLibrary(t, filepath.Join(s.dir, "library"), 3)
	s.run("migrate", "library", "--unsupported", "skip")
	var image string
	for key := range l.files {
		image = key
	}
	names := []string{image, "a & b/second.png", "third, ü.png"}
	for n, name := range names[1:] {
		to := filepath.Join(s.dir, "library", filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, os.Rename(filepath.Join(s.dir, "library", filepath.FromSlash(names[n])), to))
		s.run("sync", "library", "--unsupported", "skip", "--max-changes-percent", "100")
	}
	for format, start := range map[string]func(*testing.T, *site, string) string{
		"nginx": func(t *testing.T, s *site, path string) string { return serveNginx(t, path, linesOf(t, path)) },
		"apache": func(t *testing.T, s *site, path string) string {
			return serveApache(t, strings.ReplaceAll(linesOf(t, path), "/etc/apache2/assetferry.txt", path))
		},
	} {
		t.Run(format, func(t *testing.T) {
			path := filepath.Join(s.dir, format+".map")
			s.run("urls", "--format", format, "--output", path)
			base := start(t, s, path)
			for _, name := range names {
				s.leads(t, base, "/files/"+name, "/file")
				folder, file := filepath.Split(name)
				s.leads(t, base, "/x/"+folder+"w20-"+file, "/images/64.webp") // the only size that exists
				s.leads(t, base, "/x/"+folder+"w400-"+file, "/images/64.webp")
			}
		})
	}
}

// leads requests an old path, and follows the redirect to a URL with a suffix that has content.
func (s *site) leads(t *testing.T, base, path, end string) {
	t.Helper()
	code, to := ask(t, base+(&url.URL{Path: path}).EscapedPath())
	if code != http.StatusFound || !strings.HasSuffix(to, end) {
		t.Errorf("%q: answered with %d to %q, want something with %s", path, code, to, end)
		return
	}
	if code, _ := ask(t, to); code != http.StatusOK {
		t.Errorf("%q leads to %s: %d", path, to, code)
	}
}
