// Package pixels limits the memory of decoded images. A file of a few kilobytes can claim gigabytes:
// decoders allocate memory for the number and depth of pixels in the header before they read any
// pixel. So this package estimates the memory from the header, and all decoders of the process share
// one limit.
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

// MemoryLimit is the number of bytes that all images of the process may use at once during decoding. An
// image that needs more is not decoded.
const MemoryLimit = 192 << 20

// ErrTooLarge means that an image needs more memory than the limit.
var ErrTooLarge = errors.New("it takes too much memory")

// shared is the limit of the process. It is global, because all decoders share the same memory.
var shared = semaphore.NewWeighted(MemoryLimit)

// much is the number of released bytes that starts a garbage collection. Otherwise the memory of
// earlier images adds to that of the next ones.
const much = 16 << 20

// left is the number of bytes that images released since the last garbage collection.
var left atomic.Int64

// Hold waits until an image may use this many bytes, and reserves them until release is called.
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

// Cost returns an estimate of the bytes needed to decode and shrink an image of a size. It reads
// only the beginning of the file. If the header is ambiguous, the estimate is high.
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

// bytesPerPixel returns the maximum number of bytes that the decoder of a format uses for a pixel.
func bytesPerPixel(file io.ReaderAt, fileSize int64) int64 {
	head := make([]byte, 32)
	n, _ := file.ReadAt(head, 0) // missing bytes are zero
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

// ofTIFF returns the bytes that the decoder uses in addition to the image: an uncompressed strip or
// tile, in a buffer that doubles its size and releases the smaller buffers. A tile may extend 16
// pixels beyond the image, or have a million pixels.
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

// ofPNG uses the depth and the colour type. An interlaced image needs twice the memory. The decoder
// skips chunks before the header, so the header may be anywhere.
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

// ofWebP uses the first chunk: the lossy format stores one colour for four pixels.
func ofWebP(head []byte) int64 {
	const chunkAt, flagsAt, animated = 12, 20, 0x02
	switch {
	case string(head[chunkAt:chunkAt+4]) == "VP8 ":
		return 2
	case string(head[chunkAt:chunkAt+4]) == "VP8X" && head[flagsAt]&animated != 0:
		return 16 // the canvas, the frame, and the decoder's input
	}
	return 12 // without loss: pixels, and the tables that they refer to
}

// maxSegments is the maximum number of segments to read before the size of a JPEG.
const maxSegments = 4096

// ofJPEG uses the frame header: a progressive image needs four bytes for each coefficient.
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
		case !hasLength(marker): // the decoder may continue here
			return most
		}
		at += 2 + int64(binary.BigEndian.Uint16(head[2:]))
	}
	return most
}

// hasLength reports whether a segment has a length after the marker and no data about the pixels:
// tables, application data and comments.
func hasLength(marker byte) bool {
	return marker == 0xc4 || marker == 0xdb || marker == 0xdd || marker == 0xfe || marker >= 0xe0 && marker <= 0xef
}

// ofFrame uses the number of components and the sampling of the first one relative to the others.
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
		perPixel += 4 + 4 // converted to another colour model
	case count == 3 && rgb:
		perPixel += 4
	}
	return perPixel
}

// isRGB reports whether the decoder may treat the components as red, green and blue, which it
// converts to another colour model. It depends on the component names, or on an Adobe segment
// anywhere in the file.
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
