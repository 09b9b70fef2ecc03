package pagesums

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"

	"assetferry/state/disk"
)

// A walPages contains the checksum of the latest committed content of each page in a write-ahead
// log. The format is described at sqlite.org.
type walPages struct {
	pageSize int
	sums     map[uint32]uint32 // by number of page
	size     uint32            // of the database in pages, after the last commit; 0 without one
}

const (
	walHeaderLength   = 32
	frameHeaderLength = 24
)

// A walSum is the running checksum of a write-ahead log.
type walSum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (w *walSum) add(b []byte) {
	s0, s1 := w.s0, w.s1
	if w.order == binary.LittleEndian { // a dynamic call for each word would take most of the time
		for ; len(b) >= 8; b = b[8:] {
			s0 += binary.LittleEndian.Uint32(b) + s1
			s1 += binary.LittleEndian.Uint32(b[4:]) + s0
		}
	} else {
		for ; len(b) >= 8; b = b[8:] {
			s0 += binary.BigEndian.Uint32(b) + s1
			s1 += binary.BigEndian.Uint32(b[4:]) + s0
		}
	}
	w.s0, w.s1 = s0, s1
}

// is reports whether the sum is the one that is stored.
func (w *walSum) is(stored []byte) bool {
	return w.s0 == binary.BigEndian.Uint32(stored) && w.s1 == binary.BigEndian.Uint32(stored[4:])
}

// readWAL reads the write-ahead log of the state database at path as SQLite does when it
// recovers: up to the last commit before the first frame that does not fit.
func readWAL(path string) (walPages, error) {
	none := walPages{sums: map[uint32]uint32{}}
	f, err := os.Open(path + disk.WALSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	} else if err != nil {
		return none, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	head := make([]byte, walHeaderLength)
	if _, err := io.ReadFull(r, head); err != nil {
		return none, unlessEnd(err)
	}
	sum, ok := walStart(head)
	if !ok {
		return none, nil
	}
	return readFrames(r, head, sum)
}

// walStart checks the header of a write-ahead log and returns the checksum after it.
func walStart(head []byte) (walSum, bool) {
	sum := walSum{order: binary.LittleEndian}
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
	case 0x377f0683:
		sum.order = binary.BigEndian
	default:
		return sum, false
	}
	sum.add(head[:24])
	size := binary.BigEndian.Uint32(head[8:])
	return sum, sum.is(head[24:]) && size >= 512 && size <= 65536 && size&(size-1) == 0
}

func readFrames(r io.Reader, head []byte, sum walSum) (walPages, error) {
	w := walPages{pageSize: int(binary.BigEndian.Uint32(head[8:])), sums: map[uint32]uint32{}}
	frame := make([]byte, frameHeaderLength+w.pageSize)
	open := map[uint32]uint32{} // of the transaction that is being read
	for {
		if _, err := io.ReadFull(r, frame); err != nil {
			return w, unlessEnd(err)
		}
		page := frame[frameHeaderLength:]
		sum.add(frame[:8])
		sum.add(page)
		number := binary.BigEndian.Uint32(frame)
		if number == 0 || string(frame[8:16]) != string(head[16:24]) || !sum.is(frame[16:]) {
			return w, nil
		}
		open[number] = pageSum(page)
		if size := binary.BigEndian.Uint32(frame[4:]); size > 0 { // a commit
			for number, s := range open {
				w.sums[number] = s
			}
			clear(open)
			w.size = size
		}
	}
}

// unlessEnd is an error that is not the end of a file.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
