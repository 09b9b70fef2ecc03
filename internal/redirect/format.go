// Package redirect writes redirect maps of old and new URLs: as tables, as SQL, and for web
// servers. A Map reads them from the state database, Write writes it in one of the Formats, and a
// Check requests the new URLs.
//
// Every written URL is a URI of ASCII characters. No format has to escape tabs, quotes, line
// breaks or invalid UTF-8. Only nginx compares decoded paths, which have an escaping of their own.
package redirect

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"assetferry/internal/oldurl"
)

// A Row is an object with its old and its new URL.
type Row struct {
	Old      string            `json:"old"`
	New      string            `json:"new"`
	Key      string            `json:"key"`
	AssetID  string            `json:"asset_id"`
	Size     int64             `json:"size"`
	Verified bool              `json:"verified"` // the redirect can be permanent
	Images   map[string]string `json:"images,omitempty"`
	Kind     oldurl.Kind       `json:"kind"`
	Width    int               `json:"width,omitempty"` // in the old URL
}

// A Writer writes rows in one format.
type Writer interface {
	// Write writes a row. It returns ErrTooLong or ErrQuery if the format cannot hold it.
	Write(Row) error
	// Close writes the end of the format. It does not close the underlying writer.
	Close() error
}

// ErrTooLong means that a URL is longer than the web server accepts. The row is not written.
var ErrTooLong = errors.New("URL is too long for this format")

// ErrQuery means that a URL has a query, and the web server compares paths only. The row is not
// written.
var ErrQuery = errors.New("URL has a query, which this format does not compare")

// Formats returns the formats of New.
func Formats() []string { return []string{"tsv", "csv", "json", "nginx", "apache", "sql"} }

// New returns a writer of one of the Formats, which cleans all URLs. The summary contains all rows
// to write; only nginx needs it.
func New(format string, w io.Writer, s *PathSummary) (Writer, error) {
	made, err := newWriter(format, bufio.NewWriterSize(w, 64<<10), s)
	return cleaning{made}, err
}

func newWriter(format string, b *bufio.Writer, s *PathSummary) (Writer, error) {
	switch format {
	case "tsv":
		return tsv{b}, nil
	case "csv":
		return newCSV(b)
	case "json":
		return newJSON(b), nil
	case "nginx":
		return newNginx(b, s)
	case "apache":
		return newApache(b)
	case "sql":
		return newSQL(b)
	}
	return nil, fmt.Errorf("unknown format %q", format)
}

// cleaning cleans the URLs of each row, because the service may return invalid ones.
type cleaning struct{ Writer }

func (c cleaning) Write(r Row) error { return c.Writer.Write(r.Clean()) }

// NeedsImages reports whether a format contains the URLs of image sizes.
func NeedsImages(format string) bool { return format == "csv" || format == "json" }

// ComparesPaths reports whether a format contains only the paths of old URLs.
func ComparesPaths(format string) bool { return format == "nginx" || format == "apache" }

// NeedsListing reports whether a format needs all rows before it writes the first.
func NeedsListing(format string) bool { return format == "nginx" }

// Clean returns the row with its URLs cleaned by oldurl.Clean.
func (r Row) Clean() Row {
	r.Old, r.New = oldurl.Clean(r.Old), oldurl.Clean(r.New)
	copied := false
	for name, rawURL := range r.Images {
		if clean := oldurl.Clean(rawURL); clean != rawURL {
			if !copied { // the map is the caller's
				r.Images, copied = maps.Clone(r.Images), true
			}
			r.Images[name] = clean
		}
	}
	return r
}

// widths returns the image widths of a row, in ascending order.
func (r Row) widths() []string {
	var all []string
	for name := range r.Images {
		if name != defaultImage {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return all
}

// defaultImage is the name that the service uses for an image in its own format and full width.
const defaultImage = "default"

// pathOf returns the decoded path of an old URL, as a web server compares it. It returns ErrQuery
// if the URL has a query.
func pathOf(old string) (string, error) {
	escaped := old
	if !strings.HasPrefix(old, "/") {
		_, rest, _ := strings.Cut(old, "://")
		escaped = rest[max(strings.IndexByte(rest, '/'), 0):]
	}
	if strings.Contains(escaped, "?") {
		return "", ErrQuery
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return "", fmt.Errorf("old URL %q: %w", old, err)
	}
	return path, nil
}
