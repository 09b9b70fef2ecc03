package rendition

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"sync"

	"github.com/HugoSmits86/nativewebp"
	deepwebp "github.com/deepteams/webp"
	"golang.org/x/image/webp"
)

const (
	webpMagic     = "RIFF....WEBP"
	flagAnimation = 0x02 // in the header of an extended file
	flagAlpha     = 0x10
)

// decodeWebP reads an image, or the first frame of an animation.
func decodeWebP(file *io.SectionReader) (image.Image, error) {
	still, err := firstFrame(file)
	if err != nil {
		return nil, err
	}
	m, err := webp.Decode(still)
	switch yuv := m.(type) {
	case *image.YCbCr:
		widen(yuv)
	case *image.NYCbCrA:
		widen(&yuv.YCbCr)
	}
	return m, err
}

// firstFrame returns the first frame of an animation as a file, because the decoder does not
// support animations. Other files are unchanged.
func firstFrame(file *io.SectionReader) (io.Reader, error) {
	head, ok := readAt(file, 0, 21)
	if !ok || string(head[12:16]) != "VP8X" || head[20]&flagAnimation == 0 {
		return file, nil
	}
	for c := range chunks(file, file.Size(), 12, riffChunk) {
		if c.name == "ANMF" {
			return stillOf(file, c)
		}
	}
	return nil, errors.New("there is no frame")
}

// stillOf writes the size of the frame into the file, so that the decoder refuses a larger
// frame.
func stillOf(file *io.SectionReader, frame chunk) (io.Reader, error) {
	const frameHead = 16 // position, size and duration
	head, _ := readAt(file, frame.body, frameHead+4)
	length := min(frame.length, file.Size()-frame.body) - frameHead
	if length < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	flags := byte(0)
	if string(head[frameHead:]) == "ALPH" {
		flags = flagAlpha
	}
	start := appendChunk([]byte("RIFF....WEBP"), "VP8X", append([]byte{flags, 0, 0, 0}, head[6:12]...))
	binary.LittleEndian.PutUint32(start[4:], uint32(int64(len(start)-8)+length))
	return io.MultiReader(bytes.NewReader(start), io.NewSectionReader(file, frame.body+frameHead, length)), nil
}

// widen converts video levels (16 to 235 or 240), which lossy WebP uses, to the full range of
// package image. The decoders do not, and images would be pale.
func widen(m *image.YCbCr) {
	var luma, chroma [256]uint8
	for i := range 256 {
		luma[i] = level((float64(i) - 16) * 255 / 219)
		chroma[i] = level((float64(i)-128)*255/224 + 128)
	}
	for plane, levels := range map[*[]uint8]*[256]uint8{&m.Y: &luma, &m.Cb: &chroma, &m.Cr: &chroma} {
		for i, v := range *plane {
			(*plane)[i] = levels[v]
		}
	}
}

func level(v float64) uint8 { return uint8(min(255, max(0, math.Round(v)))) }

// checkFrames refuses a WebP file with a frame larger than its header: the decoders would
// allocate memory for it.
func checkFrames(r io.ReaderAt, fileSize int64, size image.Point) error {
	for c := range chunks(r, fileSize, 12, riffChunk) {
		frame := frameSize(r, c)
		if frame.X > size.X || frame.Y > size.Y {
			return fmt.Errorf("the header says %v, but a frame has %v", size, frame)
		}
	}
	return nil
}

// frameSize returns the size that a chunk of a WebP file gives, if any.
func frameSize(r io.ReaderAt, c chunk) image.Point {
	head, _ := readAt(r, c.body, 12)
	bits := binary.LittleEndian.Uint32(head[1:])
	switch c.name {
	case "VP8 ":
		return image.Pt(int(binary.LittleEndian.Uint16(head[6:])&0x3fff), int(binary.LittleEndian.Uint16(head[8:])&0x3fff))
	case "VP8L":
		return image.Pt(int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1)
	case "ANMF":
		return image.Pt(int(binary.LittleEndian.Uint32(head[5:])>>8)+1, int(binary.LittleEndian.Uint32(head[8:])>>8)+1)
	}
	return image.Point{}
}

// makeTables makes the encoder build its tables once. Two parallel first images would build
// them twice.
var makeTables = sync.OnceValue(func() error {
	return deepwebp.Encode(io.Discard, image.NewNRGBA(image.Rect(0, 0, 1, 1)), deepwebp.DefaultOptions())
})

// encodeWebP writes lossy WebP. Another library compresses the opacity without loss, because other
// decoders refuse the opacity of this one.
func encodeWebP(w io.Writer, m image.Image, quality int) error {
	if err := makeTables(); err != nil {
		return err
	}
	o := deepwebp.DefaultOptions()
	o.Quality = float32(quality)
	o.Method = 2
	if isOpaque(m) {
		return deepwebp.Encode(w, m, o)
	}
	colours, opacity := parted(m)
	var lossy bytes.Buffer
	if err := deepwebp.Encode(&lossy, colours, o); err != nil {
		return err
	}
	vp8 := chunkBody(lossy.Bytes(), "VP8 ")
	if vp8 == nil {
		return errors.New("the encoder did not write a chunk")
	}
	alph, err := compressed(opacity)
	if err != nil { // for noise the library creates codes that are too long, and fails
		alph = plainOpacity(opacity)
	}
	_, err = w.Write(extendedWebP(colours.Rect.Size(), alph, vp8))
	return err
}

// compressed compresses an opacity without loss.
func compressed(opacity *image.NRGBA) (alph []byte, err error) {
	defer catch(&err)
	var lossless bytes.Buffer
	if err := nativewebp.Encode(&lossless, opacity, nil); err != nil {
		return nil, err
	}
	const method, head = 1, 5 // header of VP8L, which an opacity omits
	vp8l := chunkBody(lossless.Bytes(), "VP8L")
	if len(vp8l) < head {
		return nil, errors.New("the encoder did not write a chunk")
	}
	return append([]byte{method}, vp8l[head:]...), nil
}

// plainOpacity returns an uncompressed opacity.
func plainOpacity(opacity *image.NRGBA) []byte {
	alph := make([]byte, 1, 1+len(opacity.Pix)/4) // method 0
	for i := 1; i < len(opacity.Pix); i += 4 {
		alph = append(alph, opacity.Pix[i])
	}
	return alph
}

// parted returns the colours of an image, and its opacity in the green channel, as in WebP.
func parted(m image.Image) (colours, opacity *image.NRGBA) {
	colours = toNRGBA(m)
	if colours == m {
		colours = &image.NRGBA{Pix: bytes.Clone(colours.Pix), Stride: colours.Stride, Rect: colours.Rect}
	}
	opacity = image.NewNRGBA(colours.Rect)
	for y := range colours.Rect.Dy() {
		row, green := colours.Pix[y*colours.Stride:], opacity.Pix[y*opacity.Stride:]
		for i := 3; i < 4*colours.Rect.Dx(); i += 4 {
			green[i-2], green[i] = row[i], 255
			row[i] = 255
		}
	}
	return colours, opacity
}

// chunkBody returns the content of a chunk in a WebP file; nil if it does not exist.
func chunkBody(file []byte, name string) []byte {
	for c := range chunks(bytes.NewReader(file), int64(len(file)), 12, riffChunk) {
		if c.name == name && c.body+c.length <= int64(len(file)) {
			return file[c.body : c.body+c.length]
		}
	}
	return nil
}

// extendedWebP returns a WebP file of an opacity and colours.
func extendedWebP(size image.Point, opacity, colours []byte) []byte {
	sides := binary.LittleEndian.AppendUint32([]byte{flagAlpha, 0, 0, 0}, uint32(size.X-1))[:7]
	sides = binary.LittleEndian.AppendUint32(sides, uint32(size.Y-1))[:10]
	file := []byte("RIFF....WEBP")
	file = appendChunk(file, "VP8X", sides)
	file = appendChunk(file, "ALPH", opacity)
	file = appendChunk(file, "VP8 ", colours)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}

func appendChunk(file []byte, name string, body []byte) []byte {
	file = binary.LittleEndian.AppendUint32(append(file, name...), uint32(len(body)))
	file = append(file, body...)
	if len(body)%2 == 1 {
		file = append(file, 0)
	}
	return file
}
