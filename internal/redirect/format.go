// Package redirect writes which new URL stands for each old one: as tables, as SQL, and as
// maps for web servers that redirect. A Map knows them from the state database, Write writes
// it in one of the Formats, and a Check asks the new ones whether they lead to their assets.
//
// Every URL that is written is a URI of ASCII alone, so that none of the formats has to cope
// with tabs, quotes, line breaks or bytes that are no text. Only nginx compares paths as they
// are after decoding; for it they are escaped in its own way.
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

// A Row is an object with its old and its new address.
type Row struct {
	Old      string            `json:"old"`
	New      string            `json:"new"`
	Key      string            `json:"key"`
	AssetID  string            `json:"asset_id"`
	Size     int64             `json:"size"`
	Verified bool              `json:"verified"` // so that a redirect may be for good
	Images   map[string]string `json:"images,omitempty"`
	Kind     oldurl.Kind       `json:"kind"`
	Width    int               `json:"width,omitempty"` // that the old address is for
}

// A Writer writes rows in one format.
type Writer interface {
	// Write writes a row, or says with ErrTooLong or ErrQuery that the format cannot hold
	// it.
	Write(Row) error
	// Close writes what comes after the last row. It does not close what is written to.
	Close() error
}

// ErrTooLong says that an address is longer than the program that reads the format
// accepts. The row is not written, and the others may be.
var ErrTooLong = errors.New("address is too long for this format")

// ErrQuery says that an address has a query, and that the program which reads the format
// compares paths.
var ErrQuery = errors.New("address has a query, which this format does not compare")

// Formats names the formats that New knows.
func Formats() []string { return []string{"tsv", "csv", "json", "nginx", "apache", "sql"} }

// New returns a writer of one of the Formats, which cleans all addresses. The survey is
// of all rows that will be written; only nginx needs it.
func New(format string, w io.Writer, s *Survey) (Writer, error) {
	made, err := newWriter(format, bufio.NewWriterSize(w, 64<<10), s)
	return cleaning{made}, err
}

func newWriter(format string, b *bufio.Writer, s *Survey) (Writer, error) {
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
	return nil, fmt.Errorf("there is no format %q", format)
}

// cleaning cleans the addresses of each row, whatever the service answered.
type cleaning struct{ Writer }

func (c cleaning) Write(r Row) error { return c.Writer.Write(r.Clean()) }

// NeedsImages reports whether a format has the addresses of images in other sizes.
func NeedsImages(format string) bool { return format == "csv" || format == "json" }

// ComparesPaths reports whether of old addresses a format has the paths only.
func ComparesPaths(format string) bool { return format == "nginx" || format == "apache" }

// NeedsListing reports whether all rows of a format must be seen before the first is
// written.
func NeedsListing(format string) bool { return format == "nginx" }

// Clean is the row with its addresses as oldurl.Clean makes them.
func (r Row) Clean() Row {
	r.Old, r.New = oldurl.Clean(r.Old), oldurl.Clean(r.New)
	copied := false
	for name, address := range r.Images {
		if clean := oldurl.Clean(address); clean != address {
			if !copied { // the map is the caller's
				r.Images, copied = maps.Clone(r.Images), true
			}
			r.Images[name] = clean
		}
	}
	return r
}

// widths gives the widths of the images of a row, in ascending order.
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

// defaultImage is the service's word for an image in its own format and full width.
const defaultImage = "default"

// pathOf gives the path of an old address as a web server sees it, decoded; ErrQuery if it
// has more than that.
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
		return "", fmt.Errorf("old address %q: %w", old, err)
	}
	return path, nil
}
