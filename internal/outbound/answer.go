package outbound

import (
	"bytes"
	"io"
	"strings"
	"unicode"
)

const (
	// MaxMessage is how many characters of what a server says go into an error.
	MaxMessage = 300

	// MaxHeader is how many bytes the head of an answer may have.
	MaxHeader = 256 << 10

	maxDrain = 256 << 10 // what is read for nothing to keep a connection
)

// Printable makes one short line of what a server says.
func Printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if runes := []rune(s); len(runes) > MaxMessage {
		return string(runes[:MaxMessage]) + "…"
	}
	return s
}

// Plain is the message of a body that is not JSON; pages of proxies say nothing.
func Plain(body []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return ""
	}
	return string(body)
}

// Drain reads the rest of a body, within reason, so that its connection can be
// used again.
func Drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDrain)
	_ = body.Close()
}
