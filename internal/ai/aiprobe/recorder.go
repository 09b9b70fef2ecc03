package aiprobe

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
)

// maxRecorded is the number of bytes that are read of an answer; those of a probe are shorter.
const maxRecorded = 1 << 20

// A recorder stores the form of the last answer, which the client does not return. A probe sends
// its requests in sequence.
type recorder struct {
	requests atomic.Int64
	last     record
}

// A record is the form of an answer.
type record struct {
	status  int
	isArray bool
	keys    []string // keys of an object
}

func (r record) form() string {
	if r.isArray {
		return "array"
	}
	return "page"
}

func (r *recorder) around(next http.RoundTripper) http.RoundTripper { return &recording{r, next} }

type recording struct {
	recorder *recorder
	next     http.RoundTripper
}

// RoundTrip sends a request and records the form of its answer.
func (t *recording) RoundTrip(request *http.Request) (*http.Response, error) {
	t.recorder.requests.Add(1)
	answer, err := t.next.RoundTrip(request)
	if err != nil {
		t.recorder.last = record{}
		return nil, err
	}
	beginning, err := io.ReadAll(io.LimitReader(answer.Body, maxRecorded))
	rest := io.Reader(answer.Body)
	if err != nil {
		rest = failing{err}
	}
	answer.Body = &replayed{io.MultiReader(bytes.NewReader(beginning), rest), answer.Body}
	t.recorder.last = record{answer.StatusCode, bytes.HasPrefix(bytes.TrimSpace(beginning), []byte("[")), keysOf(beginning)}
	return answer, nil
}

func (t *recording) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// A replayed body begins with bytes that were already read.
type replayed struct {
	io.Reader
	io.Closer
}

// A failing reader returns the error of an interrupted body.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
