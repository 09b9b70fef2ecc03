// Package remote is shared by HTTP sources: a reader that resumes interrupted content, a type of
// failure, network rules, and parsing of responses. Sources other than object stores need secret
// headers, which go to one origin only. Plain HTTP is refused where it is not allowed.
package remote

import (
	"cmp"
	"encoding/base64"
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

// Headers are sent with every request to an origin: a cookie, a token. They are never printed. The
// zero value has none.
type Headers struct {
	// A pointer, because fmt prints unexported fields of other structs without calling their
	// methods. It prints a pointer as a number.
	header *http.Header
}

// requestHeaders are headers that the client sets.
var requestHeaders = []string{"Accept-Encoding", "Connection", "Content-Length", "Host", "If-Range", "Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// ParseHeaders parses lines of the form "Name: value". It ignores empty lines and lines that begin with
// #. Errors contain the line number, but not the line.
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
			return Headers{}, fmt.Errorf("line %d must have the form Name: value", number)
		case value == "":
			return Headers{}, fmt.Errorf("line %d has no value", number)
		case strings.ContainsFunc(value, isControl):
			return Headers{}, fmt.Errorf("line %d has a control character in its value", number)
		case slices.Contains(requestHeaders, name):
			return Headers{}, fmt.Errorf("line %d: the header %s cannot be set", number, name)
		}
		header.Add(name, value)
	}
	if len(header) == 0 {
		return Headers{}, errors.New("there are no headers")
	}
	return Headers{&header}, nil
}

// WithBasicAuth returns headers with a user and a password, which replace any other authorization.
func (h Headers) WithBasicAuth(user, password string) Headers {
	header := h.all().Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	return Headers{&header}
}

// isToken reports whether a text may be the name of a header (RFC 9110, section 5.6.2).
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// IsZero reports whether there are no headers.
func (h Headers) IsZero() bool { return h.header == nil }

func (h Headers) all() http.Header {
	if h.header == nil {
		return nil
	}
	return *h.header
}

// shortest is the minimum length of a secret. Shorter parts are ordinary words, and removing them would
// make a text unreadable.
const shortest = 6

// secrets returns the values of headers, of cookies and of authorizations without their scheme, the
// longest first.
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
