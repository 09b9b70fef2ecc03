package aiservice_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox/aiservice"
)

// padded returns content of a size with the signature of a format.
func padded(head string, size int) []byte {
	return append([]byte(head), bytes.Repeat([]byte("x"), size-len(head))...)
}

// pdf returns a PDF with a number of page objects.
func pdf(pages int) []byte {
	var b strings.Builder
	b.WriteString("%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n")
	fmt.Fprintf(&b, "2 0 obj\n<< /Type /Pages /Count %d >>\nendobj\n", pages)
	for i := range pages {
		fmt.Fprintf(&b, "%d 0 obj\n<< /Type /Page /Parent 2 0 R >>\nendobj\n", i+3)
	}
	b.WriteString("%%EOF\n")
	return []byte(b.String())
}

func TestFiles(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("one")
	red := picture(t, 8, 8)
	for name, test := range map[string]struct {
		file, given string
		data        []byte
		kept        string // detected type; empty: refused
	}{
		"PNG":                      {"a.png", "image/png", red, "image/png"},
		"PNG in capitals":          {"A.PNG", "application/octet-stream", red, "image/png"},
		"PNG without extension":    {"a", "image/png", red, "image/png"},
		"JPEG":                     {"a.jpeg", "", []byte("\xff\xd8\xff\xe0"), "image/jpeg"},
		"PDF":                      {"a.pdf", "application/pdf", pdf(1), "application/pdf"},
		"DOCX":                     {"a.docx", "", []byte("PK\x03\x04 word/document.xml"), "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		"Markdown":                 {"a.md", "text/plain", []byte("# Hello"), "text/markdown"},
		"HTML":                     {"a.html", "", []byte("<p>Hello</p>"), "text/html"},
		"text":                     {"a.txt", "", []byte("Hello"), "text/plain"},
		"PNG that says JPEG":       {"a.jpg", "image/jpeg", red, ""},
		"text that says PNG":       {"a.png", "image/png", []byte("Hello"), ""},
		"GIF":                      {"a.gif", "image/gif", []byte("GIF89a"), ""},
		"WebP":                     {"a.webp", "image/webp", []byte("RIFF1234WEBP"), ""},
		"a ZIP that says DOCX":     {"a.docx", "", []byte("PK\x03\x04 readme"), ""},
		"bytes that say text":      {"a.txt", "text/plain", []byte("a\x00b"), ""},
		"no extension and no type": {"a", "application/octet-stream", []byte("Hello"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := *c
			c.TB = t
			a := c.upload(path+"/files", test.file, test.given, test.data, `{"label":"L"}`)
			if test.kept == "" {
				c.wantRefusal("upload", a, 415, "unsupported-file-type")
				return
			}
			got := c.must("GET", path+"/files/"+a.json(t)["id"].(string), nil)
			if got["type"] != test.kept || got["name"] != test.file || got["size"] != float64(len(test.data)) || got["attributes"].(map[string]any)["label"] != "L" {
				t.Errorf("kept %v", got)
			}
		})
	}
}

func TestFilesThatAreTooMuch(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("one")
	limit := func(a answered, status int, code string, want float64) {
		t.Helper()
		if data := c.wantRefusal(code, a, status, code); data["limit"] != want {
			t.Errorf("%s: data %v, want the limit %v", code, data, want)
		}
	}
	limit(c.upload(path+"/files", "a.txt", "", padded("", 25_000_001), ""), 413, "file-too-large", 25_000_000)
	c.file(path, "a.txt", "", padded("", 25_000_000))
	limit(c.upload(path+"/files", "b.txt", "", padded("", 5_000_001), ""), 413, "total-file-size-exceeded", 30_000_000)

	pages := c.conversation("pages")
	c.file(pages, "a.pdf", "", pdf(60))
	limit(c.upload(pages+"/files", "b.pdf", "", pdf(41), ""), 422, "too-many-pdf-pages", 100)
	c.file(pages, "b.pdf", "", pdf(40))

	many := c.conversation("many")
	var last string
	for i := range 100 {
		last = c.file(many, fmt.Sprintf("%d.txt", i), "", []byte("x"))
	}
	limit(c.upload(many+"/files", "one.txt", "", []byte("x"), ""), 422, "too-many-files", 100)
	c.must("DELETE", many+"/files/"+last, nil)
	c.file(many, "one.txt", "", []byte("x"))

	pictures := c.conversation("pictures")
	large := c.file(pictures, "large.png", "", padded("\x89PNG\r\n\x1a\n", 5_000_001))
	message := map[string]any{"prompt": "Describe it.", "content": []any{map[string]any{"type": "file", "id": large}}}
	for _, model := range []string{"agent-1", "claude-4-6-sonnet"} {
		message["model"] = model
		limit(c.try("POST", pictures+"/messages", message), 413, "image-too-large", 5_000_000)
	}
	message["model"] = "gpt-5.4-mini" // it has no such limit
	c.say(pictures, message)

	strict := start(t, aiservice.Options{Models: []aiservice.Model{{ID: "m", Name: "M", Provider: "Agent", MaxImageSize: 100, MaxContextLength: 1000}}})
	path = strict.conversation("one")
	limit(strict.upload(path+"/files", "a.png", "", padded("\x89PNG\r\n\x1a\n", 101), ""), 413, "image-too-large", 100)
}

func TestUploadsThatAreRefused(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("one") + "/files"
	red := picture(t, 8, 8)
	data := c.wantRefusal("flagged", c.upload(path, "sandbox-flag:hate.png", "", red, ""), 422, "moderation-flagged")
	if got, _ := data["flaggedCategories"].([]any); !slices.Equal(got, []any{"hate"}) {
		t.Errorf("data %v", data)
	}
	c.wantRefusal("empty", c.upload(path, "a.txt", "", nil, ""), 400, "invalid-request-data")
	c.wantRefusal("attributes", c.upload(path, "a.txt", "", []byte("x"), "[1]"), 400, "invalid-request-data")
	c.wantRefusal("nowhere", c.upload("/v1/conversations/none/files", "a.txt", "", []byte("x"), ""), 404, "conversation-not-found")
	c.refused("POST", path, map[string]any{"file": "x"}, 400, "invalid-request-data")
	for _, body := range []string{
		"--b\r\nContent-Disposition: form-data; name=\"data\"; filename=\"a.txt\"\r\n\r\nx\r\n--b--\r\n",
		"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n--b--\r\n",
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nx",
	} {
		a, err := c.send("POST", path, "multipart/form-data; boundary=b", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		c.wantRefusal(body, a, 400, "invalid-request-data")
	}
	limited := c.as("tester", "ai:conversations:write", "ai:conversations:context:files:jpeg")
	data = limited.wantRefusal("scope", limited.upload(path, "a.png", "", red, ""), 403, "missing-permissions")
	if got, _ := data["missingPermissions"].([]any); !slices.Equal(got, []any{"ai:conversations:context:files:png"}) {
		t.Errorf("data %v", data)
	}
	for _, method := range []string{"GET", "DELETE"} {
		c.refused(method, path+"/none", nil, 404, "file-not-found")
	}
	if all := c.items(path); len(all) != 0 {
		t.Errorf("kept: %v", all)
	}
}

func TestDocuments(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("one") + "/documents"
	made := c.must("POST", path, map[string]any{"content": "<p>Hello</p>", "name": "N", "description": "D", "attributes": map[string]any{"version": 7}})
	got := c.must("GET", path+"/"+made["id"].(string), nil)
	if got["content"] != "<p>Hello</p>" || got["name"] != "N" || got["description"] != "D" || got["attributes"].(map[string]any)["version"] != float64(7) {
		t.Errorf("document %v", got)
	}
	a := c.try("POST", path+"/batch", []any{
		map[string]any{"content": "<p>1</p>", "version": 1, "sessionId": "s", "channelId": "c", "rootName": "main"},
		map[string]any{"content": "<p>2</p>"},
	})
	if a.status != 201 {
		t.Fatal(a.text)
	}
	var contents []string
	for _, id := range column(mustList(t, a.text), "id") {
		contents = append(contents, c.must("GET", path+"/"+id, nil)["content"].(string))
	}
	if !slices.Equal(contents, []string{"<p>1</p>", "<p>2</p>"}) {
		t.Errorf("contents %v", contents)
	}
	for body, to := range map[string]string{`{}`: path, `{"content":""}`: path, `{"content":"x","attributes":[]}`: path, `[]`: path + "/batch", `[{"content":"x"},{}]`: path + "/batch"} {
		c.refused("POST", to, body, 400, "invalid-request-data")
	}
	c.must("DELETE", path+"/"+made["id"].(string), nil)
	for _, method := range []string{"GET", "DELETE"} {
		c.refused(method, path+"/"+made["id"].(string), nil, 404, "document-not-found")
	}
	if all := c.items(path); len(all) != 2 {
		t.Errorf("there are %v", all)
	}
}
