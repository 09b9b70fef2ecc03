package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

// object is decoded JSON, so that tests see the values on the wire.
type object = map[string]any

// A client is a user who sends requests to a stand-in.
type client struct {
	testing.TB
	url    string
	token  string
	env    tokens.Environment
	server *sandbox.Server
}

// start runs a stand-in and returns a client with the role superadmin.
func start(t testing.TB, o sandbox.Options) *client {
	t.Helper()
	s := sandboxtest.Run(t, o)
	return &client{t, s.URL, sandboxtest.Sign(s.Environment.AccessKey, sandboxtest.Claims(s.Environment, "superadmin")), s.Environment, s.Server}
}

// processed waits until no image is queued.
func (c *client) processed() {
	c.Helper()
	if err := c.server.Processed(c.Context()); err != nil {
		c.Fatal(err)
	}
}

// as returns the same client with another token.
func (c *client) as(role string, workspaces ...string) *client {
	other := *c
	other.token = sandboxtest.Sign(c.env.AccessKey, sandboxtest.Claims(c.env, role, workspaces...))
	return &other
}

// A clock can be set while the stand-in reads it.
type clock struct{ nanoseconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanoseconds.Store(time.Now().UnixNano())
	return c
}

func (c *clock) now() time.Time           { return time.Unix(0, c.nanoseconds.Load()) }
func (c *clock) advance(by time.Duration) { c.nanoseconds.Add(int64(by)) }

// A reply is a complete response.
type reply struct {
	*http.Response
	body []byte
}

func (r reply) object(t testing.TB) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(r.body, &o); err != nil {
		t.Fatalf("%s %s: %d, not an object: %q", r.Request.Method, r.Request.URL, r.StatusCode, r.body)
	}
	return o
}

// send sends a request and reads the response; err is that of the connection.
func (c *client) send(method, path, contentType string, body io.Reader) (reply, error) {
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+path, body)
	if err != nil {
		c.Fatal(err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", c.token)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return reply{resp, b}, err
}

// do sends a request with a JSON body, with the content type of official clients, and verifies the
// status.
func (c *client) do(want int, method, path string, body any) reply {
	c.Helper()
	var b io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			c.Fatal(err)
		}
		b = bytes.NewReader(text)
	}
	r, err := c.send(method, path, "text/plain;charset=UTF-8", b)
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	if r.StatusCode != want {
		c.Fatalf("%s %s: status %d, want %d: %s", method, path, r.StatusCode, want, r.body)
	}
	if want >= 400 && method != http.MethodHead {
		checkProblem(c, r)
	}
	return r
}

func (c *client) get(path string) object {
	c.Helper()
	return c.do(http.StatusOK, "GET", path, nil).object(c)
}

// checkProblem verifies the four keys by which clients recognize an error.
func checkProblem(t testing.TB, r reply) {
	t.Helper()
	o := r.object(t)
	for _, key := range []string{"message", "statusCode", "data", "traceId"} {
		if _, ok := o[key]; !ok {
			t.Errorf("error body has no %s: %s", key, r.body)
		}
	}
	if o["statusCode"] != float64(r.StatusCode) {
		t.Errorf("error body says status %v, the answer %d", o["statusCode"], r.StatusCode)
	}
}

// form encodes an upload: pairs of field names and values, then the file.
func form(t testing.TB, file string, content []byte, fields ...string) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// tryUpload uploads a file and returns any response.
func (c *client) tryUpload(path, file, content string, fields ...string) reply {
	c.Helper()
	body, contentType := form(c, file, []byte(content), fields...)
	r, err := c.send("POST", path, contentType, bytes.NewReader(body))
	if err != nil {
		c.Fatalf("upload %s: %v", file, err)
	}
	return r
}

// upload uploads a file and verifies that it succeeds.
func (c *client) upload(file, content string, fields ...string) object {
	c.Helper()
	r := c.tryUpload("/assets", file, content, fields...)
	if r.StatusCode != http.StatusCreated {
		c.Fatalf("upload %s: %d %s", file, r.StatusCode, r.body)
	}
	return r.object(c)
}

// category returns the ID of a category of the default workspace.
func (c *client) category(name string, query ...string) string {
	c.Helper()
	for _, item := range items(c.get("/categories?" + strings.Join(query, "&"))) {
		if item["name"] == name {
			return item["id"].(string)
		}
	}
	c.Fatalf("no category %s", name)
	return ""
}

func items(list object) []object {
	var found []object
	for _, item := range list["items"].([]any) {
		found = append(found, item.(object))
	}
	return found
}

// column returns one field of every item.
func column(list object, field string) []string {
	found := []string{}
	for _, item := range items(list) {
		found = append(found, fmt.Sprint(item[field]))
	}
	return found
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
