// Package redirect writes redirect maps of old and new URLs: as tables, as SQL, for web servers and
// for content delivery networks. A Map reads them from the state database, Write writes it in one of the Formats, and a
// Check requests the new URLs.
//
// Every written URL is a URI of ASCII characters. No format has to escape tabs, quotes, line
// breaks or invalid UTF-8. Only nginx and IIS compare decoded paths, which have an escaping of
// their own.
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
	// Write writes a row. If the format cannot contain it, an error such as ErrTooLong states why.
	Write(Row) error
	// Close writes the end of the format. It does not close the underlying writer.
	Close() error
}

// Errors of Write, by which a row is omitted.
var (
	// ErrTooLong means that a URL is longer than the web server or the service accepts.
	ErrTooLong = errors.New("URL is too long for this format")
	// ErrQuery means that a URL has a query, and the web server compares paths only.
	ErrQuery = errors.New("URL has a query, which this format does not compare")
	// ErrHost means that a URL has no host, or one with a port, and the service compares hosts.
	ErrHost = errors.New("URL has no host that this format can compare")
	// ErrCharacters means that a URL has characters with another meaning in the format.
	ErrCharacters = errors.New("URL has characters that this format cannot contain")
	// ErrNotHTTPS means that the service redirects only to https.
	ErrNotHTTPS = errors.New("new URL does not begin with https://")

	// errRepeated means that a row with the same old URL is already written. The row is not counted.
	errRepeated = errors.New("old URL is repeated")
)

// A Format describes a format of New.
type Format struct {
	Name      string
	Images    bool // contains the URLs of image sizes
	PathsOnly bool // contains only the paths of old URLs
	NeedsHost bool // compares hosts, so that old URLs need one
	Redirects bool // contains 301 for verified assets and 302 for others

	open    func(*bufio.Writer, *PathSummary) (Writer, error)
	listing bool   // needs the paths of all rows before the first
	limits  limits // of the whole map
}

// formats returns all formats in display order.
func formats() []Format {
	return []Format{
		{Name: "tsv", open: newTSV},
		{Name: "csv", open: newCSV, Images: true},
		{Name: "json", open: newJSON, Images: true},
		{Name: "nginx", open: newNginx, PathsOnly: true, Redirects: true, listing: true},
		{Name: "apache", open: newApache, PathsOnly: true, Redirects: true},
		{Name: "iis", open: newIIS, PathsOnly: true, Redirects: true, listing: true, limits: iisLimits()},
		{Name: "cloudflare", open: newCloudflare, NeedsHost: true, Redirects: true, limits: cloudflareLimits()},
		{Name: "cloudflare-pages", open: newCloudflarePages, PathsOnly: true, Redirects: true, limits: cloudflarePagesLimits()},
		{Name: "cloudfront", open: newCloudFront, PathsOnly: true, Redirects: true, limits: cloudFrontLimits()},
		{Name: "netlify", open: newNetlify, PathsOnly: true, Redirects: true, limits: netlifyLimits()},
		{Name: "sql", open: newSQL},
	}
}

// Formats returns the names of the formats of New.
func Formats() (names []string) {
	for _, f := range formats() {
		names = append(names, f.Name)
	}
	return names
}

// FormatOf returns the format with a name.
func FormatOf(name string) (f Format, found bool) {
	for _, f := range formats() {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// New returns a writer of one of the Formats, which cleans all URLs. The summary contains all rows
// to write; only nginx and iis need it.
func New(format string, w io.Writer, s *PathSummary) (Writer, error) {
	f, found := FormatOf(format)
	if !found {
		return nil, fmt.Errorf("unknown format %q", format)
	}
	made, err := f.open(bufio.NewWriterSize(w, 64<<10), s)
	return cleaning{made}, err
}

// cleaning cleans the URLs of each row, because the service may return invalid ones.
type cleaning struct{ Writer }

func (c cleaning) Write(r Row) error { return c.Writer.Write(r.Clean()) }

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

// escapedPathOf returns the path of an old URL in the spelling of templates, for services that
// compare encoded paths.
func escapedPathOf(old string) (string, error) {
	path, err := pathOf(old)
	return oldurl.EscapePath(path, "0123456789ABCDEF"), err
}

// A repeatCheck recognises old URLs that are already written, for formats that must not contain
// any twice.
type repeatCheck map[uint64]bool

// first reports whether a text is new. It remembers only a hash.
func (r repeatCheck) first(text string) bool {
	h := hashText(text, func(c rune) rune { return c })
	isFirst := !r[h]
	r[h] = true
	return isFirst
}
