package sandbox

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

// sandboxed is the policy for files that may run scripts: a browser shows them as a site of
// their own, whose scripts do not run.
const sandboxed = "sandbox"

// isActive reports whether a browser may find a script in a file: every type counts but
// those of pictures, sounds, films, fonts and PDF, and so does any content that looks like
// text, whatever its type says. Files come from the address of the library page, which a
// script in one of them could otherwise read.
func isActive(mime string, content io.ReadSeeker) (bool, error) {
	kind, _, _ := strings.Cut(mime, "/")
	if mime == "image/svg+xml" || mime != "application/pdf" && !slices.Contains([]string{"image", "audio", "video", "font"}, kind) {
		return true, nil
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(content, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return false, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	return n > 0 && strings.HasPrefix(http.DetectContentType(head[:n]), "text/"), nil
}
