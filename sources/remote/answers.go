package remote

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/header"
	"assetferry/internal/outbound"
)

// ParseRange reads "bytes 5-9/10": where an answer begins, and how much there is in all.
func ParseRange(text string) (first, total int64, ok bool) {
	text, isBytes := strings.CutPrefix(text, "bytes ")
	span, whole, slash := strings.Cut(text, "/")
	begin, _, dash := strings.Cut(span, "-")
	first, err := strconv.ParseInt(begin, 10, 64)
	total, err2 := strconv.ParseInt(whole, 10, 64)
	return first, total, isBytes && slash && dash && err == nil && err2 == nil && first >= 0 && total > first
}

// IsTrustError reports whether TLS could not establish who is at the other end.
func IsTrustError(err error) bool {
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	return bad || header
}

// IsJSON reports whether an answer says that it is JSON.
func IsJSON(a *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

// ErrDocument says that a server gave JSON in the place of a file that cannot be that.
var ErrDocument = errors.New("the answer is a document of JSON, as servers tell errors, and not the content")

// startTimeout is how long content may take to begin.
const startTimeout = time.Minute

// IsDocument reports whether an answer is JSON in the place of a file of a name that cannot
// be that: so servers tell errors that do not know statuses. Types are often given wrongly,
// so the content has to begin like it, too. The answer is left as it was.
func IsDocument(a *http.Response, name string) bool {
	extension := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if a.StatusCode != http.StatusOK || !IsJSON(a) || header.Agrees(extension, header.JSON) {
		return false
	}
	start := bytes.TrimLeft(bytes.TrimPrefix(Start(a, 1<<10), []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[')
}

// Start returns the first bytes of an answer, which is left as it was.
func Start(a *http.Response, most int64) []byte {
	stalled := time.AfterFunc(startTimeout, func() { _ = a.Body.Close() })
	defer stalled.Stop()
	start, _ := io.ReadAll(io.LimitReader(a.Body, most)) // who reads on gets the error
	a.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), a.Body), a.Body}
	return start
}

// OneLine keeps what a server says from filling a screen.
func OneLine(text string) string { return outbound.Printable(text) }
