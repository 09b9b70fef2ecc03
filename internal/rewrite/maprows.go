package rewrite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// mapRows are the rows of a map in a temporary file, in order.
type mapRows struct {
	file  *os.File
	to    *bufio.Writer
	size  int64
	count int
	one   []byte // buffer for a row
}

// A mapRow is a row with its hashes.
type mapRow struct {
	entry
	asset    uint64 // hash of the asset
	old, new []byte // valid until the next row
}

// rowHead is the size in bytes of the hashes.
const rowHead = 8 + 4 + 4 + 8

func newMapRows() (*mapRows, error) {
	f, err := os.CreateTemp("", "assetferry-map-*")
	if err != nil {
		return nil, fmt.Errorf("create temporary map: %w", err)
	}
	_ = os.Remove(f.Name()) // now, so that it is deleted with the process; some systems need it closed first
	return &mapRows{file: f, to: bufio.NewWriterSize(f, 64<<10)}, nil
}

// Close deletes the temporary file.
func (m *mapRows) Close() error {
	err := m.file.Close()
	if rerr := os.Remove(m.file.Name()); !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}

// add adds a row. Call flush after the last one.
func (m *mapRows) add(e entry, asset uint64, r Row) error {
	b := binary.LittleEndian.AppendUint64(m.one[:0], e.hash)
	b = binary.LittleEndian.AppendUint32(b, e.check)
	b = binary.LittleEndian.AppendUint32(b, e.place)
	b = binary.LittleEndian.AppendUint64(b, asset)
	m.one = appendText(appendText(b, r.Old), r.New)
	m.size, m.count = m.size+int64(len(m.one)), m.count+1
	if _, err := m.to.Write(m.one); err != nil {
		return fmt.Errorf("write temporary map: %w", err)
	}
	return nil
}

func (m *mapRows) flush() error {
	err := m.to.Flush()
	if m.to, m.one = nil, nil; err != nil {
		return fmt.Errorf("write temporary map: %w", err)
	}
	return nil
}

// all yields the rows in order.
func (m *mapRows) all(yield func(mapRow, error) bool) {
	piece := make([]byte, 64<<10)
	for at := int64(0); at < m.size; {
		n, err := m.file.ReadAt(piece, at)
		if err != nil && !errors.Is(err, io.EOF) {
			yield(mapRow{}, fmt.Errorf("read temporary map: %w", err))
			return
		}
		rest := piece[:n]
		for {
			row, size := parseRow(rest)
			if size == 0 {
				break
			}
			if !yield(row, nil) {
				return
			}
			rest = rest[size:]
		}
		if len(rest) == n { // the row is longer than the buffer
			piece = make([]byte, 2*len(piece))
		}
		at += int64(n - len(rest))
	}
}

// parseRow parses the row at the beginning of some bytes. The size is 0 if the row is incomplete.
func parseRow(b []byte) (row mapRow, size int) {
	if len(b) < rowHead {
		return row, 0
	}
	row.hash, row.check = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	row.place, row.asset = binary.LittleEndian.Uint32(b[12:]), binary.LittleEndian.Uint64(b[16:])
	rest, ok := b[rowHead:], false
	if row.old, rest, ok = cutText(rest); !ok {
		return row, 0
	}
	if row.new, rest, ok = cutText(rest); !ok {
		return row, 0
	}
	return row, len(b) - len(rest)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutText reverses appendText. It is not ok if the text is incomplete.
func cutText(b []byte) (text, rest []byte, ok bool) {
	n, head := binary.Uvarint(b)
	if head <= 0 || uint64(len(b)-head) < n {
		return nil, b, false
	}
	return b[head : head+int(n)], b[head+int(n):], true
}
