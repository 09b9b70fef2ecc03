// Package addresses knows the old addresses of objects. It writes which new address stands
// for each: as tables, as SQL, and as maps for web servers that redirect. And it finds what
// stands for an address that somebody has:
//
//	rules := []*Template{...}                    // ParseTemplate, or Prefix.Template
//	finder, err := NewFinder(ctx, rules, journal) // journal: what keys are and were
//	places := finder.Beginnings()                // "//cdn.example.com/img/", "/files/"
//	found, err := finder.Find(ctx, address)      // ErrUnknown, or what stands for it
//
// An address is found in whatever way it is spelled: with any scheme or none, encoded or
// not, in any form of Unicode, with a query that nobody knows. Where only the keys matter
// that an address may have been built from, Keys gives them.
//
// Every address that is written is a URI of ASCII alone, so that none of the formats
// has to cope with tabs, quotes, line breaks or bytes that are no text. Only nginx
// compares paths as they are after decoding; for it they are escaped in its own way.
package addresses

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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
	Kind     Kind              `json:"kind"`
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

// NeedsSurvey reports whether all rows of a format must be seen before the first is
// written.
func NeedsSurvey(format string) bool { return format == "nginx" }

// Clean is the row with its addresses as Clean makes them.
func (r Row) Clean() Row {
	r.Old, r.New = Clean(r.Old), Clean(r.New)
	copied := false
	for name, address := range r.Images {
		if clean := Clean(address); clean != address {
			if !copied { // the map is the caller's
				r.Images, copied = maps.Clone(r.Images), true
			}
			r.Images[name] = clean
		}
	}
	return r
}

// Clean encodes what may not stand in a URI, so that an address is safe in every
// format. One that is well-formed stays as it is.
func Clean(address string) string {
	return encode(address, func(i int) bool {
		switch c := address[i]; c {
		case ':', '/', '?', '#', '[', ']', '@':
			return true
		case '%':
			return isEncoded(address[i:])
		default:
			return isUnreserved(c) || isSubDelim(c)
		}
	})
}

// isEncoded reports whether a text begins with a percent sign and two hexadecimal digits.
func isEncoded(s string) bool {
	return len(s) > 2 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isSubDelim(c byte) bool {
	switch c {
	case '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=':
		return true
	}
	return false
}

func isUnreserved(c byte) bool {
	return isAlphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

func isAlphanumeric(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

// encode writes the bytes of a text that may not stay as percent signs with two
// hexadecimal digits.
func encode(s string, stays func(i int) bool) string {
	return encodeWith(s, "0123456789ABCDEF", stays)
}

// encodeWith is encode with other digits. Letters and digits stay always, and most texts
// as a whole, which costs a look at each byte and no more.
func encodeWith(s, digits string, stays func(i int) bool) string {
	first := 0
	for first < len(s) && (isAlphanumeric(s[first]) || stays(first)) {
		first++
	}
	if first == len(s) {
		return s
	}
	b := make([]byte, first, len(s)+16)
	copy(b, s)
	for i := first; i < len(s); i++ {
		if c := s[i]; stays(i) {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
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
