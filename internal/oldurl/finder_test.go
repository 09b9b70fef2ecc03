package oldurl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A shelf is a state database of objects by key; those that went by another key or share the
// asset of another one say which.
type shelf map[string]struct {
	kind  Kind
	owner string
}

func (s shelf) ByKey(_ context.Context, key string) (Object, error) {
	o, ok := s[key]
	if !ok || o.kind == Given {
		return Object{}, ErrUnknown
	}
	return s.object(key, o.kind, o.owner), nil
}

func (s shelf) ByURL(_ context.Context, comparable string) (Object, error) {
	o, ok := s[comparable]
	if !ok || o.kind != Given {
		return Object{}, ErrUnknown
	}
	return s.object(comparable, Given, o.owner), nil
}

func (s shelf) object(key string, kind Kind, owner string) Object {
	if owner == "" {
		owner = key
	}
	url := "https://new/assets/" + owner
	o := Object{Key: owner, Kind: kind, URL: url + "/file", Images: func() (map[string]string, error) {
		if !strings.HasSuffix(owner, ".jpg") {
			return nil, nil
		}
		images := map[string]string{"default": url + "/images/1000.jpeg"}
		for _, w := range []int{100, 500, 1000} {
			images[fmt.Sprint(w)] = fmt.Sprintf("%s/images/%d.webp", url, w)
		}
		return images, nil
	}}
	if strings.HasPrefix(owner, "private/") {
		o.Left = "private"
	}
	return o
}

func (s shelf) Beginnings(context.Context) (all []string, _ error) {
	for key, o := range s {
		if o.kind == Given {
			all = append(all, key[:strings.LastIndexByte(key, '/')+1])
		}
	}
	return all, nil
}

func finderOf(tb testing.TB, s shelf, templates ...string) *Finder {
	tb.Helper()
	var rules []*Template
	for _, text := range templates {
		rules = append(rules, templateOf(tb, text))
	}
	f, err := NewFinder(tb.Context(), rules, s)
	must(tb, err)
	return f
}

func TestFind(t *testing.T) {
	f := finderOf(t, shelf{
		"a b.jpg": {kind: Current}, "dir/photo.jpg": {kind: Current}, "dir/photo-300.jpg": {kind: Current}, "doc.pdf": {kind: Current},
		"old.jpg": {Former, "dir/photo.jpg"}, "copy.jpg": {Alias, "doc.pdf"}, "private/x.jpg": {kind: Current},
		"a\u030a.jpg": {kind: Current}, "//cms.example/?id=7": {Given, "doc.pdf"}, "//cdn.example/doc.pdf": {Given, "a b.jpg"},
		"//cdn.example/gone.pdf": {Given, "doc.pdf"}, "x/y.jpg": {kind: Current}, "y.jpg": {Former, "doc.pdf"},
	}, "https://cdn.example/${path}", "https://cdn.example/x/${path}", "https://cdn.example/${folder}/${stem}-${width}.${ext}", "/r?f=${path}&w=${width}")
	for url, want := range map[string]string{
		"https://cdn.example/dir/photo.jpg":         "current dir/photo.jpg 0 /file",
		"http://CDN.example/a%20b.jpg":              "current a b.jpg 0 /file",
		"//cdn.example/a b.jpg?v=12#x":              "current a b.jpg 0 /file#x",
		"https://cdn.example/old.jpg":               "former dir/photo.jpg 0 /file",
		"https://cdn.example/copy.jpg":              "alias doc.pdf 0 /file",
		"https://cdn.example/%C3%A5.jpg":            "current a\u030a.jpg 0 /file",
		"https://cdn.example/dir/photo-300.jpg":     "current dir/photo-300.jpg 0 /file",
		"https://cdn.example/dir/photo-301.jpg":     "variant dir/photo.jpg 301 /images/500.webp",
		"https://cdn.example/dir/photo-500.jpg":     "variant dir/photo.jpg 500 /images/500.webp",
		"https://cdn.example/dir/photo-3000.jpg":    "variant dir/photo.jpg 3000 /images/1000.webp",
		"https://cdn.example/dir/photo-300-20.jpg":  "variant dir/photo-300.jpg 20 /images/100.webp",
		"https://cdn.example/old-1.jpg":             "variant dir/photo.jpg 1 /images/100.webp",
		"https://cdn.example/copy-100.jpg?v=1":      "variant doc.pdf 100 /file",
		"/r?f=dir%2Fphoto.jpg&w=90":                 "variant dir/photo.jpg 90 /images/100.webp",
		"https://cms.example/?id=7":                 "given doc.pdf 0 /file",
		"https://cdn.example/doc.pdf":               "current doc.pdf 0 /file", // has precedence over a given URL
		"https://cdn.example/gone.pdf":              "given doc.pdf 0 /file",
		"https://cdn.example/x/y.jpg":               "current x/y.jpg 0 /file", // and before a former key by another rule
		"https://cdn.example/private/x.jpg":         "current private/x.jpg 0 /file private",
		"https://cdn.example/unknown.jpg":           "",
		"https://elsewhere.example/dir/photo.jpg":   "",
		"/dir/photo.jpg":                            "",
		"dir/photo.jpg":                             "",
		"https://cms.example/?id=8":                 "",
		"https://cdn.example/dir/../dir/photo.jpg":  "",
		"https://cdn.example/dir/photo-3001x20.jpg": "",
	} {
		got := ""
		found, err := f.Find(t.Context(), url)
		if err == nil {
			got = strings.TrimSpace(fmt.Sprintf("%s %s %d %s %s", found.Kind, found.Key, found.Width, strings.TrimPrefix(found.New, "https://new/assets/"+found.Key), found.Left))
		} else if !errors.Is(err, ErrUnknown) {
			t.Error(err)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
	want := []string{"/", "//cdn.example/", "//cdn.example/x/", "//cms.example/"}
	if diff := cmp.Diff(want, f.Beginnings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
