package metadata

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"unicode"
)

// pngText returns the text of a PNG chunk after its keyword.
func pngText(kind string, text []byte, most int) ([]byte, error) {
	switch kind {
	case "zTXt":
		if len(text) < 1 || text[0] != 0 {
			return nil, errors.New("unknown compression method")
		}
		return inflate(text[1:], most)
	case "iTXt":
		return pngInternationalText(text, most)
	}
	return text, nil
}

// pngInternationalText returns the text after the compression, the language and the translated keyword.
func pngInternationalText(text []byte, most int) ([]byte, error) {
	if len(text) < 2 {
		return nil, io.ErrUnexpectedEOF
	}
	compressed, text := text[0] != 0, text[2:]
	for range 2 {
		_, rest, ok := bytes.Cut(text, []byte{0})
		if !ok {
			return nil, io.ErrUnexpectedEOF
		}
		text = rest
	}
	if compressed {
		return inflate(text, most)
	}
	return text, nil
}

// inflate decompresses up to most bytes.
func inflate(compressed []byte, most int) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it is larger than %d MiB after decompression", maxPieces>>20)
	}
	return text, err
}

// pngProfile reads metadata in a raw profile, as programs wrote it before PNG had chunks for it: a line
// with the kind, a line with the length, and hexadecimal digits. The bytes identify the kind better than
// its name.
func (p *pieces) pngProfile(text []byte) {
	lines := bytes.SplitN(bytes.TrimLeft(text, "\n"), []byte("\n"), 3)
	if len(lines) < 3 {
		p.remark("a profile in the PNG is damaged: the length is missing")
		return
	}
	digits := bytes.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, lines[2])
	profile := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(profile, digits); err != nil {
		p.remark("a profile in the PNG is damaged: %v", err)
		return
	}
	if rest, ok := bytes.CutPrefix(profile, []byte(exifHeader)); ok && len(rest) > 0 {
		p.keep(&p.exif, rest[1:])
	} else if rest, ok := bytes.CutPrefix(profile, []byte(xmpHeader)); ok {
		p.keep(&p.xmp, rest)
	} else if isTIFF(profile) {
		p.keep(&p.exif, profile)
	} else if bytes.HasPrefix(profile, []byte("8BIM")) {
		p.keep(&p.photoshop, profile)
	} else if bytes.HasPrefix(profile, []byte{iptcMark}) {
		p.keep(&p.iptc, profile)
	} else if string(bytes.TrimSpace(lines[0])) == "xmp" {
		p.keep(&p.xmp, profile)
	}
}
