//go:build wordpress

package wordpress

import "encoding/json"

// AddImages adds images with all their sizes, and with texts in Latin, Cyrillic, Greek, Japanese,
// Arabic and Hebrew script. Some of them are so large that WordPress serves a scaled copy. first is
// the number of the first one. It returns the IDs.
func (s *Site) AddImages(count, first int) []int {
	s.t.Helper()
	return s.ids("images.php", count, first)
}

// AddFiles adds a document, a sound and a video, and returns their IDs.
func (s *Site) AddFiles() []int {
	s.t.Helper()
	return s.ids("files.php")
}

// AddPosts adds posts and pages that show images: in turn in the form of the block editor and of
// the classic one. It returns their IDs.
func (s *Site) AddPosts(count int, images []int) []int {
	s.t.Helper()
	return s.ids("posts.php", count, images)
}

func (s *Site) ids(name string, args ...any) (ids []int) {
	s.t.Helper()
	out := s.PHP(string(script(s.t, name)), args...)
	if err := json.Unmarshal([]byte(out), &ids); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return ids
}
