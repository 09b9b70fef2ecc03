package posts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/hint"
)

// checkError verifies that an error names its subject and its reason, and has a next step.
func checkError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil || hint.Of(err) == "" {
		t.Fatalf("%v, hint %q", err, hint.Of(err))
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "%!") {
		t.Error(err)
	}
}

// TestPostWithoutContent reads a post whose stored content a plugin removes from the response.
func TestPostWithoutContent(t *testing.T) {
	site := newSite(image(oldImage))
	site.before = func(method, route string) {
		if p, ok := site.posts[route]; ok && method == "GET" {
			delete(p["content"].(map[string]any), "raw")
		}
	}
	s, _ := newSession(t, site, t.TempDir())
	checkError(t, s.Rewrite(t.Context()), "posts/1", "content.raw")
	if len(site.writes) > 0 {
		t.Errorf("written: %v", site.writes)
	}
}

func TestDamagedBackup(t *testing.T) {
	for name, text := range map[string]string{"no JSON": "{", "no route": `{"id": 1}`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "post-1"+recordEnding), []byte(text), 0o600))
			s, _ := newSession(t, newSite(), "")
			checkError(t, s.Restore(t.Context(), dir), "post-1"+recordEnding, "is damaged")
		})
	}
}

func TestBackupOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, siteFile), []byte(`{"version": 2}`), 0o600))
	_, _, err := SiteOf(dir)
	checkError(t, err, siteFile)
}
