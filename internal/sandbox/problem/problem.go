// Package problem defines the errors that the sandbox sends to clients.
package problem

import (
	"fmt"

	"assetferry/internal/sandbox/standin"
)

// A Problem is an error that is sent to the client.
type Problem struct {
	Status  int
	message string
	data    map[string]any // nil becomes null
}

func Refuse(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, message: fmt.Sprintf(format, args...)}
}

// With adds a value by which clients recognize the error.
func (p *Problem) With(key string, value any) *Problem {
	p.data = map[string]any{key: value}
	return p
}

func (p *Problem) Error() string { return p.message }

// problemBody has the four keys that clients need to recognize an error.
type problemBody struct {
	Message    string         `json:"message"`
	StatusCode int            `json:"statusCode"`
	Data       map[string]any `json:"data"`
	TraceID    string         `json:"traceId"`
}

func (p *Problem) Body() problemBody {
	return problemBody{Message: p.message, StatusCode: p.Status, Data: p.data, TraceID: standin.NewUUID()}
}
