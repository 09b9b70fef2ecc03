package assets

import (
	"errors"
	"io"
	"net/http"

	"assetferry/internal/redact"
)

// errEcho reports that a response contains the sent token.
var errEcho = errors.New("the response contains the token of the request")

const (
	// overlap is the number of bytes that are checked again with the following ones.
	overlap = 512
	// maxPortion is the maximum number of bytes checked at a time: the JSON decoder reads a few hundred,
	// most of which would be checked twice.
	maxPortion = 8 << 10
)

// An echoReader reads a response and fails if it contains a token.
type echoReader struct {
	in         io.Reader
	length     int64 // of the response; not positive if unknown
	signatures *redact.Redactor
	buffer     []byte // overlap and new bytes
	unread     []byte // not returned yet
	err        error  // after the unread bytes
}

func (c *Client) withoutEcho(resp *http.Response) io.Reader {
	return &echoReader{in: resp.Body, length: resp.ContentLength, signatures: c.signatures}
}

func (e *echoReader) Read(p []byte) (int, error) {
	if len(e.unread) == 0 && e.err == nil {
		e.fill()
	}
	n := copy(p, e.unread)
	if e.unread = e.unread[n:]; len(e.unread) > 0 {
		return n, nil
	}
	return n, e.err
}

// fill reads the available bytes.
func (e *echoReader) fill() {
	if e.buffer == nil {
		e.buffer = make([]byte, 0, overlap+e.portion())
	}
	kept := copy(e.buffer[:overlap], e.buffer[max(0, len(e.buffer)-overlap):])
	n, err := e.in.Read(e.buffer[kept : kept+e.portion()])
	e.buffer, e.err = e.buffer[:kept+n], err
	if n > 0 && e.signatures.Holds(string(e.buffer)) {
		n, e.err = 0, errEcho
	}
	e.unread = e.buffer[kept : kept+n]
}

// portion returns the number of bytes to read at a time. Most responses are small, and their length
// is known: with one byte more, the first read finds the end, too.
func (e *echoReader) portion() int {
	if e.length > 0 {
		return int(min(e.length+1, maxPortion))
	}
	return maxPortion
}
