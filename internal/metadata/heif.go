package metadata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
)

// Limits for the boxes of HEIF, the format of HEIC and AVIF.
const (
	maxBoxes        = 256 // on the first level; images have about four
	maxExtents      = 64
	maxItems        = 1 << 14 // tiled images have some hundred
	maxDescriptions = 64      // items of EXIF or XMP; images have one or two of each
)

// isHEIF reports whether the first bytes contain one of the brands.
func isHEIF(magic []byte) bool {
	if len(magic) < magicLength || string(magic[4:8]) != "ftyp" {
		return false
	}
	switch string(magic[8:12]) {
	case "heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "mif2", "msf1", "avif", "avis", "miaf":
		return true
	}
	return false
}

var errHEIF = errors.New("a box is incomplete")

// readHEIF reads the EXIF and the XMP of an image, which are items anywhere in the file.
func (m *image) readHEIF() {
	meta, err := m.metaBox()
	if err == nil && meta != nil {
		err = m.items(meta)
	}
	if err != nil && m.failed == nil {
		m.pieces.remark("the HEIF is damaged: %v", err)
	}
}

// metaBox returns the box that lists the items. There is one, on the first level.
func (m *image) metaBox() ([]byte, error) {
	at := int64(0)
	for range maxBoxes {
		head := make([]byte, 16)
		n, err := m.ReadAt(head, at)
		if n < 8 {
			return nil, unlessEOF(err)
		}
		length, body := int64(binary.BigEndian.Uint32(head)), int64(8)
		switch length {
		case 0:
			length = m.size - at
		case 1:
			length, body = int64(binary.BigEndian.Uint64(head[8:])), 16
		}
		if length < body || length > m.size-at {
			return nil, errHEIF
		}
		if string(head[4:8]) == "meta" {
			if length -= body; !m.pieces.room(length) {
				return nil, nil
			}
			box := make([]byte, length)
			_, err := m.ReadAt(box, at+body)
			return box, err
		}
		at += length
	}
	return nil, nil
}

// items are the items of an image.
type items struct {
	exif, xmp []uint64 // numbers of items
	primary   uint64   // the item of the main image
	describes map[uint64][]uint64
	described int // number of items that references name
	places    map[uint64]place
	data      []byte // of items inside the box
}

// of returns the item that belongs to the main image. Others belong to parts of it, such as a gain map.
func (is *items) of(all []uint64) uint64 {
	for _, id := range all {
		if slices.Contains(is.describes[id], is.primary) {
			return id
		}
	}
	for _, id := range all {
		if len(is.describes[id]) == 0 {
			return id
		}
	}
	return 0
}

// A place has the parts of an item in the file.
type place struct {
	inBox   bool
	extents []extent
}

type extent struct{ at, length uint64 }

// items reads the metadata items of the main image.
func (m *image) items(meta []byte) error {
	is := items{places: map[uint64]place{}, describes: map[uint64][]uint64{}}
	b := &boxReader{data: meta}
	b.skip(4)
	for len(b.data) >= 8 && b.err == nil {
		switch kind, inner := b.box(); kind {
		case "iinf":
			is.infos(inner)
		case "iloc":
			is.locations(inner)
		case "iref":
			is.references(inner)
		case "pitm":
			is.primary = inner.number(2 + 2*int(min(inner.version(), 1)))
		case "idat":
			is.data = inner.data
		}
	}
	if exif := m.item(is, is.of(is.exif)); len(exif) > 4 {
		if skip := uint64(binary.BigEndian.Uint32(exif)) + 4; skip < uint64(len(exif)) {
			m.pieces.keep(&m.pieces.exif, exif[skip:])
		}
	}
	m.pieces.keep(&m.pieces.xmp, m.item(is, is.of(is.xmp)))
	return b.err
}

// infos records the items of EXIF and XMP.
func (is *items) infos(b *boxReader) {
	if version := b.version(); version == 0 {
		b.skip(2)
	} else {
		b.skip(4)
	}
	for len(b.data) >= 8 && b.err == nil && len(is.exif)+len(is.xmp) < maxDescriptions {
		kind, inner := b.box()
		version := inner.version()
		if kind != "infe" || version < 2 {
			continue
		}
		id := inner.number(itemWidth(version))
		inner.skip(2)
		switch string(inner.take(4)) {
		case "Exif":
			is.exif = append(is.exif, id)
		case "mime":
			_, rest, _ := bytes.Cut(inner.data, []byte{0}) // its name
			if kind, _, _ := bytes.Cut(rest, []byte{0}); string(kind) == "application/rdf+xml" {
				is.xmp = append(is.xmp, id)
			}
		}
	}
}

// itemWidth returns the size in bytes of an item number.
func itemWidth(version byte) int {
	if version == 2 {
		return 2
	}
	return 4
}

// references records the images that items describe.
func (is *items) references(b *boxReader) {
	width := 2 + 2*int(min(b.version(), 1))
	for len(b.data) >= 8 && b.err == nil {
		kind, inner := b.box()
		from := inner.number(width)
		for n := inner.number(2); kind == "cdsc" && n > 0 && inner.err == nil && is.described < maxItems; n-- {
			is.describes[from] = append(is.describes[from], inner.number(width))
			is.described++
		}
	}
}

// locations records the places of items.
func (is *items) locations(b *boxReader) {
	version := b.version()
	sizes := b.number(2)
	at, length, base, index := int(sizes>>12), int(sizes>>8&15), int(sizes>>4&15), int(sizes&15)
	if version == 0 {
		index = 0
	}
	wide := 2
	if version >= 2 {
		wide = 4
	}
	for n := b.number(wide); n > 0 && b.err == nil; n-- {
		id, method := b.number(wide), uint64(0)
		if version > 0 {
			method = b.number(2) & 15
		}
		b.skip(2)
		begin := b.number(base)
		where := place{inBox: method == 1}
		for n := b.number(2); n > 0 && b.err == nil; n-- {
			b.skip(index)
			e := extent{begin + b.number(at), b.number(length)}
			if where.extents = append(where.extents, e); len(where.extents) > maxExtents {
				b.err = errHEIF
			}
		}
		if method < 2 && len(is.places) < maxItems {
			is.places[id] = where
		}
	}
}

// item reads an item, or returns nil.
func (m *image) item(is items, id uint64) []byte {
	where, ok := is.places[id]
	if !ok || id == 0 {
		return nil
	}
	var from io.ReaderAt = m
	end := uint64(m.size)
	if where.inBox {
		from, end = bytes.NewReader(is.data), uint64(len(is.data))
	}
	var item []byte
	for _, e := range where.extents {
		if e.length == 0 && len(where.extents) == 1 && e.at < end {
			e.length = end - e.at
		}
		if e.at > end || e.length > end-e.at || e.length > math.MaxInt32 || !m.pieces.room(int64(e.length)+int64(len(item))) {
			m.pieces.remark("the HEIF is damaged: %v", errHEIF)
			return nil
		}
		part := make([]byte, e.length)
		if _, err := from.ReadAt(part, int64(e.at)); err != nil {
			return nil
		}
		item = append(item, part...)
	}
	return item
}

// A boxReader reads the content of a box.
type boxReader struct {
	data []byte
	err  error
}

// take returns the next n bytes, filled up with zeros at the end.
func (b *boxReader) take(n int) []byte {
	if n > len(b.data) {
		b.data, b.err = nil, errHEIF
		return make([]byte, n)
	}
	taken := b.data[:n]
	b.data = b.data[n:]
	return taken
}

func (b *boxReader) skip(n int) { b.take(n) }

// number reads a number of a width in bytes.
func (b *boxReader) number(width int) (n uint64) {
	for _, c := range b.take(width) {
		n = n<<8 | uint64(c)
	}
	return n
}

// version reads the version of a box and its flags.
func (b *boxReader) version() byte { return b.take(4)[0] }

// box returns the kind and the content of the next box.
func (b *boxReader) box() (string, *boxReader) {
	length, kind := int64(b.number(4)), string(b.take(4))
	length -= 8
	if length == 1-8 {
		length = int64(b.number(8)) - 16
	} else if length == 0-8 {
		length = int64(len(b.data))
	}
	if length < 0 || length > int64(len(b.data)) {
		b.data, b.err = nil, errHEIF
		return "", &boxReader{}
	}
	return kind, &boxReader{data: b.take(int(length))}
}
