package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A tiff reads the directories of a TIFF. EXIF is a TIFF without an image.
type tiff struct {
	from  io.ReaderAt
	order binary.ByteOrder
	big   bool // BigTIFF: lengths and offsets have eight bytes
}

// maxEntries is the maximum number of entries of a directory. Cameras write up to 200.
const maxEntries = 4096

// Kinds of TIFF values other than plain numbers.
const (
	tiffASCII     = 2
	tiffRational  = 5
	tiffUndefined = 7
	tiffSRational = 10
	tiffFloat     = 11
	tiffDouble    = 12
	tiffUTF8      = 129
)

// tiffSize returns the size in bytes of a value of a kind, or 0 for an unknown kind.
func tiffSize(kind uint16) uint64 {
	switch kind {
	case 1, tiffASCII, 6, tiffUndefined, tiffUTF8:
		return 1
	case 3, 8:
		return 2
	case 4, 9, tiffFloat, 13:
		return 4
	case tiffRational, tiffSRational, tiffDouble, 16, 17, 18:
		return 8
	}
	return 0
}

// isTIFF reports whether the first bytes are those of a TIFF.
func isTIFF(magic []byte) bool {
	if len(magic) < 4 {
		return false
	}
	switch string(magic[:4]) {
	case "II*\x00", "MM\x00*", "II+\x00", "MM\x00+", "IIU\x00", "IIRO", "IIRS", "MMOR": // the last ones: Panasonic and Olympus
		return true
	}
	return false
}

// openTIFF returns a reader and the offset of the first directory.
func openTIFF(from io.ReaderAt) (t *tiff, first uint64, err error) {
	head := make([]byte, 16)
	n, err := from.ReadAt(head, 0)
	if n < 8 || !isTIFF(head) {
		return nil, 0, errors.Join(errors.New("it does not begin like a TIFF"), unlessEOF(err))
	}
	t = &tiff{from: from, order: binary.LittleEndian}
	if head[0] == 'M' {
		t.order = binary.BigEndian
	}
	if t.big = t.order.Uint16(head[2:]) == 43; !t.big {
		return t, uint64(t.order.Uint32(head[4:])), nil
	}
	return t, t.order.Uint64(head[8:]), nil
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// A tiffEntry is an entry of a directory.
type tiffEntry struct {
	tag, kind uint16
	count     uint64
	value     []byte // or its offset
}

// directory returns the entries of a directory. If it is incomplete, it returns the first ones.
func (t *tiff) directory(at uint64) ([]tiffEntry, error) {
	head, width := make([]byte, 2), 12
	if t.big {
		head, width = make([]byte, 8), 20
	}
	if err := t.read(head, at); err != nil {
		return nil, err
	}
	n := uint64(t.order.Uint16(head))
	if t.big {
		n = t.order.Uint64(head)
	}
	if n > maxEntries {
		return nil, fmt.Errorf("a directory claims to have %d entries", n)
	}
	raw := make([]byte, int(n)*width)
	whole, err := t.readSome(raw, at+uint64(len(head)))
	var entries []tiffEntry
	for raw = raw[:whole]; len(raw) >= width; raw = raw[width:] {
		entries = append(entries, t.entry(raw[:width]))
	}
	return entries, err
}

func (t *tiff) entry(raw []byte) tiffEntry {
	e := tiffEntry{tag: t.order.Uint16(raw), kind: t.order.Uint16(raw[2:])}
	if t.big {
		e.count, e.value = t.order.Uint64(raw[4:]), raw[12:20]
	} else {
		e.count, e.value = uint64(t.order.Uint32(raw[4:])), raw[8:12]
	}
	return e
}

var errOutside = errors.New("it is incomplete, or points beyond its end")

// readSome reads the available bytes.
func (t *tiff) readSome(p []byte, at uint64) (int, error) {
	if at > math.MaxInt64 {
		return 0, errOutside
	}
	n, err := t.from.ReadAt(p, int64(at))
	switch {
	case n == len(p):
		return n, nil
	case errors.Is(err, io.EOF):
		return n, errOutside
	}
	return n, err
}

func (t *tiff) read(p []byte, at uint64) error {
	_, err := t.readSome(p, at)
	return err
}

// size returns the size of a value in bytes; ok is false if it is invalid.
func (e tiffEntry) size() (n uint64, ok bool) {
	one := tiffSize(e.kind)
	return one * e.count, one > 0 && e.count <= math.MaxUint32
}

// bytes returns the bytes of a value, or nil if they are more than most.
func (t *tiff) bytes(e tiffEntry, most uint64) ([]byte, error) {
	n, ok := e.size()
	if !ok || n > most {
		return nil, nil
	}
	if n <= uint64(len(e.value)) {
		return e.value[:n], nil
	}
	value := make([]byte, n)
	if err := t.read(value, t.pointer(e.value)); err != nil {
		return nil, err
	}
	return value, nil
}

// pointer returns a value as an offset.
func (t *tiff) pointer(value []byte) uint64 {
	if len(value) == 8 {
		return t.order.Uint64(value)
	}
	return uint64(t.order.Uint32(value))
}

// numbers returns numbers as text, separated by spaces.
func (t *tiff) numbers(kind uint16, value []byte) string {
	var all []string
	for one := int(tiffSize(kind)); one > 0 && len(value) >= one; value = value[one:] {
		all = append(all, t.number(kind, value[:one]))
	}
	return strings.Join(all, " ")
}

func (t *tiff) number(kind uint16, value []byte) string {
	switch kind {
	case 1, tiffUndefined:
		return strconv.Itoa(int(value[0]))
	case 6:
		return strconv.Itoa(int(int8(value[0])))
	case 3:
		return strconv.Itoa(int(t.order.Uint16(value)))
	case 8:
		return strconv.Itoa(int(int16(t.order.Uint16(value))))
	case 4, 13:
		return strconv.FormatUint(uint64(t.order.Uint32(value)), 10)
	case 9:
		return strconv.Itoa(int(int32(t.order.Uint32(value))))
	case 16, 18:
		return strconv.FormatUint(t.order.Uint64(value), 10)
	case 17:
		return strconv.FormatInt(int64(t.order.Uint64(value)), 10)
	case tiffRational:
		return quotient(float64(t.order.Uint32(value)), float64(t.order.Uint32(value[4:])))
	case tiffSRational:
		return quotient(float64(int32(t.order.Uint32(value))), float64(int32(t.order.Uint32(value[4:]))))
	case tiffFloat:
		return strconv.FormatFloat(float64(math.Float32frombits(t.order.Uint32(value))), 'g', -1, 32)
	case tiffDouble:
		return strconv.FormatFloat(math.Float64frombits(t.order.Uint64(value)), 'g', -1, 64)
	}
	return ""
}

// quotient formats a rational number. Cameras write zeros for an unknown value.
func quotient(over, under float64) string {
	switch {
	case under != 0:
		return strconv.FormatFloat(over/under, 'f', -1, 64)
	case over == 0:
		return "undef"
	}
	return "inf"
}
