// Package header reads the beginning of a file: its kind, whether that matches its name, the size of an
// image, and whether a drawing may run scripts. The input is hostile, so reading and memory are limited
// and nothing is decoded completely.
package header

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// A Kind is the display name of a file format; "" if unknown.
type Kind string

// The kinds.
const (
	JPEG     Kind = "JPEG"
	PNG      Kind = "PNG"
	GIF      Kind = "GIF"
	WebP     Kind = "WebP"
	TIFF     Kind = "TIFF"
	BigTIFF  Kind = "BigTIFF"
	BMP      Kind = "BMP"
	HEIF     Kind = "HEIF" // also AVIF
	SVG      Kind = "SVG"
	HTML     Kind = "HTML"
	XML      Kind = "XML"
	PDF      Kind = "PDF"
	Video    Kind = "MP4" // also QuickTime and other formats of the same boxes
	Matroska Kind = "Matroska"
	RIFF     Kind = "RIFF" // WAV, AVI
	Ogg      Kind = "Ogg"
	FLAC     Kind = "FLAC"
	ZIP      Kind = "ZIP" // also Office documents
	GZIP     Kind = "gzip"
	SevenZip Kind = "7z"
	RAR      Kind = "RAR"
	OLE      Kind = "OLE" // old Office documents
	Program  Kind = "program"
	JSON     Kind = "JSON" // not detected: any text may begin like it
)

// Enough is the number of bytes that KindOf needs.
const Enough = 4 << 10

// magics are the first bytes of the formats.
var magics = []struct {
	kind  Kind
	bytes string
}{
	{JPEG, "\xff\xd8\xff"}, {PNG, "\x89PNG\r\n\x1a\n"}, {GIF, "GIF87a"}, {GIF, "GIF89a"},
	{TIFF, "II*\x00"}, {TIFF, "MM\x00*"}, {BigTIFF, "II+\x00"}, {BigTIFF, "MM\x00+"},
	{Matroska, "\x1a\x45\xdf\xa3"}, {Ogg, "OggS"}, {FLAC, "fLaC"},
	{ZIP, "PK\x03\x04"}, {ZIP, "PK\x05\x06"}, {GZIP, "\x1f\x8b\x08"}, {SevenZip, "7z\xbc\xaf\x27\x1c"}, {RAR, "Rar!\x1a\x07"},
	{OLE, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"},
	{Program, "\x7fELF"}, {Program, "\xfe\xed\xfa\xce"}, {Program, "\xfe\xed\xfa\xcf"}, {Program, "\xce\xfa\xed\xfe"}, {Program, "\xcf\xfa\xed\xfe"},
}

// KindOf returns the kind of a file by its first bytes.
func KindOf(head []byte) Kind {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return m.kind
		}
	}
	switch {
	case len(head) >= 12 && string(head[:4]) == "RIFF":
		if string(head[8:12]) == "WEBP" {
			return WebP
		}
		return RIFF
	case len(head) >= 26 && string(head[:2]) == "BM" && binary.LittleEndian.Uint32(head[6:]) == 0:
		return BMP
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return boxes(string(head[8:12]))
	case isWindowsProgram(head):
		return Program
	case bytes.Contains(head[:min(len(head), 1024)], []byte("%PDF-")): // readers allow bytes before it
		return PDF
	}
	return markup(head)
}

func boxes(brand string) Kind {
	if slices.Contains([]string{"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1", "avif", "avis"}, brand) {
		return HEIF
	}
	return Video
}

// isWindowsProgram reports whether the DOS header points to another header, or beyond head.
func isWindowsProgram(head []byte) bool {
	if len(head) < 64 || string(head[:2]) != "MZ" {
		return false
	}
	at := binary.LittleEndian.Uint32(head[60:])
	return at >= 4 && int64(at)+4 <= int64(len(head)) && string(head[at:at+4]) == "PE\x00\x00"
}

// markup returns the kind of a text that begins with a tag.
func markup(head []byte) Kind {
	text := strings.ToLower(string(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n\f")))
	switch {
	case !strings.HasPrefix(text, "<"):
		return ""
	case hasTag(text, "<svg"):
		return SVG
	case strings.HasPrefix(text, "<?xml"), strings.HasPrefix(text, "<!--"), strings.HasPrefix(text, "<!doctype svg"):
		return insideProlog(text)
	}
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<body", "<script", "<iframe"} {
		if hasTag(text, tag) {
			return HTML
		}
	}
	return ""
}

// insideProlog returns the kind of the text after declarations and comments.
func insideProlog(text string) Kind {
	for _, tag := range []struct {
		name string
		kind Kind
	}{{"<svg", SVG}, {":svg", SVG}, {"<!doctype html", HTML}, {"<html", HTML}} {
		if i := strings.Index(text, tag.name); i >= 0 && hasTag(text[i:], tag.name) {
			return tag.kind
		}
	}
	if strings.HasPrefix(text, "<?xml") {
		return XML
	}
	return ""
}

// hasTag reports whether text begins with a complete tag.
func hasTag(text, tag string) bool {
	rest, ok := strings.CutPrefix(text, tag)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " \t\r\n\f/>"))
}
