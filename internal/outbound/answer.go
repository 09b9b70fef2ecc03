package outbound

import (
	"bytes"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxMessage is how many characters of what a server says go into an error.
	MaxMessage = 300

	// MaxHeader is how many bytes the head of an answer may have.
	MaxHeader = 256 << 10

	maxDrain = 256 << 10 // what is read for nothing to keep a connection
)

// Printable makes one short line of what a server says. It reads no further than that takes: a
// list of all words of a long text would take many times its memory.
func Printable(s string) string {
	var b strings.Builder
	count, gap, invalid := 0, false, false
	for _, r := range s {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			gap, invalid = true, false
			continue
		}
		if r == utf8.RuneError && invalid { // one for all in a row
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
