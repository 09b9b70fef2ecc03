package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Limits of the data that is read from one image. No real image has more metadata. A file that
// claims more is damaged or malicious.
const (
	maxPieces   = 8 << 20 // bytes kept of one image
	maxValues   = 2000    // of one metadata source
	maxText     = 64 << 10
	maxUnmapped = 1 << 10 // for a field without a name in our vocabulary
)

// pieces are the metadata parts of an image. If there are several of a kind, the first one counts, unless
// the kind may continue.
type pieces struct {
	exif      []byte      // a TIFF without an image
	whole     io.ReaderAt // the image, if it is a TIFF
	xmp       []byte
	extended  extendedXMP
	iptc      []byte
	photoshop []byte // image resources, which may contain IPTC; they may continue
	kept      int
	heads     int // of parts of the image that were read
	remarks   []string
}

// maxRemarks is the maximum number of remarks per image.
const maxRemarks = 10

func (p *pieces) remark(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(p.remarks) < maxRemarks && !slices.Contains(p.remarks, text) {
		p.remarks = append(p.remarks, text)
	}
}

// maxHeads is the maximum number of parts of an image. The largest PNGs have some hundred thousand.
const maxHeads = 1 << 20

// tooMany counts a part, and reports whether there are more than maxHeads.
func (p *pieces) tooMany() bool {
	if p.heads++; p.heads == maxHeads {
		p.remark("the image has more than %d parts; the rest was not read", maxHeads)
	}
	return p.heads >= maxHeads
}

// room reports whether there is room for a piece.
func (p *pieces) room(length int64) bool {
	if length <= int64(maxPieces-p.kept) {
		return true
	}
	p.tooLarge()
	return false
}

func (p *pieces) tooLarge() {
	p.remark("the image has more than %d MiB of metadata; the rest is omitted", maxPieces>>20)
}

// keep copies the first piece of a kind.
func (p *pieces) keep(kind *[]byte, piece []byte) {
	if *kind == nil && len(piece) > 0 {
		p.add(kind, piece)
	}
}

// add copies a piece that continues earlier pieces.
func (p *pieces) add(kind *[]byte, piece []byte) {
	if p.room(int64(len(piece))) {
		p.kept += len(piece)
		*kind = append(*kind, piece...)
	}
}

// found returns the metadata in the pieces.
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

// broken adds a remark that a kind could not be read, or only partly.
func (p *pieces) broken(kind string, err error) {
	if err != nil {
		p.remark("%s not read, or only partly: %v", kind, err)
	}
}

// Embedded returns the embedded metadata of an image with random access: JPEG, PNG, WebP, TIFF and raw
// formats based on it, HEIC and AVIF. It reads only the first bytes of other content. For a damaged file
// it returns the readable part and remarks. An error is a read error.
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

// An image gives random access to content, but not beyond its end.
type image struct {
	content io.ReaderAt
	size    int64
	pieces  pieces
	failed  error // a read error that ends the reading
}

// ReadAt implements io.ReaderAt, and keeps the read error.
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
		m.pieces.remark("metadata read only partly: %v", err)
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
		return nil // no image is that small
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

// walk runs the steps of a format, and does not read skipped bytes.
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
