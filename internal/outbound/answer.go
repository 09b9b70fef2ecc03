package outbound

import (
	"bytes"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxMessage is the maximum number of characters of a server message in an error.
	MaxMessage = 300

	// MaxHeader is the maximum size of the headers of a response in bytes.
	MaxHeader = 256 << 10

	maxDrain = 256 << 10 // bytes of a rest that are read to reuse a connection
)

// Printable returns one short line of a server message. It reads no more than needed: a list of all
// words of a long text would take many times its memory.
func Printable(s string) string {
	var b strings.Builder
	count, gap, invalid := 0, false, false
	for _, r := range s {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			gap, invalid = true, false
			continue
		}
		if r == utf8.RuneError && invalid { // one for each sequence
			continue
		}
		invalid = r == utf8.RuneError
		if gap && count > 0 && count < MaxMessage {
			b.WriteByte(' ')
			count++
		}
		if gap = false; count == MaxMessage {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
		count++
	}
	return b.String()
}

// Plain returns the message of a body that is not JSON. It ignores web pages of proxies.
func Plain(body []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return ""
	}
	return string(body)
}

// Drain reads the rest of a body up to a limit, so that its connection can be reused.
func Drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDrain)
	_ = body.Close()
}
