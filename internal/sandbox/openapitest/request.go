package openapitest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
)

// checkRequest compares an executed request with the description: everything that the sandbox
// accepts must be described.
func (e *exchange) checkRequest() error {
	if e.needsToken() && e.request.Header.Get("Authorization") == "" && !e.bringsCookie() {
		return fmt.Errorf("executed without a token")
	}
	if err := e.checkQuery(); err != nil {
		return err
	}
	body, ok := e.description.child(e.op.node, "requestBody")
	if !ok {
		if e.sent.some {
			return fmt.Errorf("the request body is not described")
		}
		return nil
	}
	content, _ := e.description.child(body, "content")
	if e.sent.form != nil {
		media, _ := e.description.child(content, formType)
		if err := e.description.validateValue(media, e.sent.form.fields); err != nil {
			return fmt.Errorf("form: %w", err)
		}
		return nil
	}
	media, _ := e.description.child(content, "application/json")
	if err := e.description.validate(media, e.sent.json.Bytes()); err != nil {
		return fmt.Errorf("request: %w: %s", err, excerpt(&e.sent.json))
	}
	return nil
}

// needsToken reports whether the operation requires a token.
func (e *exchange) needsToken() bool {
	security, own := e.op.value["security"].([]any)
	if !own {
		return true
	}
	for _, way := range security {
		if m, _ := way.(map[string]any); len(m) == 0 {
			return false
		}
	}
	return len(security) > 0
}

// bringsCookie reports whether the request has the cookie that replaces a token.
func (e *exchange) bringsCookie() bool {
	security, _ := e.op.value["security"].([]any)
	for _, way := range security {
		if m, _ := way.(map[string]any); m["cookie"] != nil {
			return len(e.request.CookiesNamed("CKBox-Auth"))+len(e.request.CookiesNamed("__Host-CKBox-Auth")) > 0
		}
	}
	return false
}

func (e *exchange) checkQuery() error {
	described := make(map[string]node)
	for _, p := range e.op.parameters {
		if p.value["in"] == "query" {
			described[fmt.Sprint(p.value["name"])] = p
		}
	}
	q := e.request.URL.Query()
	for name := range q {
		p, ok := described[name]
		if !ok {
			return fmt.Errorf("the query parameter %s is not described", name)
		}
		if err := e.description.validateText(p, q.Get(name)); err != nil {
			return fmt.Errorf("query parameter %s: %w", name, err)
		}
	}
	for name, p := range described {
		if p.value["required"] == true && !q.Has(name) {
			return fmt.Errorf("executed without the query parameter %s", name)
		}
	}
	return nil
}

const formType = "multipart/form-data"

// A sent is the body of a request, recorded while it is read.
type sent struct {
	io.ReadCloser
	some bool
	json bytes.Buffer // if it is not a form
	form *form        // if it is a form
}

// receive wraps the body of a request.
func (d *description) receive(op operation, r *http.Request) *sent {
	s := &sent{ReadCloser: r.Body}
	body, _ := d.child(op.node, "requestBody")
	content, _ := d.child(body, "content")
	if _, isForm := content.value[formType]; isForm {
		s.form = readForm(r.Header.Get("Content-Type"))
	}
	r.Body = s
	return s
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.some = s.some || n > 0
	if s.form != nil {
		_, _ = s.form.pipe.Write(p[:n]) // never fails: the other end keeps reading
	} else {
		s.json.Write(p[:n])
	}
	return n, err
}

// end waits until the body has been parsed.
func (s *sent) end() {
	if s.form != nil {
		_ = s.form.pipe.Close()
		<-s.form.done
	}
}

// A form is parsed while it is read: the text fields, not the files.
type form struct {
	pipe   *io.PipeWriter
	done   chan struct{}
	fields map[string]any
}

// maxField limits the size of a field.
const maxField = 64 << 10

func readForm(contentType string) *form {
	r, w := io.Pipe()
	f := &form{pipe: w, done: make(chan struct{}), fields: make(map[string]any)}
	go func() {
		defer close(f.done)
		f.read(contentType, r)
		_, _ = io.Copy(io.Discard, r)
	}()
	return f
}

func (f *form) read(contentType string, r io.Reader) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return
	}
	parts := multipart.NewReader(r, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return
		}
		name, isFile := fieldName(part.Header.Get("Content-Disposition"))
		if isFile {
			f.fields[name] = ""
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, maxField))
		if err != nil {
			return
		}
		f.fields[name] = string(value)
	}
}

// fieldName parses the name of a part by hand, because file names contain any characters.
func fieldName(disposition string) (name string, isFile bool) {
	for parameter := range strings.SplitSeq(disposition, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		switch strings.ToLower(key) {
		case "name":
			if name == "" {
				name = strings.Trim(value, `"`)
			}
		case "filename", "filename*":
			return cmp.Or(name, "file"), true
		}
	}
	return name, false
}
