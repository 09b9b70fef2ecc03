package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An answer is a response that is recorded while it is sent.
type answer struct {
	http.ResponseWriter
	status int
	header http.Header
	size   int64
	text   bytes.Buffer // the body, if it is JSON or events
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status, a.header = status, a.Header().Clone()
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	a.size += int64(len(p))
	if t := a.header.Get("Content-Type"); isJSON(t) || isEvents(t) {
		a.text.Write(p)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// An exchange is a request and its response.
type exchange struct {
	description *description
	op          operation
	known       bool // op is set
	request     *http.Request
	sent        *sent
	answer      answer
}

// check compares an exchange with the description.
func (e *exchange) check() error {
	r := e.request
	switch {
	case e.answer.status == 0:
		return fmt.Errorf("there is no response")
	case r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "":
		if e.answer.status != http.StatusNoContent || e.answer.size > 0 {
			return fmt.Errorf("the response to a preflight is not an empty 204")
		}
		return nil
	case e.says("A fault is configured for this request"), !e.known && e.says("The sandbox has no route"):
		return e.checkFault()
	case !e.known:
		return fmt.Errorf("the operation is not described, and the response does not say that it is unknown")
	}
	responses, _ := e.description.child(e.op.node, "responses")
	response, ok := e.description.child(responses, strconv.Itoa(e.answer.status))
	if !ok {
		return fmt.Errorf("%s does not describe this status; described are %s; the body is %s", e.op.name,
			strings.Join(slices.Sorted(maps.Keys(responses.value)), ", "), excerpt(&e.answer.text))
	}
	if err := e.checkResponse(response); err != nil {
		return err
	}
	if e.answer.status < 400 {
		return e.checkRequest()
	}
	return nil
}

// says reports whether the message of the response has a prefix.
func (e *exchange) says(beginning string) bool {
	var body struct{ Message string }
	err := json.Unmarshal(e.answer.text.Bytes(), &body)
	return err == nil && strings.HasPrefix(body.Message, beginning)
}

// checkFault compares a response with any status with the default response.
func (e *exchange) checkFault() error {
	components, _ := e.description.child(e.description.root, "components")
	responses, _ := e.description.child(components, "responses")
	fault, _ := e.description.child(responses, "Fault")
	return e.checkResponse(fault)
}

func (e *exchange) checkResponse(response node) error {
	if err := e.checkHeaders(response); err != nil {
		return err
	}
	content, ok := e.description.child(response, "content")
	if !ok {
		if e.answer.size > 0 {
			return fmt.Errorf("the body of %d bytes is not described", e.answer.size)
		}
		return nil
	}
	got := e.answer.header.Get("Content-Type")
	media, ok := e.description.media(content, mediaType(got))
	if !ok {
		return fmt.Errorf("the content type %q is not described", got)
	}
	switch {
	case e.answer.size == 0 && e.request.Method == http.MethodHead:
		return nil
	case isEvents(got):
		return e.description.checkEvents(media, e.answer.text.String())
	case !isJSON(got):
		return nil
	}
	if err := e.description.validate(media, e.answer.text.Bytes()); err != nil {
		return fmt.Errorf("body: %w: %s", err, excerpt(&e.answer.text))
	}
	return e.checkStatusCode()
}

// checkStatusCode checks that an error repeats its status.
func (e *exchange) checkStatusCode() error {
	var body struct{ StatusCode *int }
	if err := json.Unmarshal(e.answer.text.Bytes(), &body); err == nil && body.StatusCode != nil && *body.StatusCode != e.answer.status {
		return fmt.Errorf("body: statusCode is %d", *body.StatusCode)
	}
	return nil
}

func (e *exchange) checkHeaders(response node) error {
	headers, _ := e.description.child(response, "headers")
	for name := range headers.value {
		header, _ := e.description.child(headers, name)
		got := e.answer.header.Get(name)
		if got == "" {
			if header.value["required"] == true {
				return fmt.Errorf("the header %s is missing", name)
			}
			continue
		}
		if err := e.description.validateText(header, got); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

// media returns the description of a content type.
func (d *description) media(content node, contentType string) (node, bool) {
	family, _, _ := strings.Cut(contentType, "/")
	for _, key := range []string{contentType, family + "/*", "*/*"} {
		if media, ok := d.child(content, key); ok {
			return media, true
		}
	}
	return node{}, false
}

// validate validates JSON against the schema of a node.
func (d *description) validate(n node, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return d.validateValue(n, v)
}

// validateText validates a parameter or header against the schema of its node.
func (d *description) validateText(n node, text string) error {
	schema, _ := d.child(n, "schema")
	switch schema.value["type"] {
	case "integer", "number", "boolean":
		return d.validate(n, []byte(text))
	}
	return d.validateValue(n, text)
}

func (d *description) validateValue(n node, v any) error {
	schema, err := d.schema(n)
	if err != nil || schema == nil {
		return err
	}
	if err := schema.Validate(v); err != nil {
		return brief(err)
	}
	return nil
}

// brief returns an error without its first line, which only names the schema.
func brief(err error) error {
	lines := strings.Split(err.Error(), "\n")
	return fmt.Errorf("%s", strings.Join(lines[min(1, len(lines)-1):], "; "))
}

// excerpt returns the beginning of a body.
func excerpt(b *bytes.Buffer) []byte { return b.Bytes()[:min(b.Len(), 400)] }
