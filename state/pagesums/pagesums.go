// Package pagesums stores checksums of the pages of a state database in a file next to it, and
// compares them.
//
// SQLite stores none, so a flipped bit silently changes a value: an uploaded object gets another
// key and is uploaded again. The process that opens the database for writing compares the pages
// with their sums first, which takes a tenth of a second for a million objects. Pages in the
// write-ahead log have checksums of their own.
//
// A page sum is on the disk before a checkpoint writes its page into the database, and only the
// owner makes checkpoints. Until the checkpoint is complete, the page is in the log, where no sum
// is needed. So a kill or a power cut leaves no page that differs from its sum.
package pagesums

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"assetferry/state/disk"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	sumsHead  = "assetferry sums\n" // then the size of a page, and after that four bytes for each page
	sumsStart = int64(len(sumsHead) + 4)

	// sumsBlock is how many sums are written at once.
	sumsBlock = 1024
)

// pageSum returns the checksum of a page. It is never 0, which means unknown.
func pageSum(page []byte) uint32 { return max(1, crc32.Checksum(page, castagnoli)) }

// errNoSums means that there are no usable page checksums.
var errNoSums = errors.New("no page sums")

// openSums opens the page checksums of the state database at path, and returns the size of a page.
func openSums(path string, flag int) (f *os.File, pageSize int, err error) {
	f, err = os.OpenFile(path+disk.SumsSuffix, flag, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, errNoSums
	} else if err != nil {
		return nil, 0, err
	}
	head := make([]byte, sumsStart)
	if _, err := io.ReadFull(f, head); unlessEnd(err) != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	size := binary.LittleEndian.Uint32(head[len(sumsHead):])
	if string(head[:len(sumsHead)]) != sumsHead || size < 512 || size > 65536 || size&(size-1) != 0 {
		return nil, 0, errors.Join(disk.ErrBadSums, f.Close())
	}
	return f, int(size), nil
}

// Compare compares the pages of the state database at path with their checksums. It returns
// ErrDamaged if one differs. No process may write to the state database meanwhile.
func Compare(path string) error {
	wrong, first, err := wrongPages(path)
	switch {
	case errors.Is(err, errNoSums):
		return nil
	case errors.Is(err, disk.ErrBadSums):
		return &disk.Error{Kind: disk.ErrDamaged, Err: err}
	case err != nil:
		return err
	case wrong > 0:
		return &disk.Error{Kind: disk.ErrDamaged, Err: changedPages(wrong, first)}
	}
	return nil
}

// changedPages returns an error with the number of changed pages and the first of them.
func changedPages(wrong int, first uint32) error {
	if wrong == 1 {
		return fmt.Errorf("page %d was changed: %w", first, disk.ErrChangedPages)
	}
	return fmt.Errorf("%d pages were changed; the first is page %d: %w", wrong, first, disk.ErrChangedPages)
}

// OnlyFirstDiffers reports whether a file that does not seem to be a state database is one with a header
// that is damaged: all else is as it was written.
func OnlyFirstDiffers(path string) bool {
	wrong, first, err := wrongPages(path)
	return err == nil && wrong == 1 && first == 1
}

// wrongPages counts the pages that differ from their sums, or are not there, and reports
// the first.
func wrongPages(path string) (wrong int, first uint32, err error) {
	f, pageSize, err := openSums(path, os.O_RDONLY)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	stored, err := io.ReadAll(f)
	if err != nil {
		return 0, 0, err
	}
	logged, err := readWAL(path)
	if err != nil {
		return 0, 0, err
	}
	compare := func(number, sum uint32) {
		_, inLog := logged.sums[number]
		if want := sumAt(stored, number); inLog || want == 0 || want == sum {
			return
		}
		if wrong++; wrong == 1 {
			first = number
		}
	}
	last := uint32(0)
	err = eachPage(path, pageSize, func(number uint32, page []byte) {
		last = number
		compare(number, pageSum(page))
	})
	for number := last + 1; int(number) <= len(stored)/4; number++ {
		compare(number, 0) // is not there
	}
	return wrong, first, err
}

// sumAt returns the checksum of a page, 0 if it has none.
func sumAt(stored []byte, number uint32) uint32 {
	if at := 4 * (int(number) - 1); at+4 <= len(stored) {
		return binary.LittleEndian.Uint32(stored[at:])
	}
	return 0
}

// eachPage reads the pages of the database at path in order.
func eachPage(path string, pageSize int, do func(number uint32, page []byte)) error {
	db, err := os.Open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	chunk := make([]byte, max(1<<20, pageSize))
	for number := uint32(1); ; {
		n, err := io.ReadFull(db, chunk)
		for at := 0; at+pageSize <= n; at += pageSize {
			do(number, chunk[at:at+pageSize])
			number++
		}
		if err != nil {
			return unlessEnd(err)
		}
	}
}

// RecordOrDrop makes the page checksums correct after the last connection was closed, which moves
// the rest of the log. It deletes them if they cannot be written.
func RecordOrDrop(path string) error {
	if Record(path) == nil {
		return nil
	}
	return Drop(path)
}

// Record writes the sums of the pages in the write-ahead log, and returns when they
// have reached the disk.
func Record(path string) error {
	logged, err := readWAL(path)
	if err != nil || logged.size == 0 {
		return err
	}
	f, pageSize, err := openSums(path, os.O_RDWR)
	if err == nil && pageSize != logged.pageSize {
		err = errors.Join(disk.ErrBadSums, f.Close())
	}
	if errors.Is(err, errNoSums) || errors.Is(err, disk.ErrBadSums) {
		return makeSums(path, logged)
	} else if err != nil {
		return err
	}
	err = updateSums(f, logged)
	return errors.Join(err, f.Close())
}

// updateSums writes the sums of the pages in a log, in blocks. A block that is torn by a
// power cut has old sums of pages that are in the log.
func updateSums(f *os.File, logged walPages) error {
	blocks := map[int64][]uint32{}
	for number := range logged.sums {
		b := int64(number-1) / sumsBlock
		blocks[b] = append(blocks[b], number)
	}
	for b, numbers := range blocks {
		at := sumsStart + 4*b*sumsBlock
		block := make([]byte, 4*sumsBlock)
		n, err := f.ReadAt(block, at)
		if unlessEnd(err) != nil {
			return err
		}
		for _, number := range numbers {
			i := 4 * (int64(number-1) % sumsBlock)
			binary.LittleEndian.PutUint32(block[i:], logged.sums[number])
			n = max(n, int(i)+4)
		}
		if _, err := f.WriteAt(block[:n], at); err != nil {
			return err
		}
	}
	if err := f.Truncate(sumsStart + 4*int64(logged.size)); err != nil {
		return err
	}
	return f.Sync()
}

// makeSums creates the file of page checksums, for the pages in the database and those in its log.
func makeSums(path string, logged walPages) error {
	content := binary.LittleEndian.AppendUint32([]byte(sumsHead), uint32(logged.pageSize))
	sums := make([]byte, 4*logged.size)
	put := func(number, sum uint32) {
		if number >= 1 && number <= logged.size {
			binary.LittleEndian.PutUint32(sums[4*(number-1):], sum)
		}
	}
	err := eachPage(path, logged.pageSize, func(number uint32, page []byte) { put(number, pageSum(page)) })
	if err != nil {
		return err
	}
	for number, sum := range logged.sums {
		put(number, sum)
	}
	draft := path + disk.SumsSuffix + disk.DraftSuffix
	if err := os.WriteFile(draft, append(content, sums...), 0o600); err != nil {
		return err
	}
	return disk.Replace(draft, path+disk.SumsSuffix)
}

// Drop removes the page checksums if they do not belong to the state database at path.
func Drop(path string) error { return disk.Remove(path + disk.SumsSuffix) }
