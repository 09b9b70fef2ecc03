package metadata

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A step is the next piece of an image to read: some bytes after others to skip. The same steps read a
// stream and a file.
type step struct {
	skip int64
	want int
	then func(piece []byte) step // nil: the capture is complete
}

// magicLength is the number of bytes that identify a format.
const magicLength = 12

// begin returns the first step for a format, by its first bytes. elsewhere means that metadata may be
// anywhere in the file.
func (p *pieces) begin(magic []byte) (first step, elsewhere bool) {
	switch {
	case bytes.HasPrefix(magic, []byte("\xff\xd8\xff")):
		return p.inMagic(magic[2:], step{want: 4, then: p.jpegSegment}), false
	case bytes.HasPrefix(magic, []byte("\x89PNG\r\n\x1a\n")):
		return p.inMagic(magic[8:], step{want: 8, then: p.pngChunk}), false
	case bytes.HasPrefix(magic, []byte("RIFF")) && bytes.HasSuffix(magic, []byte("WEBP")):
		return step{want: 8, then: p.webpChunk}, false
	}
	return step{}, isTIFF(magic) || isHEIF(magic)
}

// inMagic runs steps on bytes that were read with the magic.
func (p *pieces) inMagic(rest []byte, next step) step {
	for next.then != nil {
		if next.skip >= int64(len(rest)) {
			next.skip -= int64(len(rest))
			return next
		}
		rest, next.skip = rest[next.skip:], 0
		if len(rest) < next.want {
			return after(bytes.Clone(rest), next)
		}
		rest, next = rest[next.want:], next.then(rest[:next.want])
	}
	return next
}

// after returns a step whose first bytes were already read.
func after(begin []byte, next step) step {
	if len(begin) == 0 {
		return next
	}
	return step{want: next.want - len(begin), then: func(rest []byte) step {
		return next.then(append(begin, rest...))
	}}
}

// JPEG segments by the second byte of their markers.
const (
	jpegFill      = 0xff
	jpegTEM       = 0x01
	jpegRST0      = 0xd0
	jpegSOI       = 0xd8
	jpegEOI       = 0xd9
	jpegScan      = 0xda
	jpegAPP1      = 0xe1
	jpegAPP13     = 0xed
	exifHeader    = "Exif\x00"
	xmpHeader     = "http://ns.adobe.com/xap/1.0/\x00"
	moreXMPHeader = "http://ns.adobe.com/xmp/extension/\x00"
	irbHeader     = "Photoshop 3.0\x00"

	pngXMP = "XML:com.adobe.xmp"
)

// jpegSegment reads the marker and the length of a segment.
func (p *pieces) jpegSegment(head []byte) step {
	marker := head[1]
	switch {
	case p.tooMany(), head[0] != jpegFill, marker == jpegScan, marker == jpegEOI:
		return step{} // the image data begins; no metadata follows
	case marker == jpegFill:
		return after(bytes.Clone(head[1:]), step{want: 4, then: p.jpegSegment})
	case marker == jpegTEM, marker >= jpegRST0 && marker <= jpegSOI: // these have no length
		return after(bytes.Clone(head[2:]), step{want: 4, then: p.jpegSegment})
	}
	length := int64(binary.BigEndian.Uint16(head[2:])) - 2
	next := step{skip: length, want: 4, then: p.jpegSegment}
	switch {
	case length < 0:
		p.remark("a segment of the JPEG has no length; the rest was not read")
		return step{}
	case length == 0, marker != jpegAPP1 && marker != jpegAPP13, !p.room(length):
		return next
	}
	next.skip = 0
	return step{want: int(length), then: func(segment []byte) step {
		p.jpegKeep(marker, segment)
		return next
	}}
}

func (p *pieces) jpegKeep(marker byte, segment []byte) {
	if rest, ok := bytes.CutPrefix(segment, []byte(irbHeader)); ok && marker == jpegAPP13 {
		p.add(&p.photoshop, rest)
	} else if marker != jpegAPP1 {
		return
	} else if rest, ok := bytes.CutPrefix(segment, []byte(exifHeader)); ok && len(rest) > 0 {
		p.keep(&p.exif, rest[1:]) // the byte between is padding, and not always 0
	} else if rest, ok := bytes.CutPrefix(segment, []byte(xmpHeader)); ok {
		p.keep(&p.xmp, rest)
	} else if rest, ok := bytes.CutPrefix(segment, []byte(moreXMPHeader)); ok {
		p.extend(rest)
	} else if at := bytes.Index(segment[:min(len(segment), 2*len(xmpHeader))], []byte("<?xpacket")); at >= 0 {
		p.keep(&p.xmp, segment[at:]) // some agencies write their own header
	}
}

// pngChunk reads the length and the type of a chunk.
func (p *pieces) pngChunk(head []byte) step {
	if p.tooMany() {
		return step{}
	}
	length := int64(binary.BigEndian.Uint32(head))
	next := step{skip: length + 4, want: 8, then: p.pngChunk} // a CRC of four bytes follows
	kind := string(head[4:])
	switch kind {
	case "IEND":
		return step{}
	case "eXIf", "iTXt", "zTXt", "tEXt":
	default:
		return next
	}
	if length == 0 || !p.room(length) {
		return next
	}
	next.skip = 4
	return step{want: int(length), then: func(chunk []byte) step {
		p.pngKeep(kind, chunk)
		return next
	}}
}

func (p *pieces) pngKeep(kind string, chunk []byte) {
	if kind == "eXIf" {
		p.keep(&p.exif, bytes.TrimPrefix(chunk, []byte(exifHeader+"\x00")))
		return
	}
	keyword, text, _ := bytes.Cut(chunk, []byte{0})
	switch name := string(keyword); name {
	case pngXMP, "Raw profile type exif", "Raw profile type APP1", "Raw profile type xmp", "Raw profile type iptc":
		text, err := pngText(kind, text, maxPieces-p.kept)
		p.kept += len(text) // also if it is not kept, because decompression takes time
		if err != nil {
			p.remark("%s in the PNG is damaged: %v", name, err)
		} else if name == pngXMP {
			p.keep(&p.xmp, text)
		} else {
			p.pngProfile(text)
		}
	}
}

// webpChunk reads the type and the length of a chunk.
func (p *pieces) webpChunk(head []byte) step {
	length := int64(binary.LittleEndian.Uint32(head[4:]))
	if p.tooMany() || length == math.MaxUint32 {
		return step{}
	}
	odd := length % 2 // a padding byte follows
	next := step{skip: length + odd, want: 8, then: p.webpChunk}
	kind := string(head[:4])
	if kind != "EXIF" && kind != "XMP " || length == 0 || !p.room(length) {
		return next
	}
	next.skip = odd
	return step{want: int(length), then: func(chunk []byte) step {
		if kind == "EXIF" {
			p.keep(&p.exif, bytes.TrimPrefix(chunk, []byte(exifHeader+"\x00")))
		} else {
			p.keep(&p.xmp, chunk)
		}
		return next
	}}
}
