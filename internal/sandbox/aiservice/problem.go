package aiservice

import (
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/standin"
)

// A problem is an error that is sent to the client.
type problem struct {
	status              int
	code, message       string
	data                map[string]any
	explanation, action string // for people; may be empty
}

func refuse(status int, code, format string, args ...any) *problem {
	return &problem{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// with adds a value that clients read.
func (p *problem) with(key string, value any) *problem {
	p.data = map[string]any{key: value}
	return p
}

func (p *problem) Error() string { return p.message }

type problemBody struct {
	StatusCode  int            `json:"statusCode"`
	Code        string         `json:"code"`
	Message     string         `json:"message"`
	TraceID     string         `json:"traceId"`
	Data        map[string]any `json:"data,omitempty"`
	Explanation string         `json:"explanation,omitempty"`
	Action      string         `json:"action,omitempty"`
}

func (p *problem) body() problemBody {
	return problemBody{p.status, p.code, p.message, standin.NewUUID(), p.data, p.explanation, p.action}
}

// notFound returns the error for a missing object, also if another user has it.
func notFound(what, id string) *problem {
	return refuse(http.StatusNotFound, what+"-not-found", "There is no %s %q.", what, id)
}

// issues are the mistakes in a request.
type issues []issue

type issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// add records a mistake in the field at a path, with the expected value.
func (is *issues) add(path, format string, args ...any) {
	*is = append(*is, issue{path, fmt.Sprintf(format, args...)})
}

// need records a field that is missing or empty.
func (is *issues) need(path, value string) {
	if value == "" {
		is.add(path, "is required")
	}
}

// err returns the error for the mistakes, or nil.
func (is issues) err() error {
	if len(is) == 0 {
		return nil
	}
	first := is[0].Path + " " + is[0].Message
	return refuse(http.StatusBadRequest, "invalid-request-data", "The request is not valid: %s.", first).with("issues", is)
}

// malformed returns the error for one mistake.
func malformed(path, format string, args ...any) error {
	var is issues
	is.add(path, format, args...)
	return is.err()
}
