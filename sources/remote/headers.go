// Package remote is what HTTP sources share: a reader that resumes content that was cut off, one
// type of failure, network rules, and what all of them read in answers. Sources that are no
// object stores have headers that open them and must not be seen by anybody, which go to one
// origin and nowhere else; and plain HTTP goes only where that is allowed.
package remote

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"assetferry/internal/redact"
)

const redacted = redact.Mark

// Headers go along with every request to an origin: a cookie, a token. They never print
// themselves. The zero Headers are none.
type Headers struct {
	// A pointer, because fmt prints unexported fields of other structs without asking
	// their methods: this way it prints an address.
	header *http.Header
}

// requestHeaders are the headers that requests have by themselves.
var requestHeaders = []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "If-Range", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// ParseHeaders reads lines of the form "Name: value". Empty lines, and those that begin
// with #, are none. An error names the line and not what is in it.
func ParseHeaders(text string) (Headers, error) {
	header := make(http.Header)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch {
		case !ok || !isToken(name):
			return Headers{}, fmt.Errorf("line %d is not of the form Name: value", number)
		case value == "":
			return Headers{}, fmt.Errorf("line %d has no value", number)
		case strings.ContainsFunc(value, isControl):
			return Headers{}, fmt.Errorf("line %d has a control character in its value", number)
		case slices.Contains(requestHeaders, name):
			return Headers{}, fmt.Errorf("line %d: %s cannot be set, it belongs to the request", number, name)
		}
		header.Add(name, value)
	}
	if len(header) == 0 {
		return Headers{}, errors.New("there is no header in it")
	}
	return Headers{&header}, nil
}

// isToken reports whether a text may be the name of a header (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// IsZero reports whether there are none.
func (h Headers) IsZero() bool { return h.header == nil }

func (h Headers) all() http.Header {
	if h.header == nil {
		return nil
	}
	return *h.header
}

// shortest is how long a part of a value is that somebody would try to guess: a shorter
// one is a word such as Bearer's "on", and striking it out spoils a text for nothing.
const shortest = 6

// secrets are the values and what is in them that opens something, the longest first:
// the values of cookies, and what follows the scheme of an authorization.
func (h Headers) secrets() (found []string) {
	for _, values := range h.all() {
		for _, v := range values {
			found = append(found, v)
			for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune(" ;,=\"", r) }) {
				found = append(found, part)
			}
			for pair := range strings.SplitSeq(v, ";") {
				_, value, _ := strings.Cut(pair, "=")
				found = append(found, strings.TrimSpace(value))
			}
		}
	}
	return longestFirst(found)
}

func longestFirst(secrets []string) []string {
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < shortest })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(secrets)
}

func (h Headers) String() string               { return redacted }
func (h Headers) GoString() string             { return redacted }
func (h Headers) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (h Headers) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (h Headers) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (h Headers) MarshalText() ([]byte, error) { return []byte(redacted), nil }
