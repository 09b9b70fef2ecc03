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

	"golang.org/x/sync/semaphore"
)

// Budget is how many bytes images may take at once, in the whole process, while they are
// decoded. One that takes more is not decoded.
const Budget = 192 << 20

// ErrTooLarge says that an image takes more memory than the budget.
var ErrTooLarge = errors.New("it takes too much memory")

// shared is the budget. The memory of a process is one, so this is, too.
var shared = semaphore.NewWeighted(Budget)

// much is how many bytes are worth asking the collector for: else what one image leaves
// behind adds to what the next one takes.
const much = 16 << 20

// Hold waits until an image may take so many bytes, and holds them until release.
func Hold(ctx context.Context, cost int64) (release func(), err error) {
	if cost > Budget {
		return nil, fmt.Errorf("%w: %d MB to decode, and no more than %d MB are used for all images", ErrTooLarge, cost>>20, int64(Budget)>>20)
	}
	if err := shared.Acquire(ctx, cost); err != nil {
		return nil, err
	}
	return func() {
		if cost >= much {
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
	if int64(width) > Budget || int64(height) > Budget {
		return Budget + 1
	}
	area := int64(width) * int64(height)
	if area > Budget {
		return Budget + 1
	}
	return fixed + area*(perPixel+shrinking)
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
	}
	return 8 + 16 // TIFF: 16 bits a channel, and all in one strip, whose buffer doubles
}

// ofPNG goes by the depth and the type of colour. What is interlaced is there twice.
func ofPNG(head []byte) int64 {
	const depthAt, typeAt, interlaceAt = 24, 25, 28
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
			return ofFrame(marker == 0xc2, head[9:])
		}
		at += 2 + int64(binary.BigEndian.Uint16(head[2:]))
	}
	return most
}

// ofFrame goes by the number of components and how much larger the first is than the others.
func ofFrame(progressive bool, components []byte) int64 {
	count := int64(components[0])
	perPixel := count
	if count == 3 && components[2] != 0x11 && components[5] == 0x11 && components[8] == 0x11 {
		perPixel = 2 // the colours are there for two or four pixels
	}
	if progressive {
		perPixel *= 5
	}
	if count == 4 {
		perPixel += 4 + 4 // made into another model
	}
	return perPixel
}
