package assets

import (
	"errors"
	"io"

	"assetferry/internal/redact"
)

// errEcho says that an answer repeats the token that was sent.
var errEcho = errors.New("the response contains the token of the request")

const (
	// overlap is how many bytes of an answer are looked at again with those behind them.
	overlap = 512
	// portion is how many bytes are looked at together: the JSON decoder asks for a few hundred, and
	// would have most of them looked at twice.
	portion = 8 << 10
)

// An echoReader reads an answer, and ends it where it repeats a token.
type echoReader struct {
	in         io.Reader
	signatures *redact.Redactor
	buffer     []byte // the last of what was read before, and what was read
	unread     []byte // the end of it
	err        error  // that follows it
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

// fill reads what has come by now.
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
