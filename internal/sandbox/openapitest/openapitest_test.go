package openapitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"
)

// TestDescription validates the description against the rules of OpenAPI 3.1.
func TestDescription(t *testing.T) { each(t, testDescription) }

// each runs a test on the description of every sandbox.
func each(t *testing.T, test func(t *testing.T, d *description)) {
	for name, service := range map[string]Service{"assets": assetService, "AI": aiService} {
		t.Run(name, func(t *testing.T) {
			d, err := service.description()
			if err != nil {
				t.Fatal(err)
			}
			test(t, d)
		})
	}
}

func testDescription(t *testing.T, d *description) {
	text, err := json.Marshal(d.root.value)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("it is of version %s", doc.OpenAPI)
	}
	ids := make(map[string]string)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if op.OperationID == "" || ids[op.OperationID] != "" {
				t.Errorf("%s: operationId %q is that of %q, too", name, op.OperationID, ids[op.OperationID])
			}
			ids[op.OperationID] = name
			if op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s: want a summary and one tag", name)
			}
		}
	}
}

// TestEverySchemaCompiles finds mistakes in schemas that no other test uses.
func TestEverySchemaCompiles(t *testing.T) { each(t, testEverySchemaCompiles) }

func testEverySchemaCompiles(t *testing.T, d *description) {
	var walk func(n node)
	count := 0
	walk = func(n node) {
		if schema, err := d.schema(n); err != nil {
			t.Errorf("%s: %v", n.pointer, err)
		} else if schema != nil {
			count++
		}
		for key, v := range n.value {
			switch list := v.(type) {
			case map[string]any:
				if key != "schema" {
					walk(node{list, n.pointer + "/" + escaper.Replace(key)})
				}
			case []any:
				for _, child := range d.children(n, key) {
					walk(child)
				}
			}
		}
	}
	walk(d.root)
	if count < 50 {
		t.Errorf("only %d schemas were found", count)
	}
}

// TestAnswersAreClosed verifies that undescribed fields are found: every object of a response
// states whether it may have other fields.
func TestAnswersAreClosed(t *testing.T) { each(t, testAnswersAreClosed) }

func testAnswersAreClosed(t *testing.T, d *description) {
	seen := make(map[string]bool)
	var walk func(n node)
	walk = func(n node) {
		if seen[n.pointer] {
			return
		}
		seen[n.pointer] = true
		if _, says := n.value["additionalProperties"]; n.value["properties"] != nil && !says {
			t.Errorf("%s does not say additionalProperties", n.pointer)
		}
		for _, key := range []string{"items", "additionalProperties"} {
			if child, ok := d.child(n, key); ok {
				walk(child)
			}
		}
		for _, key := range []string{"properties", "patternProperties"} {
			members, _ := d.child(n, key)
			for name := range members.value {
				child, _ := d.child(members, name)
				walk(child)
			}
		}
	}
	for _, p := range d.paths {
		for method := range p.item.value {
			op, _ := d.child(p.item, method)
			responses, _ := d.child(op, "responses")
			for status := range responses.value {
				response, _ := d.child(responses, status)
				content, _ := d.child(response, "content")
				media, _ := d.child(content, "application/json")
				if schema, ok := d.child(media, "schema"); ok {
					walk(schema)
				}
				stream, _ := d.child(content, "text/event-stream")
				events, _ := d.child(stream, "x-events")
				for name := range events.value {
					event, _ := d.child(events, name)
					schema, _ := d.child(event, "schema")
					walk(schema)
				}
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d schemas were found", len(seen))
	}
}

const (
	limits  = `{"plan":"p","pixels":null}`
	item    = `{"id":"a","made":"2026-01-02T03:04:05.678Z"}`
	refusal = `{"message":"No.","statusCode":404,"data":null,"traceId":"3b241101-e2bb-4255-8caf-4136c566a962"}`
)

// An exchangeCase is an exchange that the check must accept or refuse.
type exchangeCase struct {
	request string // "METHOD path body"
	status  int
	headers string // "Name: value; Name: value"
	body    string
	problem string // "" if it is accepted
}

func TestAnswers(t *testing.T) {
	const file = "Content-Type: image/png; Etag: \"x\"; Content-Length: 3"
	const events = "Content-Type: text/event-stream"
	for name, tt := range map[string]exchangeCase{
		"as described":            {"GET /limits", 200, "", limits, ""},
		"refusal":                 {"GET /items/x", 404, "", refusal, ""},
		"no body":                 {"DELETE /items/x", 204, "", "", ""},
		"file":                    {"GET /w/items/a/file", 200, file, "png", ""},
		"HEAD":                    {"HEAD /w/items/a/file", 200, file, "", ""},
		"nested":                  {"GET /items/x", 200, "", strings.TrimSuffix(item, "}") + `,"items":[` + item + `]}`, ""},
		"unknown route":           {"GET /nowhere", 501, "", strings.NewReplacer("No.", "The sandbox has no route.", "404", "501").Replace(refusal), ""},
		"fault":                   {"GET /limits", 418, "", strings.NewReplacer("No.", "A fault is configured for this request: x.", "404", "418").Replace(refusal), ""},
		"field too many":          {"GET /limits", 200, "", strings.Replace(limits, "{", `{"more":1,`, 1), "additional properties 'more'"},
		"field missing, nested":   {"GET /items/x", 200, "", strings.TrimSuffix(item, "}") + `,"items":[{"id":"b"}]}`, "at '/items/0': missing property 'made'"},
		"field missing":           {"GET /limits", 200, "", strings.Replace(limits, `"plan":"p",`, "", 1), "missing property 'plan'"},
		"field of another type":   {"GET /limits", 200, "", strings.Replace(limits, "null", `"50"`, 1), "got string"},
		"time without zone":       {"GET /items/x", 200, "", strings.ReplaceAll(item, "Z", ""), "date-time"},
		"no JSON":                 {"GET /limits", 200, "", "{", "not JSON"},
		"two values":              {"GET /limits", 200, "", limits + limits, "not JSON"},
		"another content type":    {"GET /limits", 200, "Content-Type: text/html", limits, `content type "text/html"`},
		"status not described":    {"GET /limits", 202, "", limits, "does not describe this status"},
		"500":                     {"GET /limits", 500, "", strings.Replace(refusal, "404", "500", 1), "does not describe this status"},
		"501 of a known route":    {"GET /limits", 501, "", strings.Replace(refusal, "404", "501", 1), "does not describe this status"},
		"body not described":      {"DELETE /items/x", 204, "Content-Type: text/plain", "done", "the body of 4 bytes"},
		"header missing":          {"GET /w/items/a/file", 200, strings.Replace(file, "Etag", "X", 1), "png", "ETag is missing"},
		"header of another form":  {"GET /w/items/a/file", 200, strings.Replace(file, `"x"`, "x", 1), "png", "header ETag"},
		"refusal of three keys":   {"GET /items/x", 404, "", strings.Replace(refusal, `"data":null,`, "", 1), "missing property 'data'"},
		"refusal, another status": {"GET /items/x", 404, "", strings.Replace(refusal, "404", "400", 1), "statusCode is 400"},
		"fault of three keys":     {"GET /limits", 503, "", `{"message":"A fault is configured for this request: x.","statusCode":503,"data":null}`, "missing property 'traceId'"},
		"route not described":     {"GET /nowhere", 200, "", "{}", "the operation is not described"},
		"method not described":    {"PATCH /limits", 200, "", "{}", "the operation is not described"},
		"word before wildcard":    {"DELETE /items/first", 404, "", refusal, "DELETE /items/first does not describe this status"},
		"events":                  {"POST /said", 200, events, "event: text\ndata: {\"delta\":\ndata: \"a\"}\r\n\r\n: comment\n\nevent: done\ndata: {}\n\n", ""},
		"event in an envelope":    {"POST /said", 200, events, "event: text\ndata: {\"event\":\"text\",\"data\":{\"delta\":\"a\"}}\n\n", ""},
		"event of another form":   {"POST /said", 200, events, "event: text\ndata: {\"delta\":1}\n\n", "at '/delta': got number"},
		"event not described":     {"POST /said", 200, events, "data: {}\n\n", `event "message"`},
		"event that is no JSON":   {"POST /said", 200, events, "event: done\ndata: [DONE]\n\n", "not JSON"},
		"event without an end":    {"POST /said", 200, events, "event: done\ndata: {}\n\nevent: x", ""},
		"preflight":               {"OPTIONS /limits", 204, "", "", ""},
		"preflight with a body":   {"OPTIONS /limits", 204, "", "{}", "preflight"},
	} {
		t.Run(name, func(t *testing.T) { tt.run(t, "a token", "application/json") })
	}
}

func TestRequests(t *testing.T) {
	const field, end = "--b\r\nContent-Disposition: form-data; name=\"", "--b--\r\n"
	const file = field + "file\"; filename=\"a;b.txt\"\r\n\r\nx\r\n"
	for name, tt := range map[string]exchangeCase{
		"as described":              {"PUT /items/x {\"name\":\"n\",\"unknown\":1}", 200, "", item, ""},
		"refused, so not looked at": {"PUT /items/x {}", 404, "", refusal, ""},
		"query":                     {"GET /items?limit=50&sortBy=name", 204, "", "", ""},
		"form":                      {"POST /items/x " + field + "place\"\r\n\r\np\r\n" + file + end, 201, "", item, ""},
		"field missing":             {"PUT /items/x {}", 200, "", item, "missing property 'name'"},
		"body missing":              {"PUT /items/x", 200, "", item, "not JSON"},
		"body not described":        {"DELETE /items/x {}", 204, "", "", "the request body is not described"},
		"query not described":       {"GET /items?x=1", 204, "", "", "parameter x is not described"},
		"query beyond the limit":    {"GET /items?limit=501", 204, "", "", "parameter limit"},
		"query of another type":     {"GET /items?limit=x", 204, "", "", "parameter limit"},
		"query not in the list":     {"GET /items?sortBy=size", 204, "", "", "parameter sortBy"},
		"form without a file":       {"POST /items/x " + field + "place\"\r\n\r\np\r\n" + end, 201, "", item, "missing property 'file'"},
		"form with a long field":    {"POST /items/x " + field + "place\"\r\n\r\nlong\r\n" + file + end, 201, "", item, "at '/place'"},
	} {
		t.Run(name, func(t *testing.T) { tt.run(t, "a token", "multipart/form-data; boundary=b") })
	}
	t.Run("without a token", func(t *testing.T) {
		exchangeCase{"GET /limits", 200, "", limits, "without a token"}.run(t, "", "")
		exchangeCase{"GET /w/items/a/file", 200, "Content-Type: image/png; Etag: \"x\"", "png", ""}.run(t, "", "")
	})
}

func (tt exchangeCase) run(t *testing.T, token, contentType string) {
	t.Helper()
	c := check(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		for header := range strings.SplitSeq(tt.headers, "; ") {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(tt.status)
		_, _ = io.WriteString(w, tt.body)
	})
	words := append(strings.SplitN(tt.request, " ", 3), "")
	r := httptest.NewRequestWithContext(t.Context(), words[0], words[1], strings.NewReader(words[2]))
	r.Header.Set("Authorization", token)
	r.Header.Set("Content-Type", contentType)
	if words[0] == http.MethodOptions {
		r.Header.Set("Access-Control-Request-Method", "GET")
	}
	c.ServeHTTP(httptest.NewRecorder(), r)
	switch err := c.Err(); {
	case tt.problem == "" && err != nil:
		t.Error(err)
	case tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)):
		t.Errorf("got %v, want %q", err, tt.problem)
	}
}

func check(t *testing.T, h http.HandlerFunc) *Checker {
	t.Helper()
	text, err := os.ReadFile("testdata/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	d, err := parse("a file for tests", text)
	if err != nil {
		t.Fatal(err)
	}
	return newChecker(h, d)
}

// TestFilesPass verifies that bytes reach the client while they are sent, and are not stored.
func TestFilesPass(t *testing.T) {
	arrived := make(chan struct{})
	c := check(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		_, _ = io.WriteString(w, "one")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		select {
		case <-arrived:
		case <-time.After(time.Minute):
			t.Error("what was flushed did not arrive")
		}
		a := w.(*answer)
		if a.text.Len() != 0 || a.size != 3 {
			t.Errorf("%d of %d bytes are kept", a.text.Len(), a.size)
		}
	})
	server := httptest.NewServer(c)
	defer server.Close()
	resp, err := http.Get(server.URL + "/w/items/a/file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.ReadFull(resp.Body, make([]byte, 3)); err != nil {
		t.Error(err)
	}
	close(arrived)
}

func TestCutConnectionIsNotChecked(t *testing.T) {
	c := check(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	server := httptest.NewServer(c)
	defer server.Close()
	if resp, err := http.Get(server.URL + "/limits"); err == nil {
		_ = resp.Body.Close()
		t.Error("the connection was not cut")
	}
	server.Close()
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}

func TestCalled(t *testing.T) {
	c := check(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/items/x" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	for _, path := range []string{"/items/x", "/items/first"} {
		c.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "DELETE", path, bytes.NewReader(nil)))
	}
	if got := c.Called(); len(got) != 1 || got[0] != "DELETE /items/{id}" {
		t.Errorf("got %q", got)
	}
}
