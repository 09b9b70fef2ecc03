package library_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
)

// furnish adds some of everything to a sandbox.
func furnish(w *world) {
	images, documents := w.category("Images"), w.category("Documents")
	spring := w.folder("spring", "parentId", w.folder("2024", "categoryId", images))
	w.folder("empty", "categoryId", images)
	harbour := id(w.upload("harbour.png", picture(w, 900, 300), "folderId", spring))
	w.call("PATCH", "/assets/"+harbour, object{"tags": []string{"sea", "ships"}, "metadata": object{
		"description": "Ships at anchor", "customAttributes": object{"shelf": "north", "year": 1990},
	}})
	w.replace(harbour, "harbour.png", picture(w, 500, 700))
	w.upload("damaged.jpg", "no image at all", "categoryId", images)
	w.upload("logo.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`, "categoryId", images)
	w.upload("notes.txt", strings.Repeat("Fähre um sieben ", 400), "categoryId", documents)
	w.upload("film.mp4", "no film", "categoryId", w.category("Files"))
	w.upload("sound.mp3", "no sound", "categoryId", w.category("Files"))
	thrown := id(w.upload("thrown.png", picture(w, 20, 20), "categoryId", images))
	w.call("POST", "/assets/trash", []string{thrown})
	private := id(w.call("POST", "/admin/categories", object{"name": "Contracts", "extensions": []string{"pdf", "jpg"}, "isPrivate": true}))
	w.upload("deal.pdf", "%PDF-", "categoryId", private)
	for i := range 65 {
		w.upload(fmt.Sprintf("page %02d.txt", i), "x", "categoryId", documents)
	}
	if err := w.sandbox.Processed(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// Every page that can be reached by links has a sound structure.
func TestEveryPage(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	furnish(w)
	seen, queue := map[string]bool{"/": true}, []string{"/"}
	pages := 0
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		a := w.ask(path)
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, a.StatusCode)
			continue
		}
		if !isPage(path) || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			continue
		}
		pages++
		root := parse(t, a.body)
		checkStructure(t, path, root)
		for _, rawURL := range urlsOn(root) {
			if rawURL, _, _ = strings.Cut(rawURL, "#"); rawURL != "" && !seen[rawURL] {
				seen[rawURL] = true
				queue = append(queue, rawURL)
			}
		}
	}
	for kind, needle := range map[string]string{
		"a second page": "page=2", "a trash": "/trash", "a search": "/search", "a table": "view=table", "all folders": "/folders",
		"a revision": "revision=", "a thumbnail": "/thumbnail", "a rendition": "/images/",
	} {
		if !slices.ContainsFunc(queueOf(seen), func(rawURL string) bool { return strings.Contains(rawURL, needle) }) {
			t.Errorf("no page leads to %s", kind)
		}
	}
	if pages < 60 {
		t.Errorf("only %d pages were found", pages)
	}
}

func queueOf(seen map[string]bool) (all []string) {
	for rawURL := range seen {
		all = append(all, rawURL)
	}
	return all
}

func isPage(path string) bool { return path == "/" || strings.HasPrefix(path, base) }

// urlsOn returns all URLs on a page, including the targets of forms.
func urlsOn(root *node) (all []string) {
	for _, n := range root.all() {
		for _, attr := range []string{"href", "src"} {
			if v := n.attrs[attr]; v != "" {
				all = append(all, v)
			}
		}
		if n.name == "form" {
			all = append(all, n.attrs["action"])
		}
	}
	return all
}

// checkStructure checks a page for accessibility and security.
func checkStructure(t *testing.T, path string, root *node) {
	t.Helper()
	for _, name := range []string{"html", "title", "h1", "main", "header", "footer"} {
		if n := len(root.all(name)); n != 1 {
			t.Errorf("%s: %d elements %s", path, n, name)
		}
	}
	if lang := root.all("html")[0].attrs["lang"]; lang != "en" {
		t.Errorf("%s: language %q", path, lang)
	}
	if first := root.all("a")[0]; first.attrs["href"] != "#main" || len(with(root.all("main"), "id", "main")) != 1 {
		t.Errorf("%s: the first link does not skip to the content", path)
	}
	checkNodes(t, path, root)
	level := 0
	for _, h := range root.all("h1", "h2", "h3") {
		if next := int(h.name[1] - '0'); next > level+1 {
			t.Errorf("%s: heading %q skips a level", path, h)
		} else {
			level = next
		}
		if h.String() == "" {
			t.Errorf("%s: an empty heading", path)
		}
	}
	labels := map[string]string{}
	for _, n := range root.all("nav") {
		labels[n.attrs["aria-label"]] += "x"
	}
	for label, n := range labels {
		if label == "" || n != "x" {
			t.Errorf("%s: %d navigations are called %q", path, len(n), label)
		}
	}
}

func checkNodes(t *testing.T, path string, root *node) {
	t.Helper()
	ids := map[string]bool{}
	labelled := map[string]bool{}
	for _, l := range root.all("label") {
		labelled[l.attrs["for"]] = true
	}
	for _, n := range root.all() {
		if v, ok := n.attrs["id"]; ok && ids[v] {
			t.Errorf("%s: two elements have the id %s", path, v)
		} else if ok {
			ids[v] = true
		}
		for attr, v := range n.attrs {
			if strings.HasPrefix(attr, "on") || attr == "style" {
				t.Errorf("%s: %s has %s", path, n.name, attr)
			}
			if u, err := url.Parse(v); slices.Contains([]string{"href", "src", "action"}, attr) && (err != nil || u.Scheme != "" || u.Host != "") {
				t.Errorf("%s: %s leads elsewhere: %s", path, n.name, v)
			}
		}
		switch n.name {
		case "script", "style", "iframe", "object", "embed":
			t.Errorf("%s: it has a %s", path, n.name)
		case "img":
			if _, ok := n.attrs["alt"]; !ok || n.attrs["width"] == "" || n.attrs["height"] == "" {
				t.Errorf("%s: the image %s lacks alt text or size", path, n.attrs["src"])
			}
		case "table":
			if len(n.all("caption")) != 1 {
				t.Errorf("%s: a table without caption", path)
			}
		case "th":
			if n.attrs["scope"] == "" {
				t.Errorf("%s: the heading %q of a table has no scope", path, n)
			}
		case "a", "button":
			if n.String() == "" && len(n.all("img")) == 0 {
				t.Errorf("%s: a %s without text", path, n.name)
			}
		case "form":
			if m := n.attrs["method"]; m != "" && m != "get" {
				t.Errorf("%s: a form with method %s", path, m)
			}
		case "input", "select":
			if n.attrs["type"] != "hidden" && !labelled[n.attrs["id"]] && !wrapped(root, n) {
				t.Errorf("%s: the field %s has no label", path, n.attrs["name"])
			}
		}
	}
}

// wrapped reports whether a field is inside a label.
func wrapped(root, field *node) bool {
	return slices.ContainsFunc(root.all("label"), func(l *node) bool { return slices.Contains(l.all(field.name), field) })
}

func TestEmptySandbox(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	w.folder("empty", "categoryId", w.category("Images"))
	for path, want := range map[string]string{
		"/": "assetferry migrate",
		base + "/categories/" + w.category("Documents"):              "assetferry plan",
		base + "/categories/" + w.category("Files") + "/folders":     "This category has no folders",
		base + "/workspaces/" + w.env.ID + "/trash":                  "empty",
		base + "/workspaces/" + w.env.ID + "/search":                 "Enter one or more words",
		base + "/workspaces/" + w.env.ID + "/search?q=harbour":       "No results",
		base + "/workspaces/" + w.env.ID + "/search?q=a&category=no": "All categories",
	} {
		root := w.page(path)
		checkStructure(t, path, root)
		if text := root.all("main")[0].String(); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", path, want, text)
		}
	}
}

func TestNotThere(t *testing.T) {
	w := newWorld(t, sandbox.Options{})
	for _, path := range []string{
		"/workspaces/no", "/workspaces/no/trash", "/workspaces/no/search?q=x", "/categories/no", "/categories/no/folders",
		"/folders/no", "/assets/no", "/assets/no/thumbnail", "/assets/no/preview", "/assets/no/file", "/nothing", "/assets/",
	} {
		a := w.ask(base + path)
		if a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
		checkStructure(t, path, parse(t, a.body))
	}
}
