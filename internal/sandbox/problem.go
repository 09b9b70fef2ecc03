package sandbox

import "fmt"

// A problem is a refusal as the client gets to see it.
type problem struct {
	status  int
	message string
	data    map[string]any // nil is shown as null
}

func refuse(status int, format string, args ...any) *problem {
	return &problem{status: status, message: fmt.Sprintf(format, args...)}
}

// with adds a value that clients read to know the kind of refusal.
func (p *problem) with(key string, value any) *problem {
	p.data = map[string]any{key: value}
	return p
}

func (p *problem) Error() string { return p.message }

// problemBody has the four keys without which clients take an answer for a success.
type problemBody struct {
	Message    string         `json:"message"`
	StatusCode int            `json:"statusCode"`
	Data       map[string]any `json:"data"`
	TraceID    string         `json:"traceId"`
}

func (p *problem) body() problemBody {
	return problemBody{Message: p.message, StatusCode: p.status, Data: p.data, TraceID: newUUID()}
}
