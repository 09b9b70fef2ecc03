package assets

import (
	"errors"
	"io"

	"assetferry/internal/redact"
)

// errEcho reports that a response contains the sent token.
var errEcho = errors.New("the response contains the token of the request")

const (
	// overlap is the number of bytes that are checked again with the following ones.
	overlap = 512
	// portion is the number of bytes checked at a time: the JSON decoder reads a few hundred,
	// most of which would be checked twice.
	portion = 8 << 10
)

// An echoReader reads a response and fails if it contains a token.
type echoReader struct {
	in         io.Reader
	signatures *redact.Redactor
	buffer     []byte // overlap and new bytes
	unread     []byte // not returned yet
	err        error  // after the unread bytes
}

func (c *Client) withoutEcho(body io.Reader) io.Reader {
	return &echoReader{in: body, signatures: c.signatures}
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
		e.buffer = make([]byte, 0, overlap+portion)
	}
	kept := copy(e.buffer[:overlap], e.buffer[max(0, len(e.buffer)-overlap):])
	n, err := e.in.Read(e.buffer[kept : kept+portion])
	e.buffer, e.err = e.buffer[:kept+n], err
	if e.signatures.Holds(string(e.buffer)) {
		n, e.err = 0, errEcho
	}
	e.unread = e.buffer[kept : kept+n]
}
