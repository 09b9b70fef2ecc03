// Package pixels keeps the memory of decoded images within a budget. A file of some kilobytes
// can ask for gigabytes: its header says how many pixels there are and how deep, and decoders
// take memory for them before they see that there is nothing behind it. So what decoding takes
// is estimated from the header, and all decoders of the process share one budget.
package pixels

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// MemoryLimit is how many bytes images may take at once, in the whole process, while they are
// decoded. One that takes more is not decoded.
const MemoryLimit = 192 << 20

// ErrTooLarge says that an image takes more memory than the limit.
var ErrTooLarge = errors.New("it takes too much memory")

// shared enforces the limit for the whole process.
var shared = semaphore.NewWeighted(MemoryLimit)

// much is how many bytes are worth asking the collector for: else what images leave behind
// adds to what the next ones take.
const much = 16 << 20

// left is how many bytes images have left behind since the collector was last asked.
var left atomic.Int64

// Hold waits until an image may take so many bytes, and holds them until release.
func Hold(ctx context.Context, cost int64) (release func(), err error) {
	if cost > MemoryLimit {
		return nil, fmt.Errorf("%w: %d MB to decode, and no more than %d MB are used for all images", ErrTooLarge, cost>>20, int64(MemoryLimit)>>20)
	}
	if err := shared.Acquire(ctx, cost); err != nil {
		return nil, err
	}
	return func() {
		if left.Add(cost) >= much {
			left.Store(0)
			debug.FreeOSMemory()
		}
		shared.Release(cost)
	}, nil
}

// Cost estimates how many bytes it takes to decode an image of a size and to make it smaller,
// from the beginning of its file. Where the header leaves it open, the estimate is high.
func Cost(file io.ReaderAt, fileSize int64, width, height int) int64 {
	const fixed, shrinking = 1 << 20, 2 // bytes; bytes for each pixel
	perPixel := bytesPerPixel(file, fileSize)
	if int64(width) > MemoryLimit || int64(height) > MemoryLimit {
		return MemoryLimit + 1
	}
	area := int64(width) * int64(height)
	if area > MemoryLimit {
		return MemoryLimit + 1
	}
	cost := fixed + area*(perPixel+shrinking)
	if isTIFF(file) {
		cost += ofTIFF(int64(width), int64(height))
	}
	return cost
}

// bytesPerPixel is what the decoder of a format takes for a pixel at most.
func bytesPerPixel(file io.ReaderAt, fileSize int64) int64 {
	head := make([]byte, 32)
	n, _ := file.ReadAt(head, 0) // what is missing is zero
	switch {
	case bytes.HasPrefix(head[:n], []byte("\xff\xd8")):
		return ofJPEG(file, fileSize)
	case bytes.HasPrefix(head[:n], []byte("\x89PNG")):
		return ofPNG(head)
	case bytes.HasPrefix(head[:n], []byte("GIF8")):
		return 1 + 4 // the frame has a palette; a canvas around it has none
	case bytes.HasPrefix(head[:n], []byte("RIFF")):
		return ofWebP(head)
	case bytes.HasPrefix(head[:n], []byte("BM")):
		return 4
	case isTIFF(file):
		return 8 // 16 bits a channel
	}
	return 8 + 16
}

// ofTIFF is what the decoder takes beside the image: a strip or tile as it is when it is not
// compressed, in a buffer that doubles and leaves those behind that became too small. A tile may
// reach 16 pixels beyond the image, or have a million.
func ofTIFF(width, height int64) (buffers int64) {
	const perPixel, padding, tile, first = 8, 16, 1 << 20, 512 // bytes; pixels; pixels; bytes
	data := perPixel * max(tile, (width+padding)*(height+padding))
	for size := int64(first); ; size *= 2 {
		buffers += size
		if size >= data+first { // it is full only when there is no room for more
			return buffers
		}
	}
}

func isTIFF(file io.ReaderAt) bool {
	head := make([]byte, 4)
	n, _ := file.ReadAt(head, 0)
	return bytes.HasPrefix(head[:n], []byte("II*\x00")) || bytes.HasPrefix(head[:n], []byte("MM\x00*"))
}

// ofPNG goes by the depth and the type of colour. What is interlaced is there twice. The
// decoder passes over chunks before the header, so the place alone does not make it one.
func ofPNG(head []byte) int64 {
	const nameAt, depthAt, typeAt, interlaceAt = 12, 24, 25, 28
	const most = 2 * 8
	if string(head[nameAt:nameAt+4]) != "IHDR" {
		return most
	}
	perPixel := int64(4)
	switch depth, colour := head[depthAt], head[typeAt]; {
	case depth == 16:
		perPixel = 8
	case colour == 3:
		perPixel = 1
	}
	if head[interlaceAt] != 0 {
		perPixel *= 2
	}
	return perPixel
}

// ofWebP goes by the first chunk: the lossy kind keeps colours for four pixels each.
func ofWebP(head []byte) int64 {
	const chunkAt, flagsAt, animated = 12, 20, 0x02
	switch {
	case string(head[chunkAt:chunkAt+4]) == "VP8 ":
		return 2
	case string(head[chunkAt:chunkAt+4]) == "VP8X" && head[flagsAt]&animated != 0:
		return 16 // a canvas, the frame, and what it is decoded from
	}
	return 12 // without loss: pixels, and the tables that they refer to
}

// maxSegments is how many segments before the size of a JPEG are looked at.
const maxSegments = 4096

// ofJPEG goes by the frame header: a progressive one keeps four bytes for each coefficient.
func ofJPEG(file io.ReaderAt, fileSize int64) int64 {
	const most = 4 + 4 + 4*4
	at := int64(2)
	for range maxSegments {
		head := make([]byte, 24)
		if n, _ := file.ReadAt(head, at); n < 10 || at >= fileSize {
			return most
		}
		if head[0] != 0xff {
			return most
		}
		marker := head[1]
		switch {
		case marker == 0xff: // filling
			at++
			continue
		case marker >= 0xc0 && marker <= 0xc2:
			return ofFrame(marker == 0xc2, head[9:], isRGB(file, fileSize, head[9:]))
		case !hasLength(marker): // the decoder may go on where we would not
			return most
		}
		at += 2 + int64(binary.BigEndian.Uint16(head[2:]))
	}
	return most
}

// hasLength reports whether a segment of this kind has its length behind the marker, and says
// nothing of the pixels: tables, what applications keep, and comments.
func hasLength(marker byte) bool {
	return marker == 0xc4 || marker == 0xdb || marker == 0xdd || marker == 0xfe || marker >= 0xe0 && marker <= 0xef
}

// ofFrame goes by the number of components and how much larger the first is than the others.
func ofFrame(progressive bool, components []byte, rgb bool) int64 {
	count := int64(components[0])
	perPixel := count
	if count == 3 && components[2] != 0x11 && components[5] == 0x11 && components[8] == 0x11 {
		perPixel = 2 // the colours are there for two or four pixels
	}
	if progressive {
		perPixel *= 5
	}
	switch {
	case count == 4:
		perPixel += 4 + 4 // made into another model
	case count == 3 && rgb:
		perPixel += 4
	}
	return perPixel
}

// isRGB reports whether the decoder may find that the components are red, green and blue, which
// it makes into another model: by their names, or by a segment of Adobe, wherever in the file.
func isRGB(file io.ReaderAt, fileSize int64, components []byte) bool {
	if components[1] == 'R' && components[4] == 'G' && components[7] == 'B' {
		return true
	}
	const segment, transformAt = 16, 15 // bytes, with the marker
	piece := make([]byte, 64<<10)
	for at := int64(0); at < fileSize; at += int64(len(piece) - segment + 1) {
		n, _ := file.ReadAt(piece, at)
		for rest := piece[:n]; ; {
			i := bytes.Index(rest, []byte("\xff\xee"))
			if i < 0 || len(rest)-i < segment {
				break
			}
			if rest = rest[i:]; string(rest[4:9]) == "Adobe" && rest[transformAt] == 0 {
				return true
			}
			rest = rest[2:]
		}
	}
	return false
}
