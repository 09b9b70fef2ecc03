//go:build wordpress

package wordpress

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSite(t *testing.T) {
	for _, folder := range []string{"", "/blog"} {
		s := Start(t, Options{Folder: folder})
		t.Logf("WordPress %s at %s", s.Version, s.URL)
		images := s.AddImages(8, 0)
		files := s.AddFiles()
		posts := s.AddPosts(4, images)
		if len(images) != 8 || len(files) != 3 || len(posts) != 4 {
			t.Fatalf("made %d images, %d files, %d posts", len(images), len(files), len(posts))
		}
		var media []struct {
			ID        int    `json:"id"`
			SourceURL string `json:"source_url"`
			Details   struct {
				OriginalImage string `json:"original_image"`
			} `json:"media_details"`
		}
		s.get(t, "/wp-json/wp/v2/media?per_page=100&context=edit", &media)
		if len(media) != 11 {
			t.Errorf("the API lists %d media items, want 11", len(media))
		}
		scaled := 0
		for _, m := range media {
			if m.Details.OriginalImage != "" {
				scaled++
			}
			if code := s.status(t, m.SourceURL); code != http.StatusOK {
				t.Errorf("%s: %d", m.SourceURL, code)
			}
		}
		if scaled != 1 {
			t.Errorf("%d images were scaled, want 1", scaled)
		}
		if rows := s.SQL("SELECT COUNT(*), 'a\tb\n\\\\' FROM wp_posts WHERE post_type = 'attachment'"); rows[0][0] != "11" || rows[0][1] != "a\tb\n\\" {
			t.Errorf("SQL: %q", rows)
		}
		if code := s.status(t, s.URL+"/2023/post-0/"); code != http.StatusOK {
			t.Errorf("the page of a post: %d", code)
		}
	}
}

func (s *Site) get(t *testing.T, path string, into any) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	must(t, err)
	r.SetBasicAuth(s.User, s.AppPassword)
	a, err := http.DefaultClient.Do(r)
	must(t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	must(t, err)
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s\n%s", path, a.Status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, body)
	}
}

func (s *Site) status(t *testing.T, url string) int {
	t.Helper()
	a, err := http.Get(url)
	must(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	must(t, err)
	if strings.Contains(string(text), "Fatal error") {
		t.Errorf("%s: %s", url, text)
	}
	return a.StatusCode
}
