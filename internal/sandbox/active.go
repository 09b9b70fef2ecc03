package sandbox

import (
	"io"
	"net/http"
	"slices"
	"strings"
)

// sandboxed is the policy for files that may contain scripts: a browser gives them their own
// origin and does not run their scripts.
const sandboxed = "sandbox"

// isActive reports whether a browser could find a script in a file. Only images, audio, video,
// fonts and PDF are safe, and only if their content does not look like text. Files have the
// same origin as the library page, which a script could otherwise read.
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
