package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Bounds of what is read of one image. Nobody writes more about a picture, and a file that
// claims it is broken or made to do harm.
const (
	maxPieces   = 8 << 20 // bytes that are kept of one image
	maxValues   = 2000    // that an origin gives
	maxText     = 64 << 10
	maxUnmapped = 1 << 10 // of a field that has no name of ours
)

// Pieces are the parts of an image that describe it. Of several of a kind the first one is
// meant, except for those that are said to continue.
type pieces struct {
	exif      []byte      // a TIFF without a picture
	whole     io.ReaderAt // or the image, which is a TIFF
	xmp       []byte
	extended  extendedXMP
	iptc      []byte
	photoshop []byte // image resources, which may have the IPTC in them; they may continue
	kept      int
	heads     int // of parts of the image that were looked at
	remarks   []string
}

// maxRemarks is how many remarks there are on an image.
const maxRemarks = 10

func (p *pieces) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(p.remarks) < maxRemarks && !slices.Contains(p.remarks, text) {
		p.remarks = append(p.remarks, text)
	}
}

// maxHeads is how many parts an image may have. The largest PNG have some hundred thousand.
const maxHeads = 1 << 20

// tooMany counts a part, and reports whether there are more than an image has.
func (p *pieces) tooMany() bool {
	if p.heads++; p.heads == maxHeads {
		p.remark("the image has more than %d parts; those that follow were not looked at", maxHeads)
	}
	return p.heads >= maxHeads
}

// room reports whether a piece of a length may be kept.
func (p *pieces) room(length int64) bool {
	if length <= int64(maxPieces-p.kept) {
		return true
	}
	p.tooLarge()
	return false
}

func (p *pieces) tooLarge() {
	p.remark("what describes the image is larger than %d MiB in all; some of it is left out", maxPieces>>20)
}

// keep copies a piece, if nothing of its kind is there yet.
func (p *pieces) keep(kind *[]byte, piece []byte) {
	if *kind == nil && len(piece) > 0 {
		p.add(kind, piece)
	}
}

// add copies a piece that continues what is there.
func (p *pieces) add(kind *[]byte, piece []byte) {
	if p.room(int64(len(piece))) {
		p.kept += len(piece)
		*kind = append(*kind, piece...)
	}
}

// found reads the pieces.
func (p *pieces) found() (found Found, remarks []string) {
	from := p.whole
	if p.exif != nil {
		from = bytes.NewReader(p.exif)
	}
	if from != nil {
		e, err := readEXIF(from)
		p.broken("EXIF", err)
		found = found.With(FromEXIF, e.fields())
		p.keep(&p.xmp, e.xmp)
		p.keep(&p.iptc, e.iptc)
		p.keep(&p.photoshop, e.photoshop)
	}
	if p.iptc == nil {
		p.iptc = iptcResource(p.photoshop)
	}
	if p.iptc != nil {
		fields, err := readIPTC(p.iptc)
		p.broken("IPTC", err)
		found = found.With(FromIPTC, fields)
	}
	if p.xmp != nil {
		fields, err := readXMP(p.xmp, p.extended.of(p.xmp))
		p.broken("XMP", err)
		found = found.With(FromXMP, fields)
	}
	return found, p.remarks
}

// broken remarks that not all of a kind could be read.
func (p *pieces) broken(kind string, err error) {
	if err != nil {
		p.remark("the %s in it could not be read, or not all of it: %v", kind, err)
	}
}

// Embedded reads what is embedded in an image that can be read at any place: JPEG, PNG,
// WebP, TIFF and the raw formats that are one, HEIC and AVIF. Of other content it reads the
// first bytes. A file that is broken gives remarks, and what could be read of it; an error
// is one of reading.
func Embedded(content io.ReaderAt, size int64) (Found, []string, error) {
	r := &image{content: content, size: size}
	if err := r.read(); err != nil {
		return nil, nil, err
	}
	found, remarks := r.pieces.found()
	if r.failed != nil {
		return nil, nil, r.failed
	}
	return found, remarks, nil
}

// An image is read at any place, never beyond its end.
type image struct {
	content io.ReaderAt
	size    int64
	pieces  pieces
	failed  error // of reading, if that is the end
}

// ReadAt reads as the content does, and remembers why it could not.
func (m *image) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at >= m.size {
		return 0, io.EOF
	}
	short := int64(len(p)) > m.size-at
	if short {
		p = p[:m.size-at]
	}
	n, err := m.content.ReadAt(p, at)
	switch {
	case n == len(p) && short:
		return n, io.EOF
	case n == len(p):
		return n, nil
	case errors.Is(err, errScattered):
		m.pieces.remark("what describes the image was not all read: %v", err)
		return n, err
	case err == nil, errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF // the content is shorter than it was
	}
	m.failed = err
	return n, err
}

func (m *image) read() error {
	magic := make([]byte, magicLength)
	if m.size < magicLength {
		return nil // there is no image as small as that
	}
	if _, err := m.ReadAt(magic, 0); err != nil {
		return err
	}
	switch first, elsewhere := m.pieces.begin(magic); {
	case !elsewhere:
		m.walk(first)
	case isTIFF(magic):
		m.pieces.whole = m
	default:
		m.readHEIF()
	}
	return nil
}

// walk goes through a format step by step, and reads nothing of what is skipped.
func (m *image) walk(next step) {
	at := int64(magicLength)
	var piece []byte
	for next.then != nil {
		at += next.skip
		if at > m.size-int64(next.want) {
			return
		}
		if cap(piece) < next.want {
			piece = make([]byte, next.want)
		}
		piece = piece[:next.want]
		if _, err := m.ReadAt(piece, at); err != nil {
			return
		}
		at += int64(next.want)
		next = next.then(piece)
	}
}
