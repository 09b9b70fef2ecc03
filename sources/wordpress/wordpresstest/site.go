// Package wordpresstest is a WordPress site for tests: its media library with the files, behind the
// REST API. It answers as WordPress 6 does, and can be made to answer as other sites do.
package wordpresstest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The account of the site, with its application password.
const (
	User     = "jo"
	Password = "abcd efgh ijkl mnop qrst uvwx"
)

// An Item is an entry of the media library, by the names of the API.
type Item map[string]any

// A Site is a WordPress site. Its fields may be changed between requests. The zero value is a site
// with permalinks at the root of its host.
type Site struct {
	// Folder is the path of the site, such as "/blog".
	Folder string
	// Prefix is the first folder of the API; "" is wp-json.
	Prefix string
	// NoPermalinks means that the API is in the query.
	NoPermalinks bool
	// Silent means that the front page does not announce the API.
	Silent bool
	// Notice is printed in front of each JSON response.
	Notice string
	// Files is the URL of the folder of uploads at another host; "" is at the site.
	Files string
	// Filtered means that the account may not save all HTML.
	Filtered bool
	// OwnOnly means that the account may edit only its own posts and media.
	OwnOnly bool
	// NoValidators means that files have neither an ETag nor a date.
	NoValidators bool

	mu       sync.Mutex
	behave   Behaviour
	password string // a replacement
	next     int
	now      time.Time
	items    []Item
	files    map[string]file // by path below the folder of uploads
	posts    map[int]Item    // with content
}

type file struct {
	content []byte
	changed time.Time
}

// Uploads is the path of the folder of uploads below the site.
const Uploads = "/wp-content/uploads/"

// Put stores a file and its item, which edit may change. Only a new file gets a new item.
func (s *Site) Put(upload string, content []byte, edit func(Item)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.store(upload, content)
	item := s.find(upload)
	if item == nil {
		s.next++
		item = s.newItem(upload)
		s.items = append(s.items, item)
	}
	item["modified_gmt"] = s.now.Format("2006-01-02T15:04:05")
	if edit != nil {
		edit(item)
	}
}

// Edit changes the item of a file.
func (s *Site) Edit(upload string, edit func(Item)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	item := s.find(upload)
	item["modified_gmt"] = s.now.Format("2006-01-02T15:04:05")
	edit(item)
}

// Scale makes the site serve a smaller copy of a large image, and keep the original.
func (s *Site) Scale(upload string) {
	extension := path.Ext(upload)
	stem := strings.TrimSuffix(upload, extension)
	s.Store(stem+"-scaled"+extension, []byte("scaled"))
	s.Store(stem+"-300x200"+extension, []byte("300"))
	s.Edit(upload, func(i Item) {
		i["source_url"] = stem + "-scaled" + extension
		i["media_details"] = map[string]any{
			"file": stem + "-scaled" + extension, "original_image": path.Base(upload), "filesize": len("scaled"),
			"image_meta": map[string]any{"created_timestamp": "1714559400", "credit": "Ida", "keywords": []string{"sea", "quay"}},
			"sizes":      map[string]any{"medium": map[string]any{"source_url": stem + "-300x200" + extension}},
		}
	})
}

// Add adds another item for a file, as plugins for languages do.
func (s *Site) Add(upload string, edit func(Item)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.next++
	item := s.newItem(upload)
	edit(item)
	s.items = append(s.items, item)
}

// Store stores a file without an item, such as a copy in another size.
func (s *Site) Store(upload string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.store(upload, content)
}

// Forget deletes a file, and keeps its items.
func (s *Site) Forget(upload string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, upload)
}

// Remove deletes a file and its items.
func (s *Site) Remove(upload string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, upload)
	s.items = slices.DeleteFunc(s.items, func(i Item) bool { return i["upload"] == upload })
}

// Replace revokes the application password, and makes another one valid.
func (s *Site) Replace(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = password
}

func (s *Site) tick() {
	if s.now.IsZero() {
		s.now = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	}
	s.now = s.now.Add(time.Second)
}

func (s *Site) store(upload string, content []byte) {
	if s.files == nil {
		s.files = map[string]file{}
	}
	s.files[upload] = file{bytes.Clone(content), s.now}
}

func (s *Site) find(upload string) Item {
	for _, i := range s.items {
		if i["upload"] == upload {
			return i
		}
	}
	return nil
}

func (s *Site) newItem(upload string) Item {
	return Item{
		"upload": upload, "id": s.next, "date_gmt": "2024-05-06T07:08:09", "modified_gmt": s.now.Format("2006-01-02T15:04:05"),
		"title":   map[string]any{"raw": path.Base(upload) + " & more", "rendered": path.Base(upload) + " &amp; more"},
		"caption": map[string]any{"raw": "", "rendered": ""}, "description": map[string]any{"raw": "", "rendered": "<p class=\"attachment\"><a href='x'>x</a></p>\n"},
		"alt_text": "", "post": nil, "mime_type": "image/jpeg", "media_details": []any{},
		"_embedded": map[string]any{"author": []any{map[string]any{"name": "Zoë Müller"}}},
	}
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misbehave(w, r) {
		return
	}
	below, ok := strings.CutPrefix(r.URL.Path, s.Folder)
	route, isAPI := s.route(below, r.URL.Query())
	switch upload, isFile := strings.CutPrefix(below, Uploads); {
	case !ok:
		http.Error(w, "<html><body>Not Found</body></html>", http.StatusNotFound)
	case isFile:
		s.serveFile(w, r, upload)
	case isAPI:
		s.serveAPI(w, r, route)
	case below == "" || below == "/":
		if !s.Silent {
			w.Header().Set("Link", "<"+s.root(r)+">; rel=\"https://api.w.org/\"")
		}
		fmt.Fprint(w, "<!DOCTYPE html><html><body>Welcome</body></html>")
	default:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<!DOCTYPE html><html><body>Page not found</body></html>")
	}
}

func (s *Site) root(r *http.Request) string {
	if s.NoPermalinks {
		return "http://" + r.Host + s.Folder + "/index.php?rest_route=/"
	}
	return "http://" + r.Host + s.Folder + "/" + cmp.Or(s.Prefix, "wp-json") + "/"
}

// route returns the route of a request.
func (s *Site) route(below string, query url.Values) (string, bool) {
	if s.NoPermalinks {
		return query.Get("rest_route"), query.Has("rest_route")
	}
	return strings.CutPrefix(below, "/"+cmp.Or(s.Prefix, "wp-json"))
}

func (s *Site) serveFile(w http.ResponseWriter, r *http.Request, upload string) {
	f, ok := s.files[upload]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	changed := f.changed
	if s.NoValidators {
		changed = time.Time{}
	} else {
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(append([]byte(f.changed.String()), f.content...)))[:20]+`"`)
	}
	http.ServeContent(w, r, "", changed, bytes.NewReader(f.content))
}

func (s *Site) serveAPI(w http.ResponseWriter, r *http.Request, route string) {
	signed, ok := s.account(w, r)
	if !ok {
		return
	}
	query := r.URL.Query()
	if query.Get("context") == "edit" && !signed {
		s.refuse(w, http.StatusUnauthorized, "rest_forbidden_context", "Sorry, you are not allowed to edit posts in this post type.")
		return
	}
	switch route {
	case "/":
		s.answer(w, map[string]any{"name": "Site", "home": "http://" + r.Host + s.Folder, "namespaces": []string{"oembed/1.0", "wp/v2"},
			"authentication": map[string]any{"application-passwords": map[string]any{}}})
	case "/wp/v2/users/me":
		if !signed {
			s.refuse(w, http.StatusUnauthorized, "rest_not_logged_in", "You are not currently logged in.")
			return
		}
		s.answer(w, map[string]any{"id": 1, "name": "Jo", "roles": []string{"editor"}, "capabilities": map[string]bool{"edit_posts": true, "edit_others_posts": !s.OwnOnly, "unfiltered_html": !s.Filtered}})
	case "/wp/v2/types":
		s.answer(w, map[string]any{"post": map[string]any{"rest_base": "posts"}, "attachment": map[string]any{"rest_base": "media"},
			"nav_menu_item": map[string]any{"rest_base": "menu-items", "rest_namespace": "wp/v2"}})
	case "/wp/v2/menu-items":
		s.refuse(w, http.StatusUnauthorized, "rest_cannot_view", "Sorry, you are not allowed to view menu items.")
	case "/wp/v2/posts":
		if !query.Has("include") {
			s.listPosts(w, r)
			return
		}
		posts := []any{}
		for id := range strings.SplitSeq(query.Get("include"), ",") {
			if n, err := strconv.Atoi(id); err == nil && n < 1000 {
				posts = append(posts, map[string]any{"id": n, "slug": "post-%e5%86%99-" + id, "type": "post"})
			}
		}
		s.answer(w, posts)
	case "/wp/v2/media":
		s.listMedia(w, r, signed)
	default:
		if id, ok := strings.CutPrefix(route, "/wp/v2/posts/"); ok && signed {
			s.onePost(w, r, id)
			return
		}
		s.refuse(w, http.StatusNotFound, "rest_no_route", "No route was found matching the URL and request method.")
	}
}

// account checks the password of a request, if there is one.
func (s *Site) account(w http.ResponseWriter, r *http.Request) (signed, ok bool) {
	user, password, given := r.BasicAuth()
	valid := cmp.Or(s.password, Password)
	if given && (user != User || strings.ReplaceAll(password, " ", "") != strings.ReplaceAll(valid, " ", "")) {
		s.refuse(w, http.StatusUnauthorized, "incorrect_password", "<strong>Error:</strong> The provided password is an invalid application password.")
		return false, false
	}
	return given, true
}

func (s *Site) refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	s.write(w, map[string]any{"code": code, "message": message, "data": map[string]any{"status": status}})
}

func (s *Site) answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	s.write(w, value)
}

func (s *Site) write(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // items are plain values
	}
	fmt.Fprintf(w, "%s%s", s.Notice, text)
}

func (s *Site) listMedia(w http.ResponseWriter, r *http.Request, signed bool) {
	query := r.URL.Query()
	all := slices.DeleteFunc(slices.Clone(s.items), func(i Item) bool {
		return i["status"] == "private" && !strings.Contains(query.Get("status"), "private")
	})
	if include := query.Get("include"); include != "" {
		ids := strings.Split(include, ",")
		all = slices.DeleteFunc(all, func(i Item) bool { return !slices.Contains(ids, fmt.Sprint(i["id"])) })
	}
	offset, _ := strconv.Atoi(query.Get("offset")) // "" is 0
	size, err := strconv.Atoi(query.Get("per_page"))
	if err != nil || size > 100 {
		s.refuse(w, http.StatusBadRequest, "rest_invalid_param", "Invalid parameter(s): per_page")
		return
	}
	w.Header().Set("X-WP-Total", strconv.Itoa(len(all)))
	shown := []Item{}
	for _, i := range all[min(offset, len(all)):min(offset+size, len(all))] {
		shown = append(shown, s.show(i, r, signed))
	}
	s.answer(w, shown)
}

// show returns an item as the API does: only for an account, with texts as they were written.
func (s *Site) show(i Item, r *http.Request, signed bool) Item {
	shown := Item{}
	for name, value := range i {
		if texts, ok := value.(map[string]any); ok && !signed && texts["rendered"] != nil {
			value = map[string]any{"rendered": texts["rendered"]}
		}
		shown[name] = value
	}
	delete(shown, "upload")
	base := cmp.Or(s.Files, "http://"+r.Host+s.Folder+Uploads)
	if shown["source_url"] == nil {
		shown["source_url"] = i["upload"]
	}
	shown["source_url"] = base + escape(shown["source_url"].(string))
	if details, ok := shown["media_details"].(map[string]any); ok {
		shown["media_details"] = withURLs(details, base)
	}
	return shown
}

// withURLs returns details with the whole URLs of sizes.
func withURLs(details map[string]any, base string) map[string]any {
	whole := maps.Clone(details)
	sizes := map[string]any{}
	for name, size := range details["sizes"].(map[string]any) {
		sizes[name] = map[string]any{"source_url": base + escape(size.(map[string]any)["source_url"].(string))}
	}
	whole["sizes"] = sizes
	return whole
}

// escape encodes the segments of a path.
func escape(upload string) string {
	segments := strings.Split(upload, "/")
	for n, s := range segments {
		segments[n] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
