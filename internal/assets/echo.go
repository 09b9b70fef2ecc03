package assets

import (
	"errors"
	"io"

	"assetferry/internal/redact"
)

// errEcho says that an answer repeats the token that was sent.
var errEcho = errors.New("it repeats the token that it was asked with")

// overlap is how many bytes of an answer are looked at again with those behind them.
const overlap = 512

// An echoReader reads an answer, and ends it where it repeats a token.
type echoReader struct {
	in         io.Reader
	signatures *redact.Redactor
	last       string
}

func (c *Client) withoutEcho(body io.Reader) io.Reader {
	return &echoReader{in: body, signatures: c.signatures}
}

func (e *echoReader) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	text := e.last + string(p[:n])
	if e.signatures.Holds(text) {
		return 0, errEcho
	}
	e.last = text[max(0, len(text)-overlap):]
	return n, err
}
