package wordpresstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// PutPost stores a post with raw content.
func (s *Site) PutPost(id int, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts == nil {
		s.posts = map[int]Item{}
	}
	s.tick()
	s.posts[id] = Item{
		"id": id, "type": "post", "status": "publish", "date_gmt": "2024-05-06T07:08:09", "title": map[string]any{"raw": "Title", "rendered": "Title"}, "author": 1,
		"_links": map[string]any{"wp:action-publish": []any{}, "wp:action-unfiltered-html": []any{}},
	}
	s.save(id, content)
}

// Post returns the content of a post.
func (s *Site) Post(id int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.posts[id]["content"].(map[string]any)["raw"].(string)
}

func (s *Site) save(id int, content string) {
	s.tick()
	s.posts[id]["content"] = map[string]any{"raw": content, "rendered": content}
	s.posts[id]["modified_gmt"] = s.now.Format("2006-01-02T15:04:05")
}

// listPosts answers with posts in the order of their IDs.
func (s *Site) listPosts(w http.ResponseWriter, r *http.Request) {
	ids := make([]int, 0, len(s.posts))
	for id := range s.posts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset")) // "" is 0
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	shown := []Item{}
	for _, id := range ids[min(offset, len(ids)):min(offset+size, len(ids))] {
		shown = append(shown, s.posts[id])
	}
	w.Header().Set("X-WP-Total", strconv.Itoa(len(ids)))
	s.answer(w, shown)
}

// onePost answers with a post, or changes its content.
func (s *Site) onePost(w http.ResponseWriter, r *http.Request, name string) {
	id, err := strconv.Atoi(name)
	if err != nil || s.posts[id] == nil {
		s.refuse(w, http.StatusNotFound, "rest_post_invalid_id", "Invalid post ID.")
		return
	}
	if r.Method == http.MethodPost {
		var body struct{ Content string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			s.refuse(w, http.StatusBadRequest, "rest_invalid_json", fmt.Sprint(err))
			return
		}
		s.save(id, body.Content)
	}
	s.answer(w, s.posts[id])
}
