package metadata

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// An exif has the EXIF of an image as text by tag name. EXIF, IPTC and XMP have our own readers, because
// libraries lose line breaks, letters that are not ASCII, or the data after the first damaged value.
type exif struct {
	tags      map[string]string
	xmp       []byte // a TIFF may contain these, too
	iptc      []byte
	photoshop []byte
}

// Tags of other blocks.
const (
	tagXMP       = 0x02bc
	tagIPTC      = 0x83bb
	tagPhotoshop = 0x8649
	tagEXIF      = 0x8769
	tagGPS       = 0x8825
)

// readEXIF reads the first directory of an image and the two below it. The second directory is that of a
// thumbnail. It skips damaged values.
func readEXIF(from io.ReaderAt) (exif, error) {
	e := exif{tags: map[string]string{}}
	t, first, err := openTIFF(from)
	if err != nil {
		return e, err
	}
	below := map[uint16]uint64{}
	err = e.readDirectory(t, first, exifName, below)
	if at, ok := below[tagEXIF]; ok {
		err = cmp.Or(err, e.readDirectory(t, at, exifName, nil))
	}
	if at, ok := below[tagGPS]; ok {
		err = cmp.Or(err, e.readDirectory(t, at, gpsName, nil))
	}
	return e, err
}

// readDirectory reads entries with a name, and the offsets of directories below.
func (e *exif) readDirectory(t *tiff, at uint64, nameOf func(uint16) string, below map[uint16]uint64) error {
	entries, err := t.directory(at)
	seen := map[uint16]bool{}
	for _, entry := range entries {
		if !seen[entry.tag] {
			seen[entry.tag] = true
			err = cmp.Or(err, e.readEntry(t, entry, nameOf, below)) // later errors often repeat the first one
		}
	}
	return err
}

func (e *exif) readEntry(t *tiff, entry tiffEntry, nameOf func(uint16) string, below map[uint16]uint64) (err error) {
	if below != nil {
		switch entry.tag {
		case tagEXIF, tagGPS:
			below[entry.tag] = t.pointer(entry.value)
			return nil
		case tagXMP:
			e.xmp, err = t.bytes(entry, maxPieces)
			return err
		case tagIPTC:
			e.iptc, err = t.bytes(entry, maxPieces)
			return err
		case tagPhotoshop:
			e.photoshop, err = t.bytes(entry, maxPieces)
			return err
		}
	}
	name := nameOf(entry.tag)
	if name == "" {
		return nil
	}
	value, err := t.bytes(entry, maxText)
	if text := t.text(name, entry.kind, value); err == nil && text != "" {
		e.tags[name] = text
	}
	return err
}

// maxNumbers is the maximum number of numbers in a readable value.
const maxNumbers = 16

// text returns the text of a value, or "" if it is not readable.
func (t *tiff) text(name string, kind uint16, value []byte) string {
	switch {
	case name == "UserComment":
		return t.comment(value)
	case name == "Copyright" && kind == tiffASCII:
		return bothCopyrights(value)
	case strings.HasPrefix(name, "XP"):
		return utf16Text(value, binary.LittleEndian)
	case kind == tiffASCII, kind == tiffUTF8, slices.Contains(exifASCII[:], name):
		text, _, _ := strings.Cut(string(value), "\x00")
		return legible(text)
	case kind == tiffUndefined, len(value) > maxNumbers*max(1, int(tiffSize(kind))):
		return ""
	}
	return t.numbers(kind, value)
}

// exifASCII are text tags that have the type of plain bytes.
var exifASCII = [...]string{"ExifVersion", "FlashpixVersion", "InteropVersion"}

// comment returns text that begins with its character set.
func (t *tiff) comment(value []byte) string {
	if len(value) < 8 {
		return ""
	}
	set, value := string(value[:8]), value[8:]
	switch {
	case strings.HasPrefix(set, "UNICODE\x00"):
		return utf16Text(value, t.commentOrder(value))
	case strings.HasPrefix(set, "JIS"): // not in use
		return ""
	case strings.HasPrefix(set, "ASCII"), set == "\x00\x00\x00\x00\x00\x00\x00\x00":
		text, _, _ := strings.Cut(string(value), "\x00")
		return legible(text)
	}
	return ""
}

// commentOrder detects the byte order, because some programs ignore that of the file.
func (t *tiff) commentOrder(value []byte) binary.ByteOrder {
	if len(value) >= 2 && value[0] == 0xfe && value[1] == 0xff {
		return binary.BigEndian
	} else if len(value) >= 2 && value[0] == 0xff && value[1] == 0xfe {
		return binary.LittleEndian
	}
	var even, odd int // zero bytes; in most scripts the high byte often is zero
	for i, b := range value {
		if b == 0 && i%2 == 0 {
			even++
		} else if b == 0 {
			odd++
		}
	}
	switch {
	case even > odd:
		return binary.BigEndian
	case odd > even:
		return binary.LittleEndian
	}
	return t.order
}

// bothCopyrights returns the notices of the photographer and of the editor.
func bothCopyrights(value []byte) string {
	photographer, rest, _ := strings.Cut(string(value), "\x00")
	editor, _, _ := strings.Cut(rest, "\x00")
	return legible(strings.TrimSpace(strings.TrimRight(photographer, " ") + "\n" + strings.TrimRight(editor, " ")))
}

// utf16Text returns the text of 16-bit units up to the first zero.
func utf16Text(value []byte, order binary.ByteOrder) string {
	var units []uint16
	for ; len(value) >= 2; value = value[2:] {
		unit := order.Uint16(value)
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	return legible(strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff"))
}

// legible returns valid text without control characters other than line breaks. Text that is not UTF-8
// is read as Windows-1252, which includes Latin-1.
func legible(text string) string {
	if !utf8.ValidString(text) {
		text, _ = charmap.Windows1252.NewDecoder().String(text)
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return -1
		}
		return r
	}, text))
}
