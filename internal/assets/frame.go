package assets

import (
	"context"
	"io"
	"strings"

	"assetferry/internal/outbound"
)

// A frame is the multipart/form-data around a file. It is built by hand, so that its length is
// known beforehand and no goroutine has to copy: the request has a Content-Length, by which a
// server can detect an incomplete upload.
type frame struct {
	contentType string
	before      string
	after       string
}

// newFrame builds the frame of an upload in the order of the vendor's clients: the target first,
// unless the asset keeps its place, and the file last.
func newFrame(u Upload, boundary string) frame {
	var before string
	if field, value := (Target{u.CategoryID, u.FolderID}).field(); field != "" {
		before = "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + field + "\"\r\n\r\n" + value + "\r\n"
	}
	return frame{
		contentType: "multipart/form-data; boundary=" + boundary,
		before: before + "--" + boundary + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + escapeFilename(u.Filename) + "\"\r\n" +
			"Content-Type: application/octet-stream\r\n\r\n",
		after: "\r\n--" + boundary + "--\r\n",
	}
}

// escapeFilename writes a name like browsers do: in UTF-8, with quotes and line ends
// percent-encoded. Browsers do not escape a backslash, which makes the end of the name ambiguous if
// it is the last character; it is doubled here, as every reader of quoted strings expects.
func escapeFilename(name string) string {
	if !strings.ContainsAny(name, "\"\r\n\\") { // a Replacer costs as much as the rest of the head
		return name
	}
	return strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A", `\`, `\\`).Replace(name)
}

func (f frame) payload(u Upload) *payload {
	head := int64(len(f.before)) + u.Size
	return &payload{
		contentType: f.contentType,
		length:      head + int64(len(f.after)),
		decisive:    head + 1, // the first byte of the closing boundary ends the file
		open: func(ctx context.Context) (io.ReadCloser, error) {
			content, err := u.Open(ctx)
			if err != nil {
				return nil, err
			}
			body := io.MultiReader(strings.NewReader(f.before), outbound.Exactly(content, u.Size), strings.NewReader(f.after))
			return &framed{body, content}, nil
		},
	}
}

// A framed reader fills each buffer. Otherwise its parts and small reads of a source would become
// separate packets.
type framed struct {
	parts io.Reader
	io.Closer
}

func (f *framed) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		if m, err = f.parts.Read(p[n:]); m == 0 {
			break
		}
		n += m
	}
	return n, err
}
