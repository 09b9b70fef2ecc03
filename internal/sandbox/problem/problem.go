// Package problem has the refusals of the sandbox, as clients get to see them.
package problem

import (
	"fmt"

	"assetferry/internal/sandbox/standin"
)

// A Problem is a refusal as the client gets to see it.
type Problem struct {
	Status  int
	message string
	data    map[string]any // nil is shown as null
}

func Refuse(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, message: fmt.Sprintf(format, args...)}
}

// With adds a value that clients read to know the kind of refusal.
func (p *Problem) With(key string, value any) *Problem {
	p.data = map[string]any{key: value}
	return p
}

func (p *Problem) Error() string { return p.message }

// problemBody has the four keys without which clients take an answer for a success.
type problemBody struct {
	Message    string         `json:"message"`
	StatusCode int            `json:"statusCode"`
	Data       map[string]any `json:"data"`
	TraceID    string         `json:"traceId"`
}

func (p *Problem) Body() problemBody {
	return problemBody{Message: p.message, StatusCode: p.Status, Data: p.data, TraceID: standin.NewUUID()}
}
