// Package imagetest creates images with embedded metadata for tests. They contain no picture data.
// It shares no code with the readers of metadata.
package imagetest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// The kinds of values in a TIFF that are written.
const (
	kindBytes    = 1
	kindASCII    = 2
	kindLong     = 4
	kindRational = 5
)

// The markers of the JPEG segments that the functions below write.
const (
	markerApp0  = 0xe0
	markerApp1  = 0xe1
	markerApp13 = 0xed
	markerScan  = 0xda
)

// An Embedded is the metadata of a test image. Empty fields are not embedded.
type Embedded struct {
	EXIF []Entry
	IPTC string // data sets
	XMP  string // a packet
}

// JPEG returns a JPEG with this metadata.
func (e Embedded) JPEG() []byte {
	var segments [][]byte
	if e.EXIF != nil {
		segments = append(segments, Segment(markerApp1, "Exif\x00\x00", string(e.exif())))
	}
	if e.XMP != "" {
		segments = append(segments, Segment(markerApp1, "http://ns.adobe.com/xap/1.0/\x00", e.XMP))
	}
	if e.IPTC != "" {
		segments = append(segments, Segment(markerApp13, "Photoshop 3.0\x00", Resources(e.IPTC)))
	}
	return JPEG(segments...)
}

// PNG returns a PNG with this metadata.
func (e Embedded) PNG() []byte {
	var chunks [][]byte
	if e.EXIF != nil {
		chunks = append(chunks, Chunk("eXIf", string(e.exif())))
	}
	if e.XMP != "" {
		chunks = append(chunks, Chunk("iTXt", "XML:com.adobe.xmp\x00\x00\x00\x00\x00"+e.XMP))
	}
	if e.IPTC != "" {
		chunks = append(chunks, Profile("iptc", []byte(Resources(e.IPTC))))
	}
	return PNG(chunks...)
}

// TIFF returns a TIFF with this metadata.
func (e Embedded) TIFF() []byte {
	const tagXMP, tagPhotoshop = 0x02bc, 0x8649
	entries := slices.Clone(e.EXIF)
	if e.XMP != "" {
		entries = append(entries, Entry{Tag: tagXMP, Kind: kindBytes, Value: []byte(e.XMP)})
	}
	if e.IPTC != "" {
		entries = append(entries, Entry{Tag: tagPhotoshop, Kind: kindBytes, Value: []byte(Resources(e.IPTC))})
	}
	return TIFF(binary.LittleEndian, false, entries)
}

// WebP returns a WebP with this metadata, except IPTC, which the format does not support.
func (e Embedded) WebP() []byte {
	return WebP(RIFF("EXIF", e.exif()), RIFF("XMP ", []byte(e.XMP)))
}

// HEIF returns a HEIF with this metadata, except IPTC, which the format does not support.
func (e Embedded) HEIF() []byte { return HEIF(e.exif(), []byte(e.XMP)) }

func (e Embedded) exif() []byte { return TIFF(binary.LittleEndian, false, e.EXIF) }

// Taken returns an entry with the capture date, such as 2019:07:21 14:03:22, and its offset from
// UTC, which may be "".
func Taken(when, offset string) Entry {
	const tagEXIF, tagDateTimeOriginal, tagOffsetTimeOriginal = 0x8769, 0x9003, 0x9011
	below := []Entry{ASCII(tagDateTimeOriginal, when)}
	if offset != "" {
		below = append(below, ASCII(tagOffsetTimeOriginal, offset))
	}
	return Entry{Tag: tagEXIF, Kind: kindLong, Value: make([]byte, 4), Below: below}
}

// Position returns an entry with GPS coordinates, in whole degrees and minutes north and east.
func Position(degreesNorth, minutesNorth, degreesEast, minutesEast uint32) Entry {
	const tagGPS = 0x8825
	order := binary.LittleEndian
	return Entry{Tag: tagGPS, Kind: kindLong, Value: make([]byte, 4), Below: []Entry{
		ASCII(1, "N"), Rationals(order, 2, degreesNorth, 1, minutesNorth, 1, 0, 1),
		ASCII(3, "E"), Rationals(order, 4, degreesEast, 1, minutesEast, 1, 0, 1),
	}}
}

// An Entry is one of a directory to write: text, numbers, or a directory below.
type Entry struct {
	Tag   uint16
	Kind  uint16
	Value []byte
	Below []Entry
}

// ASCII returns a text entry.
func ASCII(tag uint16, text string) Entry {
	return Entry{Tag: tag, Kind: kindASCII, Value: []byte(text + "\x00")}
}

// UTF16 returns a text entry in the encoding of Windows.
func UTF16(tag uint16, text string) Entry {
	var b []byte
	for _, u := range append(utf16.Encode([]rune(text)), 0) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return Entry{Tag: tag, Kind: kindBytes, Value: b}
}

// Rationals returns an entry of fractions; each takes two of the parts.
func Rationals(order binary.AppendByteOrder, tag uint16, parts ...uint32) Entry {
	var b []byte
	for _, p := range parts {
		b = order.AppendUint32(b, p)
	}
	return Entry{Tag: tag, Kind: kindRational, Value: b}
}

// TIFF returns a TIFF, or a BigTIFF if big is true.
func TIFF(order binary.AppendByteOrder, big bool, entries []Entry) []byte {
	w := &tiffWriter{order: order, big: big}
	w.data = []byte("II")
	if order.String() == "BigEndian" {
		w.data = []byte("MM")
	}
	if big {
		w.data = order.AppendUint16(order.AppendUint16(order.AppendUint16(w.data, 43), 8), 0)
		w.data = order.AppendUint64(w.data, 16)
	} else {
		w.data = order.AppendUint32(order.AppendUint16(w.data, 42), 8)
	}
	w.directory(entries)
	return w.data
}

// sizeOf returns the size in bytes of a value of a kind.
func sizeOf(kind uint16) uint64 {
	switch kind {
	case kindLong:
		return 4
	case kindRational:
		return 8
	}
	return 1
}

type tiffWriter struct {
	order binary.AppendByteOrder
	big   bool
	data  []byte
}

func (w *tiffWriter) directory(entries []Entry) {
	width, inline := 12, 4
	if w.big {
		width, inline = 20, 8
		w.data = w.order.AppendUint64(w.data, uint64(len(entries)))
	} else {
		w.data = w.order.AppendUint16(w.data, uint16(len(entries)))
	}
	at := len(w.data)
	w.data = append(w.data, make([]byte, width*len(entries)+inline)...) // and no directory that follows
	for _, e := range entries {
		entry := w.order.AppendUint16(w.order.AppendUint16(nil, e.Tag), e.Kind)
		entry = w.number(entry, uint64(len(e.Value))/sizeOf(e.Kind))
		switch {
		case e.Below != nil:
			entry = w.number(entry, uint64(len(w.data)))
			w.directory(e.Below)
		case len(e.Value) <= inline:
			entry = append(entry, e.Value...)
		default:
			entry = w.number(entry, uint64(len(w.data)))
			w.data = append(w.data, e.Value...)
		}
		copy(w.data[at:], entry)
		at += width
	}
}

func (w *tiffWriter) number(b []byte, n uint64) []byte {
	if w.big {
		return w.order.AppendUint64(b, n)
	}
	return w.order.AppendUint32(b, uint32(n))
}

// Segment returns a JPEG segment.
func Segment(marker byte, parts ...string) []byte {
	body := strings.Join(parts, "")
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2)), body...)
}

// JPEG writes one with segments.
func JPEG(segments ...[]byte) []byte {
	picture := append(Segment(markerScan, "\x01\x01\x00\x00\x3f\x00"), "\x12\x34\xff\xe1\x00\x08Exif\x00\x00\xff\xd9"...) // data after a scan is no segment
	return slices.Concat([]byte("\xff\xd8"), Segment(markerApp0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"), slices.Concat(segments...), picture)
}

// Chunk returns a PNG chunk.
func Chunk(kind, data string) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), kind+data...)
	return append(b, 0, 0, 0, 0) // a CRC that is wrong
}

// PNG writes one with chunks behind the picture.
func PNG(chunks ...[]byte) []byte {
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), Chunk("IHDR", strings.Repeat("\x00", 13)), Chunk("IDAT", strings.Repeat("x", 5000)),
		slices.Concat(chunks...), Chunk("IEND", ""), []byte("trailing data"))
}

// Deflated returns data compressed by zlib.
func Deflated(data string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(data))
	z.Close()
	return b.String()
}

// Profile returns a PNG chunk with data in the format of ImageMagick.
func Profile(kind string, data []byte) []byte {
	return Chunk("zTXt", "Raw profile type "+kind+"\x00\x00"+Deflated(fmt.Sprintf("\n%s\n%8d\n%s\n", kind, len(data), hex.EncodeToString(data))))
}

// RIFF returns a chunk of a WebP.
func RIFF(kind string, data []byte) []byte {
	b := append(binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(data))), data...)
	return append(b, make([]byte, len(data)%2)...)
}

// WebP writes one with chunks.
func WebP(chunks ...[]byte) []byte {
	body := slices.Concat([]byte("WEBP"), RIFF("VP8X", make([]byte, 10)), RIFF("VP8 ", []byte("odd")), slices.Concat(chunks...))
	return slices.Concat(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body)
}

// Box returns a box of a HEIF.
func Box(kind string, parts ...string) string {
	body := strings.Join(parts, "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)+8))) + kind + body
}

// BE16 returns a number in two bytes.
func BE16(n int) string { return string(binary.BigEndian.AppendUint16(nil, uint16(n))) }

// BE32 returns a number in four bytes.
func BE32(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

// HEIF writes one whose items are behind the boxes.
func HEIF(exif, xmp []byte) []byte {
	ftyp := Box("ftyp", "heic\x00\x00\x00\x00mif1heic")
	item := "\x00\x00\x00\x00" + string(exif)
	meta := func(at int) string {
		return Box("meta", "\x00\x00\x00\x00",
			Box("pitm", "\x00\x00\x00\x00", BE16(1)),
			Box("iinf", "\x00\x00\x00\x00", BE16(4),
				Box("infe", "\x02\x00\x00\x00", BE16(9), "\x00\x00mime\x00application/rdf+xml\x00"), // of another picture
				Box("infe", "\x02\x00\x00\x00", BE16(1), "\x00\x00hvc1\x00"),
				Box("infe", "\x02\x00\x00\x00", BE16(2), "\x00\x00Exif\x00"),
				Box("infe", "\x02\x00\x00\x00", BE16(3), "\x00\x00mime\x00application/rdf+xml\x00")),
			Box("iref", "\x00\x00\x00\x00", Box("thmb", BE16(2), BE16(1), BE16(9)), Box("cdsc", BE16(9), BE16(1), BE16(8)), Box("cdsc", BE16(3), BE16(2), BE16(8), BE16(1))),
			Box("iloc", "\x00\x00\x00\x00\x44\x00", BE16(3),
				BE16(9), BE16(0), BE16(1), BE32(0), BE32(8),
				BE16(2), BE16(0), BE16(2), BE32(at), BE32(10), BE32(at+10), BE32(len(item)-10), // in two parts
				BE16(3), BE16(0), BE16(1), BE32(at+len(item)), BE32(len(xmp))))
	}
	at := len(ftyp) + len(meta(0)) + 8
	return []byte(ftyp + meta(at) + Box("mdat", item, string(xmp)))
}

// DataSet returns an IPTC field.
func DataSet(record, number byte, value string) string {
	return "\x1c" + string([]byte{record, number}) + BE16(len(value)) + value
}

// Resources returns Photoshop resources with IPTC.
func Resources(iptc string) string {
	return "8BIM\x04\x25\x00\x00" + BE32(3) + "odd\x00" + "8BIM\x04\x04\x05named" + BE32(len(iptc)) + iptc + strings.Repeat("\x00", len(iptc)%2)
}
