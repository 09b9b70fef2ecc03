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

// ParseRange parses "bytes 5-9/10": the offset of a response and the total size.
func ParseRange(text string) (first, total int64, ok bool) {
	text, isBytes := strings.CutPrefix(text, "bytes ")
	span, whole, slash := strings.Cut(text, "/")
	begin, _, dash := strings.Cut(span, "-")
	first, err := strconv.ParseInt(begin, 10, 64)
	total, err2 := strconv.ParseInt(whole, 10, 64)
	return first, total, isBytes && slash && dash && err == nil && err2 == nil && first >= 0 && total > first
}

// IsTrustError reports whether TLS could not verify the server.
func IsTrustError(err error) bool {
	_, bad := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	return bad || header
}

// IsJSON reports whether the content type of a response is JSON.
func IsJSON(a *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
}

// ErrDocument means that a server returned JSON instead of a file of another format.
var ErrDocument = errors.New("the server returned JSON instead of the content, probably an error message")

// startTimeout is the maximum time until content begins.
const startTimeout = time.Minute

// IsDocument reports whether a response is JSON instead of a file whose name is not that of JSON.
// Some servers return errors in this way. Content types are often wrong, so the content must begin
// like JSON, too. The body can still be read.
func IsDocument(a *http.Response, name string) bool {
	extension := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if a.StatusCode != http.StatusOK || !IsJSON(a) || header.Agrees(extension, header.JSON) {
		return false
	}
	start := bytes.TrimLeft(bytes.TrimPrefix(Start(a, 1<<10), []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[')
}

// Start returns the first bytes of a response. The body can still be read.
func Start(a *http.Response, most int64) []byte {
	stalled := time.AfterFunc(startTimeout, func() { _ = a.Body.Close() })
	defer stalled.Stop()
	start, _ := io.ReadAll(io.LimitReader(a.Body, most)) // the next Read returns the error
	a.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), a.Body), a.Body}
	return start
}

// OneLine shortens a message of a server to one line.
func OneLine(text string) string { return outbound.Printable(text) }
