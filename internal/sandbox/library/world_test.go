package library_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

const base = "/_sandbox/library"

type object = map[string]any

// A world is a sandbox with a library page and a client.
type world struct {
	testing.TB
	*httptest.Server
	sandbox *sandbox.Server
	env     tokens.Environment
	token   string
	secret  string // of the cookie
}

func newWorld(t testing.TB, o sandbox.Options) *world {
	t.Helper()
	env := sandboxtest.Environment()
	o.Environments, o.Library = []tokens.Environment{env}, true
	s, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, httptest.NewServer(s), s, env, sandboxtest.Sign(env.AccessKey, sandboxtest.Claims(env, "superadmin")), ""}
	t.Cleanup(func() {
		w.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.enter()
	return w
}

// An answer is a complete response.
type answer struct {
	*http.Response
	body string
}

// enter opens the library with a key, like a browser.
func (w *world) enter() {
	w.Helper()
	a := w.ask(strings.TrimPrefix(w.sandbox.LibraryURL(w.URL), w.URL))
	if len(a.Cookies()) != 1 {
		w.Fatalf("no cookie: %d %s", a.StatusCode, a.body)
	}
	w.secret = a.Cookies()[0].Value
}

// cookie returns the access cookie for a host.
func (w *world) cookie(host string) *http.Cookie {
	port := "80"
	if _, p, err := net.SplitHostPort(host); err == nil {
		port = p
	}
	return &http.Cookie{Name: "assetferry-library-" + port, Value: w.secret}
}

// ask sends a request like a browser, with additional headers.
func (w *world) ask(path string, headers ...string) answer {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.URL+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	if w.secret != "" {
		r.AddCookie(w.cookie(r.Host))
	}
	return w.do(r)
}

func (w *world) do(r *http.Request) answer {
	w.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	return answer{resp, string(body)}
}

// page returns a page that must exist.
func (w *world) page(path string) *node {
	w.Helper()
	a := w.ask(path)
	if a.StatusCode != http.StatusOK {
		w.Fatalf("GET %s: %d %s", path, a.StatusCode, a.body)
	}
	return parse(w, a.body)
}

// call sends a request to the service that must succeed.
func (w *world) call(method, path string, body any) object {
	w.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.Fatal(err)
	}
	return w.send(method, path, "application/json", text)
}

func (w *world) send(method, path, contentType string, body []byte) object {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, w.URL+path, bytes.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Authorization", w.token)
	r.Header.Set("Content-Type", contentType)
	a := w.do(r)
	if a.StatusCode >= 300 {
		w.Fatalf("%s %s: %d %s", method, path, a.StatusCode, a.body)
	}
	var o object
	if a.body != "" {
		if err := json.Unmarshal([]byte(a.body), &o); err != nil {
			w.Fatal(err)
		}
	}
	return o
}

// upload uploads a file to a category, or with two more arguments to another place.
func (w *world) upload(name, content string, fields ...string) object {
	w.Helper()
	contentType, body := w.form(name, content, fields...)
	return w.send("POST", "/assets", contentType, body)
}

// replace replaces the content of an asset.
func (w *world) replace(id, name, content string) {
	w.Helper()
	contentType, body := w.form(name, content)
	w.send("POST", "/assets/"+id, contentType, body)
}

func (w *world) form(name, content string, fields ...string) (contentType string, body []byte) {
	w.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		if err := m.WriteField(fields[i], fields[i+1]); err != nil {
			w.Fatal(err)
		}
	}
	// Raw, like browsers: multipart.Writer would escape the name.
	part, err := m.CreatePart(map[string][]string{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := io.WriteString(part, content); err != nil {
		w.Fatal(err)
	}
	if err := m.Close(); err != nil {
		w.Fatal(err)
	}
	return m.FormDataContentType(), b.Bytes()
}

// category returns the ID of a category in the default workspace.
func (w *world) category(name string) string {
	w.Helper()
	for _, c := range w.call("GET", "/categories", nil)["items"].([]any) {
		if c := c.(object); c["name"] == name {
			return c["id"].(string)
		}
	}
	w.Fatalf("no category %s", name)
	return ""
}

func (w *world) folder(name string, in ...string) string {
	w.Helper()
	return w.call("POST", "/folders", object{"name": name, in[0]: in[1]})["id"].(string)
}

func id(o object) string { return o["id"].(string) }

// picture returns a PNG of a size.
func picture(t testing.TB, width, height int) string {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width {
		m.SetNRGBA(i, i%height, color.NRGBA{R: uint8(i), G: 90, B: 160, A: 255})
	}
	var b strings.Builder
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
