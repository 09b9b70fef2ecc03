package rendition

import (
	"encoding/binary"
	"io"
	"iter"
)

// A chunk is a named part of a file; next is the position of the following chunk.
type chunk struct {
	name               string
	body, length, next int64
}

// maxChunks limits the chunks that are read. Real files have a few, or some hundreds with pixel
// data.
const maxChunks = 4096

// chunks reads a file with chunks whose headers read understands.
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
	return chunk{name: string(head[:4]), body: at + 8, length: length, next: at + 8 + length + length%2} // with padding
}

// readAt reads n bytes and reports whether all exist. Missing bytes are zero.
func readAt(r io.ReaderAt, at int64, n int) ([]byte, bool) {
	b := make([]byte, n)
	got, _ := r.ReadAt(b, at)
	return b, got == n
}
