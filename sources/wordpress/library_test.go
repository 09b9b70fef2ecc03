package wordpress_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	api "assetferry/internal/wordpress"
	"assetferry/sources"
	"assetferry/sources/wordpress"
	"assetferry/sources/wordpress/wordpresstest"
)

var account = api.Options{User: wordpresstest.User, Password: wordpresstest.Password}

// objects lists a source by key.
func objects(t *testing.T, src *wordpress.Source) map[sources.Key]sources.Object {
	t.Helper()
	all := map[sources.Key]sources.Object{}
	for o, err := range src.Objects(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		all[o.Key] = o
	}
	return all
}

// another returns another source of the same site, which has not listed it.
func another(t *testing.T, src *wordpress.Source) *wordpress.Source {
	t.Helper()
	return openAt(t, strings.TrimPrefix(src.Identity(), "wordpress+"), account, wordpress.Options{})
}

func keysOf(all map[sources.Key]sources.Object) (keys []string) {
	for _, k := range slices.Sorted(maps.Keys(all)) {
		keys = append(keys, string(k))
	}
	return keys
}

func read(t *testing.T, src *wordpress.Source, o sources.Object) string {
	t.Helper()
	r, err := src.Open(t.Context(), o, 0)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func oldURLs(t *testing.T, src *wordpress.Source, o sources.Object) string {
	t.Helper()
	d, err := src.Describe(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range d.Fields["old_url"] {
		names = append(names, u[strings.LastIndexByte(u, '/')+1:])
	}
	return strings.Join(names, " ")
}

func TestOriginals(t *testing.T) {
	s := &wordpresstest.Site{}
	for _, key := range []string{"2024/05/large.jpg", "2024/05/lost.jpg", "2024/05/edited.jpg", "2024/05/plain.jpg"} {
		s.Put(key, []byte("original of "+key), nil)
	}
	s.Scale("2024/05/large.jpg")
	s.Scale("2024/05/lost.jpg")
	s.Forget("2024/05/lost.jpg")
	s.Scale("2024/05/edited.jpg")
	s.Store("2024/05/edited-scaled-e1700000000.jpg", []byte("edited"))
	s.Edit("2024/05/edited.jpg", func(i wordpresstest.Item) { i["source_url"] = "2024/05/edited-scaled-e1700000000.jpg" })
	src := open(t, s, account, wordpress.Options{})
	all := objects(t, src)
	for key, want := range map[sources.Key][2]string{
		"2024/05/large.jpg":                     {"original of 2024/05/large.jpg", "large-300x200.jpg large-scaled.jpg large.jpg"},
		"2024/05/lost.jpg":                      {"scaled", "lost-300x200.jpg lost-scaled.jpg lost.jpg"},
		"2024/05/edited-scaled-e1700000000.jpg": {"edited", "edited-300x200.jpg edited-scaled-e1700000000.jpg"},
		"2024/05/plain.jpg":                     {"original of 2024/05/plain.jpg", "plain.jpg"},
	} {
		o, ok := all[key]
		if !ok || o.Obstacle != "" {
			t.Errorf("%s is %+v", key, o)
			continue
		}
		if content := read(t, src, o); content != want[0] || o.Size != int64(len(content)) {
			t.Errorf("%s has %d bytes: %s", key, o.Size, content)
		}
		if urls := oldURLs(t, src, o); urls != want[1] {
			t.Errorf("%s had the URLs %s", key, urls)
		}
	}
	if len(all) != 4 {
		t.Errorf("the keys are %v", keysOf(all))
	}
}

func TestSeveralEntriesForOneFile(t *testing.T) {
	s := &wordpresstest.Site{}
	s.Put("2024/05/quay.jpg", []byte("quay"), func(i wordpresstest.Item) { i["alt_text"] = "A quay" })
	s.Add("2024/05/quay.jpg", func(i wordpresstest.Item) { i["alt_text"] = "Ein Kai" })
	s.Add("2024/05/quay.jpg", func(i wordpresstest.Item) { i["alt_text"] = "Un quai" })
	src := open(t, s, account, wordpress.Options{})
	all := objects(t, src)
	o := all["2024/05/quay.jpg"]
	if len(all) != 1 || !strings.HasPrefix(o.VersionTag, "1,2,3/") {
		t.Errorf("listed %v", all)
	}
	for _, src := range []*wordpress.Source{src, another(t, src)} { // remembered, and requested
		if d, err := src.Describe(t.Context(), o); err != nil || d.Fields["alt"][0] != "A quay" {
			t.Errorf("described as %v, %v", d, err)
		}
	}
}

// TestEqualKeys verifies that different files with one name in one post are different objects.
func TestEqualKeys(t *testing.T) {
	s := &wordpresstest.Site{}
	for n, key := range []string{"2024/05/a.jpg", "2024/06/a.jpg", "2024/07/a.jpg", "2024/07/b.jpg"} {
		s.Put(key, []byte(key), func(i wordpresstest.Item) { i["post"] = []any{7, 7, nil, 5000}[n] })
	}
	src := open(t, s, account, wordpress.Options{Folders: wordpress.ByPost})
	all := objects(t, src)
	want := []string{"other/5000/b.jpg", "post/post-写-7/a (2).jpg", "post/post-写-7/a.jpg", "unattached/a.jpg"}
	if got := keysOf(all); !slices.Equal(got, want) {
		t.Fatalf("the keys are %q, want %q", got, want)
	}
	if a, b := read(t, src, all["post/post-写-7/a.jpg"]), read(t, src, all["post/post-写-7/a (2).jpg"]); a != "2024/05/a.jpg" || b != "2024/06/a.jpg" {
		t.Errorf("read %q and %q", a, b)
	}
}

// TestFilesElsewhere verifies that files at another host are read without the password, and that a
// private network must be allowed.
func TestFilesElsewhere(t *testing.T) {
	files := &wordpresstest.Site{}
	files.Put("2024/05/a.jpg", []byte("a"), nil)
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.Header.Get("Authorization") != "" {
			t.Error("another host got the password")
		}
		files.ServeHTTP(w, r)
	}))
	defer elsewhere.Close()
	s := &wordpresstest.Site{Files: elsewhere.URL + wordpresstest.Uploads}
	s.Put("2024/05/a.jpg", []byte("not here"), nil)
	if o := objects(t, open(t, s, account, wordpress.Options{}))["2024/05/a.jpg"]; !strings.Contains(string(o.Obstacle), "in a private network") || asked > 0 {
		t.Errorf("listed as %+v, after %d requests", o, asked)
	}
	src := open(t, s, account, wordpress.Options{AllowPrivate: true})
	if content := read(t, src, objects(t, src)["2024/05/a.jpg"]); content != "a" || asked == 0 {
		t.Errorf("read %q after %d requests", content, asked)
	}
}

// TestTexts verifies that the texts of pages are the texts as written, as far as they can be.
func TestTexts(t *testing.T) {
	s := &wordpresstest.Site{}
	s.Put("2024/05/a.jpg", []byte("a"), func(i wordpresstest.Item) {
		i["title"] = map[string]any{"raw": "Q & A", "rendered": "Q &#038; A"}
		i["caption"] = map[string]any{"raw": "one\ntwo <em>x</em>", "rendered": "<p>one<br />\ntwo <em>x</em></p>\n"}
		i["description"] = map[string]any{"raw": "seen", "rendered": "<p class=\"attachment\"><a href='x'><img src=\"y\" /></a></p>\n<p>seen</p>\n"}
	})
	for name, c := range map[string]struct {
		o       api.Options
		caption string
	}{"written": {account, "one\ntwo <em>x</em>"}, "shown": {api.Options{}, "one\ntwo x"}} {
		src := open(t, s, c.o, wordpress.Options{})
		d, err := src.Describe(t.Context(), objects(t, src)["2024/05/a.jpg"])
		if err != nil || d.Fields["title"][0] != "Q & A" || d.Fields["caption"][0] != c.caption || d.Fields["description"][0] != "seen" {
			t.Errorf("%s: %q, %v", name, d.Fields, err)
		}
	}
}

// TestPrivateEntries verifies that the library has the entries that WordPress shows to an editor.
func TestPrivateEntries(t *testing.T) {
	s := &wordpresstest.Site{}
	s.Put("2024/05/a.jpg", []byte("a"), nil)
	s.Put("2024/05/b.jpg", []byte("b"), func(i wordpresstest.Item) { i["status"] = "private" })
	src := open(t, s, account, wordpress.Options{})
	all := objects(t, src)
	if got := strings.Join(keysOf(all), " "); got != "2024/05/a.jpg 2024/05/b.jpg" {
		t.Fatalf("an account sees %s", got)
	}
	if got := read(t, another(t, src), all["2024/05/b.jpg"]); got != "b" {
		t.Errorf("the content is %q", got)
	}
	if got := keysOf(objects(t, open(t, s, api.Options{}, wordpress.Options{}))); len(got) != 1 {
		t.Errorf("the public sees %s", got)
	}
}

// TestAccountWithoutRights verifies that an account that sees only its own media is refused: a part of
// the library must not look like all of it.
func TestAccountWithoutRights(t *testing.T) {
	s := &wordpresstest.Site{OwnOnly: true}
	s.Put("2024/05/a.jpg", []byte("a"), nil)
	for _, err := range open(t, s, account, wordpress.Options{}).Objects(t.Context(), "") {
		e, ok := errors.AsType[*sources.Error](err)
		if !ok || !sources.IsAuth(err) || !strings.Contains(err.Error(), "the account Jo sees only its own media") || !strings.Contains(e.Hint, "an editor or an administrator") {
			t.Errorf("%v", err)
		}
	}
}

// TestStoppedListing verifies that the end of a loop during the requests for files leaves nothing
// behind, and that the index of an earlier listing stays usable.
func TestStoppedListing(t *testing.T) {
	s := &wordpresstest.Site{}
	for _, n := range "abcdefghijklmnopqrstuvwxyz" {
		s.Put(string(n)+".jpg", []byte{byte(n)}, nil)
	}
	src := open(t, s, account, wordpress.Options{})
	all := objects(t, src)
	for range src.Objects(t.Context(), "") {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range src.Objects(ctx, "") {
		cancel()
	}
	cancel()
	if content := read(t, src, all["m.jpg"]); content != "m" {
		t.Errorf("read %q", content)
	}
}

// TestMetadataVersions verifies that each change of the metadata changes the version tag, although
// the time of the last change stays, and that the version of the content stays.
func TestMetadataVersions(t *testing.T) {
	s := &wordpresstest.Site{}
	s.Put("2024/05/a.jpg", []byte("a"), nil)
	src := open(t, s, account, wordpress.Options{})
	last := objects(t, src)["2024/05/a.jpg"]
	if again := objects(t, another(t, src))["2024/05/a.jpg"]; again != last {
		t.Errorf("%+v became %+v without a change", last, again)
	}
	if _, err := another(t, src).Describe(t.Context(), last); err != nil {
		t.Error(err)
	}
	for name, edit := range map[string]func(wordpresstest.Item){
		"alt": func(i wordpresstest.Item) { i["alt_text"] = "A quay" },
		"caption": func(i wordpresstest.Item) {
			i["caption"] = map[string]any{"raw": "At noon", "rendered": "<p>At noon</p>"}
		},
		"description": func(i wordpresstest.Item) {
			i["description"] = map[string]any{"raw": "Seen", "rendered": "<p>Seen</p>"}
		},
		"title": func(i wordpresstest.Item) { i["title"] = map[string]any{"raw": "Quay", "rendered": "Quay"} },
		"sizes": func(i wordpresstest.Item) {
			i["media_details"] = map[string]any{"sizes": map[string]any{"large": map[string]any{"source_url": "2024/05/a-1024x768.jpg"}}}
		},
	} {
		s.Edit("2024/05/a.jpg", func(i wordpresstest.Item) {
			edit(i)
			i["modified_gmt"] = last.Time.Format("2006-01-02T15:04:05")
		})
		if _, err := another(t, src).Describe(t.Context(), last); !errors.Is(err, sources.ErrChanged) {
			t.Errorf("%s: the former version is described: %v", name, err)
		}
		is := objects(t, src)["2024/05/a.jpg"]
		_, content, _ := strings.Cut(is.VersionTag, " ")
		_, before, _ := strings.Cut(last.VersionTag, " ")
		if is.Time != last.Time || is.VersionTag == last.VersionTag || content == "" || content != before {
			t.Errorf("%s: %+v became %+v", name, last, is)
		}
		last = is
	}
}
