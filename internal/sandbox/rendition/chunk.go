package rendition

import (
	"encoding/binary"
	"io"
	"iter"
)

// A chunk is a named part of a file; next is where the one after it begins.
type chunk struct {
	name               string
	body, length, next int64
}

// maxChunks is how many chunks are looked at: real files have a handful, or some
// hundreds of pixels in pieces.
const maxChunks = 4096

// chunks walks through a file whose chunks have heads that read understands.
func chunks(r io.ReaderAt, size, at int64, read func(head []byte, at int64) chunk) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		for range maxChunks {
			head, ok := readAt(r, at, 8)
			if !ok || at >= size {
				return
			}
			c := read(head, at)
			if !yield(c) {
				return
			}
			at = c.next
		}
	}
}

func pngChunk(head []byte, at int64) chunk {
	length := int64(binary.BigEndian.Uint32(head))
	return chunk{name: string(head[4:]), body: at + 8, length: length, next: at + 8 + length + 4} // a checksum follows
}

func riffChunk(head []byte, at int64) chunk {
	length := int64(binary.LittleEndian.Uint32(head[4:]))
	return chunk{name: string(head[:4]), body: at + 8, length: length, next: at + 8 + length + length%2} // padded
}

// readAt reads n bytes, and says whether they are all there. What is not is zero.
func readAt(r io.ReaderAt, at int64, n int) ([]byte, bool) {
	b := make([]byte, n)
	got, _ := r.ReadAt(b, at)
	return b, got == n
}
