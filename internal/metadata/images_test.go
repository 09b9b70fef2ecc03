package metadata

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

// Images that are made up: just what is around a picture, and none.

// A tagValue is an entry of a directory to write: text, numbers, or directories below.
type tagValue struct {
	tag   uint16
	kind  uint16
	value []byte
	below []tagValue
}

func ascii(tag uint16, text string) tagValue {
	return tagValue{tag: tag, kind: tiffASCII, value: []byte(text + "\x00")}
}

func utf16LE(tag uint16, text string) tagValue {
	var b []byte
	for _, u := range append(utf16.Encode([]rune(text)), 0) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return tagValue{tag: tag, kind: 1, value: b}
}

func rationals(order binary.AppendByteOrder, tag uint16, parts ...uint32) tagValue {
	var b []byte
	for _, p := range parts {
		b = order.AppendUint32(b, p)
	}
	return tagValue{tag: tag, kind: tiffRational, value: b}
}

// makeTIFF writes a TIFF, a BigTIFF if it is to be big.
func makeTIFF(order binary.AppendByteOrder, big bool, entries []tagValue) []byte {
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

type tiffWriter struct {
	order binary.AppendByteOrder
	big   bool
	data  []byte
}

func (w *tiffWriter) directory(entries []tagValue) {
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
		entry := w.order.AppendUint16(w.order.AppendUint16(nil, e.tag), e.kind)
		entry = w.number(entry, uint64(len(e.value))/max(1, tiffSize(e.kind)))
		switch {
		case e.below != nil:
			entry = w.number(entry, uint64(len(w.data)))
			w.directory(e.below)
		case len(e.value) <= inline:
			entry = append(entry, e.value...)
		default:
			entry = w.number(entry, uint64(len(w.data)))
			w.data = append(w.data, e.value...)
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

func segment(marker byte, parts ...string) []byte {
	body := strings.Join(parts, "")
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2)), body...)
}

func makeJPEG(segments ...[]byte) []byte {
	picture := append(segment(jpegScan, "\x01\x01\x00\x00\x3f\x00"), "\x12\x34\xff\xe1\x00\x08Exif\x00\x00\xff\xd9"...) // what is behind a scan is no segment
	return slices.Concat([]byte("\xff\xd8"), segment(0xe0, "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"), slices.Concat(segments...), picture)
}

func chunk(kind, data string) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), kind+data...)
	return append(b, 0, 0, 0, 0) // a CRC that is wrong
}

func makePNG(chunks ...[]byte) []byte {
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", strings.Repeat("\x00", 13)), chunk("IDAT", strings.Repeat("x", 5000)),
		slices.Concat(chunks...), chunk("IEND", ""), []byte("what follows"))
}

func deflated(data string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(data))
	z.Close()
	return b.String()
}

func profile(kind string, data []byte) []byte {
	return chunk("zTXt", "Raw profile type "+kind+"\x00\x00"+deflated(fmt.Sprintf("\n%s\n%8d\n%s\n", kind, len(data), hex.EncodeToString(data))))
}

func riff(kind string, data []byte) []byte {
	b := append(binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(data))), data...)
	return append(b, make([]byte, len(data)%2)...)
}

func makeWebP(chunks ...[]byte) []byte {
	body := slices.Concat([]byte("WEBP"), riff("VP8X", make([]byte, 10)), riff("VP8 ", []byte("odd")), slices.Concat(chunks...))
	return slices.Concat(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body)
}

func box(kind string, parts ...string) string {
	body := strings.Join(parts, "")
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)+8))) + kind + body
}

func be16(n int) string { return string(binary.BigEndian.AppendUint16(nil, uint16(n))) }
func be32(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

// makeHEIF writes one whose items are behind the boxes.
func makeHEIF(exif, xmp []byte) []byte {
	ftyp := box("ftyp", "heic\x00\x00\x00\x00mif1heic")
	item := "\x00\x00\x00\x00" + string(exif)
	meta := func(at int) string {
		return box("meta", "\x00\x00\x00\x00",
			box("pitm", "\x00\x00\x00\x00", be16(1)),
			box("iinf", "\x00\x00\x00\x00", be16(4),
				box("infe", "\x02\x00\x00\x00", be16(9), "\x00\x00mime\x00application/rdf+xml\x00"), // of another picture
				box("infe", "\x02\x00\x00\x00", be16(1), "\x00\x00hvc1\x00"),
				box("infe", "\x02\x00\x00\x00", be16(2), "\x00\x00Exif\x00"),
				box("infe", "\x02\x00\x00\x00", be16(3), "\x00\x00mime\x00application/rdf+xml\x00")),
			box("iref", "\x00\x00\x00\x00", box("thmb", be16(2), be16(1), be16(9)), box("cdsc", be16(9), be16(1), be16(8)), box("cdsc", be16(3), be16(2), be16(8), be16(1))),
			box("iloc", "\x00\x00\x00\x00\x44\x00", be16(3),
				be16(9), be16(0), be16(1), be32(0), be32(8),
				be16(2), be16(0), be16(2), be32(at), be32(10), be32(at+10), be32(len(item)-10), // in two parts
				be16(3), be16(0), be16(1), be32(at+len(item)), be32(len(xmp))))
	}
	at := len(ftyp) + len(meta(0)) + 8
	return []byte(ftyp + meta(at) + box("mdat", item, string(xmp)))
}

func dataSet(record, number byte, value string) string {
	return "\x1c" + string([]byte{record, number}) + be16(len(value)) + value
}

func resources(iptc string) string {
	return "8BIM\x04\x25\x00\x00" + be32(3) + "odd\x00" + "8BIM\x04\x04\x05named" + be32(len(iptc)) + iptc + strings.Repeat("\x00", len(iptc)%2)
}
