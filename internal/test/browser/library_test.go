//go:build browser

package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

// A shelf is a sandbox with a library page.
type shelf struct {
	*testing.T
	*httptest.Server
	sandbox   *sandbox.Server
	token     string
	workspace string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	env := sandboxtest.Environment()
	s, err := sandbox.New(sandbox.Options{Environments: []tokens.Environment{env}, Library: true})
	if err != nil {
		t.Fatal(err)
	}
	h := &shelf{t, httptest.NewServer(s), s, sandboxtest.Sign(env.AccessKey, sandboxtest.Claims(env, "superadmin")), env.ID}
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// call calls the service with JSON, and returns the ID of the created object, if any.
func (h *shelf) call(method, path string, body any) string {
	h.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.Fatal(err)
	}
	return h.send(method, path, "application/json", text)
}

// upload uploads a file; where and id are the form field of its place and the value.
func (h *shelf) upload(name string, content []byte, where, id string) string {
	h.Helper()
	contentType, body := h.form(name, content, where, id)
	return h.send("POST", "/assets", contentType, body)
}

// form returns the form of an upload: pairs of fields, followed by a file.
func (h *shelf) form(name string, content []byte, fields ...string) (contentType string, body []byte) {
	h.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		if err := m.WriteField(fields[i], fields[i+1]); err != nil {
			h.Fatal(err)
		}
	}
	part, err := m.CreatePart(map[string][]string{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}})
	if err != nil {
		h.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		h.Fatal(err)
	}
	if err := m.Close(); err != nil {
		h.Fatal(err)
	}
	return m.FormDataContentType(), b.Bytes()
}

func (h *shelf) send(method, path, contentType string, body []byte) string {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.URL+path, bytes.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	r.Header.Set("Authorization", h.token)
	r.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var made struct{ ID, Message string }
	if resp.StatusCode != http.StatusNoContent {
		if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || resp.StatusCode >= 300 {
			h.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, made.Message, err)
		}
	}
	return made.ID
}

// enter opens the library URL of the sandbox, which contains a key, in a browser.
func (h *shelf) enter(b *browser) {
	h.Helper()
	p := b.open(h.T, h.sandbox.LibraryURL(h.URL), 1280, "light")
	select {
	case <-p.loaded: // the page that the first one redirects to
	case <-p.ctx.Done():
		h.Fatal("the URL with the key leads nowhere")
	}
	var is struct{ At, Text string }
	if p.eval("({at: location.href, text: document.body.innerText})", &is); is.At != h.URL+"/" || !strings.Contains(is.Text, "Categories") {
		h.Fatalf("the library does not open: %+v", is)
	}
}

// TestActiveFiles opens files with a script that would change the title of the page.
func TestActiveFiles(t *testing.T) {
	h := newShelf(t)
	category := h.call("POST", "/admin/categories", object{"name": "Active", "extensions": []string{"html", "svg", "xml"}})
	b := startBrowser(t)
	h.enter(b)
	const script = `fetch("/").then(r => r.text()).then(t => document.documentElement.setAttribute("read", t)); document.documentElement.setAttribute("ran", "yes")`
	for name, content := range map[string]string{
		"page.html": "<!doctype html><title>x</title><script>" + script + "</script>",
		"logo.svg":  `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>` + "<![CDATA[" + script + "]]></script></svg>",
		"data.xml":  `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>` + "<![CDATA[" + script + "]]></script></html>",
	} {
		asset := h.upload(name, []byte(content), "categoryId", category)
		p := b.open(t, h.URL+"/"+h.workspace+"/assets/"+asset+"/file", 1280, "light")
		var is struct {
			Ran    bool
			Origin string
		}
		p.eval(`({ran: document.documentElement.hasAttribute("ran"), origin: self.origin})`, &is)
		if is.Ran || is.Origin != "null" {
			t.Errorf("%s: %+v", name, is)
		}
	}
}

// TestLibrary checks every kind of page, with contents that are difficult to display.
func TestLibrary(t *testing.T) {
	h := newShelf(t)
	category := h.call("POST", "/admin/categories", object{"name": "Häfen & <b>Schiffe</b>", "extensions": []string{"png", "svg", "txt"}, "isPrivate": true})
	folder := category
	for n, parent := 0, "categoryId"; n < 12; n, parent = n+1, "parentId" {
		folder = h.call("POST", "/folders", object{"name": fmt.Sprintf("level %d of a deep tree", n), parent: folder})
	}
	public := h.call("POST", "/admin/categories", object{"name": "ميناء", "extensions": []string{"png"}})
	asset := h.upload(strings.Repeat("a-name-without-a-space-", 10)+".png", picture(t), "folderId", folder)
	h.call("PATCH", "/assets/"+asset, object{"tags": []string{"ميناء هلسنكي", strings.Repeat("tag", 40)}, "metadata": object{
		"description": strings.Repeat("What is to be seen. ", 30), "customAttributes": object{strings.Repeat("long", 40): strings.Repeat("value", 90)},
	}})
	contentType, body := h.form("x.png", picture(t))
	h.send("POST", "/assets/"+asset, contentType, body)
	vector := h.upload("logo.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>top.ran = 1</script></svg>`), "categoryId", category)
	for n := range 64 {
		h.upload(fmt.Sprintf("Ünterwegs %d.txt", n), []byte("x"), "categoryId", category)
	}
	shown := h.upload("ميناء هلسنكي عند الغروب.png", picture(t), "categoryId", public)
	thrown := h.upload("thrown away.png", picture(t), "categoryId", public)
	h.call("POST", "/assets/trash", []string{thrown})

	const base = "/_sandbox/library"
	b := startBrowser(t)
	h.enter(b)
	for name, path := range map[string]string{
		"workspace": "/", "category": base + "/categories/" + category, "second page": base + "/categories/" + category + "?page=2&view=table",
		"folder": base + "/folders/" + folder, "folders": base + "/categories/" + category + "/folders",
		"asset": base + "/assets/" + asset, "vector": base + "/assets/" + vector, "public": base + "/assets/" + shown, "thrown": base + "/assets/" + thrown,
		"search": base + "/workspaces/" + h.workspace + "/search?q=png&view=table", "none": base + "/workspaces/" + h.workspace + "/search?q=nothing&category=" + public,
		"trash": base + "/workspaces/" + h.workspace + "/trash", "empty": base + "/categories/" + h.call("POST", "/admin/categories", object{"name": "Nothing", "extensions": []string{"gif"}}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, width := range widths {
				p := checkPage(t, b, h.URL+path, width)
				p.checkPictures()
				p.checkStyled()
			}
		})
	}
}

// checkPictures fails the test if a picture is missing or distorted.
func (p *tab) checkPictures() {
	p.Helper()
	var wrong []string
	p.eval(`(async () => {
		for (const m of document.images) m.loading = "eager";
		await Promise.all([...document.images].map(m => m.decode().catch(() => 0)));
		return [...document.images].filter(m => !m.naturalWidth || Math.abs(m.naturalWidth / m.naturalHeight - m.getAttribute("width") / m.getAttribute("height")) > 0.02)
			.map(m => m.outerHTML);
	})()`, &wrong)
	if len(wrong) > 0 {
		p.Errorf("these pictures are not shown, or in another shape: %q", wrong)
	}
}

// TestLibraryIsNotForScripts opens a page that a user uploaded, at the URL of its file, and a page
// of another HTTP origin. It verifies that neither can read the library.
func TestLibraryIsNotForScripts(t *testing.T) {
	h := newShelf(t)
	category := h.call("POST", "/admin/categories", object{"name": "Pages", "extensions": []string{"html", "png"}})
	const script = "<script>document.title = 'ran'</script>"
	image := h.upload("image.png", picture(t), "categoryId", category)
	thumbnail := "/_sandbox/library/assets/" + url.PathEscape(image) + "/thumbnail"
	asset := h.upload("page.html", []byte("<!doctype html><title>uploaded</title><img src="+thumbnail+"><iframe src=/></iframe>"+script), "categoryId", category)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>elsewhere</title>"))
	}))
	t.Cleanup(elsewhere.Close)
	b := startBrowser(t)
	h.enter(b) // so that the browser has a cookie to send
	for title, rawURL := range map[string]string{
		"uploaded": h.URL + "/" + h.workspace + "/assets/" + asset + "/file", "elsewhere": elsewhere.URL,
	} {
		t.Run(title, func(t *testing.T) {
			p := b.open(t, rawURL, 1280, "light")
			var got string
			if p.eval("document.title", &got); got != title {
				t.Fatalf("the page is %q", got)
			}
			if p.eval("self.origin", &got); got == h.URL {
				t.Errorf("the page is of the origin of the library")
			}
			library, _ := json.Marshal(h.URL + "/")
			p.eval(`fetch(`+string(library)+`, {headers: {Accept: "text/html"}}).then(r => r.text()).catch(e => "refused: " + e)`, &got)
			if !strings.HasPrefix(got, "refused") && !strings.Contains(got, "not shown to scripts") {
				t.Errorf("a script read: %.200s", got)
			}
			if title == "uploaded" { // its scripts do not run, so it contains the tags
				var is struct {
					Shown bool
					Frame string
				}
				p.eval(`({shown: document.images[0].naturalWidth > 0, frame: document.querySelector("iframe").contentDocument?.body.innerText || ""})`, &is)
				if is.Shown || is.Frame != "" {
					t.Errorf("an uploaded page shows the library: %+v", is)
				}
				return
			}
			p.eval(`new Promise(done => {
				const f = document.createElement("iframe");
				f.onload = () => { try { done(f.contentDocument ? f.contentDocument.body.innerText : "closed") } catch (e) { done("closed") } };
				f.src = `+string(library)+`;
				document.body.append(f);
			})`, &got)
			if strings.Contains(got, "Categories") {
				t.Errorf("a frame shows: %.200s", got)
			}
			source, _ := json.Marshal(h.URL + thumbnail)
			var shown bool
			p.eval(`new Promise(done => { const m = new Image(); m.onload = () => done(true); m.onerror = () => done(false); m.src = `+string(source)+` })`, &shown)
			if shown {
				t.Error("another site shows a picture of the library")
			}
		})
	}
}
