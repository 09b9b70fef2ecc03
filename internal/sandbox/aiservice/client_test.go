package aiservice_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
)

// A client is a user who sends requests to a stand-in.
type client struct {
	testing.TB
	aiservicetest.Running
	token string
}

func start(t testing.TB, o aiservice.Options) *client {
	t.Helper()
	r := aiservicetest.Run(t, o)
	return (&client{TB: t, Running: r}).as("tester", "ai:admin")
}

// as returns a client of another user, or with other permissions.
func (c *client) as(user string, permissions ...string) *client {
	other := *c
	other.token = aiservicetest.Sign(c.Environment.AccessKey, aiservicetest.Claims(c.Environment, user, permissions...))
	return &other
}

// An answered is a complete response.
type answered struct {
	status int
	header http.Header
	text   string
}

func (a answered) json(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.text), &v); err != nil {
		t.Fatalf("%s: %v", a.text, err)
	}
	return v
}

// send sends a request; the error is that of a closed connection.
func (c *client) send(method, path, contentType string, body io.Reader) (answered, error) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL+path, body)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return answered{}, err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return answered{response.StatusCode, response.Header, string(b)}, err
}

// try sends JSON and returns any response. A body that is a text is already JSON.
func (c *client) try(method, path string, body any) answered {
	c.Helper()
	text, ok := body.(string)
	if !ok && body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.Fatal(err)
		}
		text = string(b)
	}
	a, err := c.send(method, path, "application/json", strings.NewReader(text))
	if err != nil {
		c.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// must sends JSON and returns the JSON of a successful response.
func (c *client) must(method, path string, body any) map[string]any {
	c.Helper()
	a := c.try(method, path, body)
	if a.status >= 300 {
		c.Fatalf("%s %s: %d %s", method, path, a.status, a.text)
	}
	if a.text == "" {
		return nil
	}
	return a.json(c)
}

// refused sends JSON, verifies the status and the code of the error, and returns its data.
func (c *client) refused(method, path string, body any, status int, code string) map[string]any {
	c.Helper()
	return c.wantRefusal(method+" "+path, c.try(method, path, body), status, code)
}

func (c *client) wantRefusal(what string, a answered, status int, code string) map[string]any {
	c.Helper()
	v := a.json(c)
	if a.status != status || v["code"] != code || v["statusCode"] != float64(status) || v["message"] == "" || v["traceId"] == "" {
		c.Errorf("%s: %d %s, want %d %s", what, a.status, a.text, status, code)
	}
	data, _ := v["data"].(map[string]any)
	return data
}

func (c *client) conversation(id string) string {
	c.Helper()
	c.must("POST", "/v1/conversations", map[string]string{"id": id, "group": "tests"})
	return "/v1/conversations/" + id
}

// upload uploads a file and returns the response.
func (c *client) upload(path, name, contentType string, data []byte, attributes string) answered {
	c.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if attributes != "" {
		if err := w.WriteField("attributes", attributes); err != nil {
			c.Fatal(err)
		}
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="file"; filename=%q`, name))
	h.Set("Content-Type", contentType)
	part, err := w.CreatePart(h)
	if err == nil {
		_, err = part.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		c.Fatal(err)
	}
	a, err := c.send("POST", path, w.FormDataContentType(), &b)
	if err != nil {
		c.Fatal(err)
	}
	return a
}

// file uploads a file that must be accepted, and returns its ID.
func (c *client) file(conversation, name, contentType string, data []byte) string {
	c.Helper()
	a := c.upload(conversation+"/files", name, contentType, data, "")
	if a.status != http.StatusCreated {
		c.Fatalf("upload of %s: %d %s", name, a.status, a.text)
	}
	return a.json(c)["id"].(string)
}

// An event is an event of a stream.
type event struct {
	name string
	data map[string]any
}

// stream sends a request and returns the events of its response. The error is that of an
// interrupted stream.
func (c *client) stream(path string, body any) ([]event, error) {
	c.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		c.Fatal(err)
	}
	a, err := c.send("POST", path, "application/json", bytes.NewReader(b))
	if a.status != http.StatusOK || !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		c.Fatalf("POST %s: %d %s (%v)", path, a.status, a.text, err)
	}
	return events(c, a.text), err
}

func events(t testing.TB, text string) (all []event) {
	t.Helper()
	var e event
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ": ")
		switch name {
		case "event":
			e.name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				t.Fatalf("%s: %v", s.Text(), err)
			}
		case "":
			all, e = append(all, e), event{}
		default:
			t.Fatalf("%q is no line of an event", s.Text())
		}
	}
	return all
}

// say sends a message to a conversation and returns the events of the reply.
func (c *client) say(conversation string, message map[string]any) []event {
	c.Helper()
	if message["model"] == nil {
		message["model"] = "agent-1"
	}
	all, err := c.stream(strings.Replace(conversation, "/v1/", "/v1.1/", 1)+"/messages", message)
	if err != nil {
		c.Fatal(err)
	}
	return all
}

// names returns the names of events, with repetitions in sequence merged.
func names(all []event) (list []string) {
	for _, e := range all {
		if len(list) == 0 || list[len(list)-1] != e.name {
			list = append(list, e.name)
		}
	}
	return list
}

// text joins the parts of a text.
func text(all []event, name string) string {
	var b strings.Builder
	for _, e := range all {
		if e.name == name {
			b.WriteString(e.data["textDelta"].(string))
		}
	}
	return b.String()
}

// items returns the items of a list.
func (c *client) items(path string) []any {
	c.Helper()
	return c.must("GET", path, nil)["items"].([]any)
}

// column returns a field of every item.
func column(items []any, field string) (all []string) {
	for _, i := range items {
		all = append(all, fmt.Sprint(i.(map[string]any)[field]))
	}
	return all
}

// picture returns a PNG of one colour.
func picture(t testing.TB, width, height int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			m.Set(x, y, color.NRGBA{200, 30, 30, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mustList decodes a JSON array.
func mustList(t testing.TB, text string) (all []any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}

// A timed is a response in fake time, without a connection.
type timed struct {
	text string
	took time.Duration
}

// inProcess starts a stand-in, calls an action several times, and returns the last response.
func inProcess(t *testing.T, o aiservice.Options, times int) (last timed) {
	t.Helper()
	s, err := aiservice.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	e := o.Environments[0]
	for range times {
		body := strings.NewReader(`{"content":[{"type":"text","content":"Text that goes on."}]}`)
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/actions/system/continue/calls", body)
		r.Header.Set("Authorization", "Bearer "+aiservicetest.Sign(e.AccessKey, aiservicetest.Claims(e, "tester", "ai:actions:*")))
		w, begun := httptest.NewRecorder(), time.Now()
		s.ServeHTTP(w, r)
		last = timed{w.Body.String(), time.Since(begun)}
	}
	return last
}
