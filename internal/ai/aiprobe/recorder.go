package aiprobe

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
)

// maxRecorded is the most of an answer that is looked at; nothing that a probe asks for is longer.
const maxRecorded = 1 << 20

// A recorder notes what the last answer looked like, which the client does not tell. A probe asks
// for one thing after the other.
type recorder struct {
	requests atomic.Int64
	last     record
}

// A record is what an answer looked like.
type record struct {
	status  int
	isArray bool
	keys    []string // of an object
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

// RoundTrip makes a request and notes what its answer looks like.
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

// A replayed body is one of which some was read already.
type replayed struct {
	io.Reader
	io.Closer
}

// failing is what is left of a body that broke off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
