package rendition

import (
	"encoding/binary"
	"image"
	"io"
)

// An orientation is the EXIF orientation of a stored image: 1 is upright, 5 to 8 swap the
// sides. Cameras set it instead of rotating pixels. That the service applies it is a guess,
// based on the usual library of such services.
type orientation int

const upright orientation = 1

// seen returns the size of a stored image after rotation.
func (o orientation) seen(stored image.Point) image.Point {
	if o >= 5 {
		return image.Pt(stored.Y, stored.X)
	}
	return stored
}

// orientationOf reads the orientation where formats store EXIF. Damaged, missing and invalid
// values count as upright.
func orientationOf(r io.ReaderAt, size int64) orientation {
	head, _ := readAt(r, 0, 12)
	var exif io.ReaderAt
	switch {
	case begins(head, "II*\x00"), begins(head, "MM\x00*"):
		exif = r
	case begins(head, "\xff\xd8"):
		exif = exifOfJPEG(r, size)
	case begins(head, "\x89PNG\r\n\x1a\n"):
		exif = exifInChunks(r, size, 8, pngChunk)
	case begins(head, webpMagic):
		exif = exifInChunks(r, size, 12, riffChunk)
	}
	if exif == nil {
		return upright
	}
	return orientationIn(exif)
}

// exifOfJPEG reads the segments before the pixels.
func exifOfJPEG(r io.ReaderAt, size int64) io.ReaderAt {
	at := int64(2)
	for range maxChunks {
		head, ok := readAt(r, at, 10)
		if !ok || at >= size || head[0] != 0xff || head[1] == 0xda { // start of scan
			return nil
		}
		length := int64(binary.BigEndian.Uint16(head[2:]))
		if length < 2 {
			return nil
		}
		if head[1] == 0xe1 && string(head[4:]) == "Exif\x00\x00" && length > 8 {
			return io.NewSectionReader(r, at+10, length-8)
		}
		at += 2 + length
	}
	return nil
}

func exifInChunks(r io.ReaderAt, size, at int64, read func(head []byte, at int64) chunk) io.ReaderAt {
	for c := range chunks(r, size, at, read) {
		if c.name == "eXIf" || c.name == "EXIF" {
			return io.NewSectionReader(r, c.body, c.length)
		}
	}
	return nil
}

// orientationIn reads the tag in the first directory of a TIFF structure, the format of EXIF.
func orientationIn(r io.ReaderAt) orientation {
	const tag, tagShort = 0x0112, 3
	head, ok := readAt(r, 0, 8)
	if !ok {
		return upright
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[0] == 'M' {
		order = binary.BigEndian
	}
	directory := int64(order.Uint32(head[4:]))
	count, ok := readAt(r, directory, 2)
	if !ok {
		return upright
	}
	for i := range int64(order.Uint16(count)) {
		entry, ok := readAt(r, directory+2+12*i, 12)
		if !ok {
			return upright
		}
		if order.Uint16(entry) != tag {
			continue
		}
		if o := orientation(order.Uint16(entry[8:])); order.Uint16(entry[2:]) == tagShort && o >= 1 && o <= 8 {
			return o
		}
		return upright
	}
	return upright
}

// rotate returns an upright copy of an image.
func (o orientation) rotate(m *image.RGBA) *image.RGBA {
	if o <= upright {
		return m
	}
	size := o.seen(m.Rect.Size())
	turned := image.NewRGBA(image.Rectangle{Max: size})
	for y := range size.Y {
		row := turned.Pix[y*turned.Stride:]
		for x := range size.X {
			sx, sy := o.source(x, y, m.Rect.Dx()-1, m.Rect.Dy()-1)
			copy(row[4*x:4*x+4], m.Pix[sy*m.Stride+4*sx:])
		}
	}
	return turned
}

// source returns the stored position of a pixel of the upright image; right and bottom are the
// last stored column and row.
func (o orientation) source(x, y, right, bottom int) (sx, sy int) {
	switch o {
	case 2:
		return right - x, y
	case 3:
		return right - x, bottom - y
	case 4:
		return x, bottom - y
	case 5:
		return y, x
	case 6:
		return y, bottom - x
	case 7:
		return right - y, bottom - x
	case 8:
		return right - y, x
	}
	return x, y
}
