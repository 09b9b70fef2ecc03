package keyindex

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"

	"assetferry/sources"
)

// A writer writes records; flush returns the first error.
type writer struct {
	to      *bufio.Writer
	written int64
	buffer  []byte
}

func newWriter(w io.Writer) *writer { return &writer{to: bufio.NewWriterSize(w, 64<<10)} }

func (w *writer) write(r Record) {
	w.buffer = binary.AppendUvarint(w.buffer[:0], uint64(len(r.Key)))
	w.buffer = binary.AppendUvarint(w.buffer, uint64(len(r.Data)))
	w.buffer = append(append(w.buffer, r.Key...), r.Data...)
	n, _ := w.to.Write(w.buffer) // flush returns the error
	w.written += int64(n)
}

func (w *writer) flush() error { return w.to.Flush() }

func readRecord(from *bufio.Reader) (Record, error) {
	key, err := binary.ReadUvarint(from)
	if err != nil {
		return Record{}, err
	}
	data, err := binary.ReadUvarint(from)
	both := make([]byte, key+data)
	if err == nil {
		_, err = io.ReadFull(from, both)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	text := string(both)
	return Record{sources.Key(text[:key]), text[key:]}, err
}
