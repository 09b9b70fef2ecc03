package table

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"sort"
	"strings"
)

// A record has the offset of the row of a key.
type record struct {
	key  string
	at   int64
	line int
}

func compare(a, b record) int { return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) }

const (
	// maxPending is the maximum size in bytes of records that are sorted in memory. A smaller
	// table needs no file.
	maxPending = 8 << 20
	// recordCost is the memory of a record without its key, in bytes.
	recordCost = 40
	// markEvery is the number of records between two marks.
	markEvery = 256
	// maxAlike is the maximum number of rows of a key that are compared.
	maxAlike = 100
)

// A sorter sorts records: it sorts pieces in memory, writes them to a file, and merges them at the
// end.
type sorter struct {
	pending []record
	bytes   int
	file    *os.File // of sorted pieces
	ends    []int64  // offsets of the ends of the pieces
	most    int      // instead of maxPending, for tests
}

func (s *sorter) add(r record) error {
	s.pending = append(s.pending, r)
	s.bytes += len(r.key) + recordCost
	if s.bytes < cmp.Or(s.most, maxPending) {
		return nil
	}
	return s.spill()
}

// spill writes the pending records.
func (s *sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = temporary(); err != nil {
			return err
		}
	}
	slices.SortFunc(s.pending, compare)
	w := newWriter(s.file)
	for _, r := range s.pending {
		w.write(r)
	}
	begin := int64(0)
	if len(s.ends) > 0 {
		begin = s.ends[len(s.ends)-1]
	}
	s.ends = append(s.ends, begin+w.written)
	s.pending, s.bytes = s.pending[:0], 0
	return w.flush()
}

// temporary creates a file that is deleted when it is closed, or, if the system supports it, when the
// process ends.
func temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "assetferry-table-*")
	if err != nil {
		return nil, fmt.Errorf("create a temporary file to sort the table: %w", err)
	}
	_ = os.Remove(f.Name()) // discard deletes it on Windows
	return f, nil
}

func discard(f *os.File) error {
	if f == nil {
		return nil
	}
	err := f.Close()
	_ = os.Remove(f.Name()) // already deleted on most systems
	return err
}

func (s *sorter) discard() error { return discard(s.file) }

// index returns all records in order.
func (s *sorter) index() (*index, error) {
	if s.file == nil {
		slices.SortFunc(s.pending, compare)
		return &index{memory: slices.Clip(s.pending)}, nil
	}
	if len(s.pending) > 0 {
		if err := s.spill(); err != nil {
			return nil, err
		}
	}
	s.pending = nil
	f, err := temporary()
	if err != nil {
		return nil, err
	}
	x := &index{file: f}
	if err := s.merge(x); err != nil {
		return nil, errors.Join(fmt.Errorf("sort the table: %w", err), x.close())
	}
	return x, nil
}

// merge writes the pieces into an index.
func (s *sorter) merge(x *index) error {
	var all pieces
	begin := int64(0)
	for _, end := range s.ends {
		p := &piece{from: bufio.NewReader(io.NewSectionReader(s.file, begin, end-begin))}
		begin = end
		if err := p.next(); err == nil {
			all = append(all, p)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
	}
	heap.Init(&all)
	w := newWriter(x.file)
	for n := 0; len(all) > 0; n++ {
		if n%markEvery == 0 {
			x.marks = append(x.marks, mark{all[0].record.key, w.written})
		}
		w.write(all[0].record)
		switch err := all[0].next(); {
		case err == nil:
			heap.Fix(&all, 0)
		case errors.Is(err, io.EOF):
			heap.Pop(&all)
		default:
			return err
		}
	}
	x.end = w.written
	return w.flush()
}

// A piece is read record by record.
type piece struct {
	from   *bufio.Reader
	record record
}

func (p *piece) next() (err error) {
	p.record, err = readRecord(p.from)
	return err
}

type pieces []*piece

func (p pieces) Len() int           { return len(p) }
func (p pieces) Less(i, j int) bool { return compare(p[i].record, p[j].record) < 0 }
func (p pieces) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *pieces) Push(x any)        { *p = append(*p, x.(*piece)) }
func (p *pieces) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// A writer writes records; flush returns the first error.
type writer struct {
	to      *bufio.Writer
	written int64
	buffer  []byte
}

func newWriter(w io.Writer) *writer { return &writer{to: bufio.NewWriterSize(w, 64<<10)} }

func (w *writer) write(r record) {
	w.buffer = binary.AppendUvarint(w.buffer[:0], uint64(len(r.key)))
	w.buffer = append(w.buffer, r.key...)
	w.buffer = binary.AppendUvarint(w.buffer, uint64(r.at))
	w.buffer = binary.AppendUvarint(w.buffer, uint64(r.line))
	n, _ := w.to.Write(w.buffer) // flush returns the error
	w.written += int64(n)
}

func (w *writer) flush() error { return w.to.Flush() }

func readRecord(from *bufio.Reader) (record, error) {
	length, err := binary.ReadUvarint(from)
	if err != nil {
		return record{}, err
	}
	key := make([]byte, length)
	_, err = io.ReadFull(from, key)
	var at, line uint64
	if err == nil {
		at, err = binary.ReadUvarint(from)
	}
	if err == nil {
		line, err = binary.ReadUvarint(from)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return record{string(key), int64(at), int(line)}, err
}

// An index has the records of all rows in the order of keys.
type index struct {
	memory []record // of a small table

	file  *os.File
	end   int64
	marks []mark
}

// A mark is the offset of a record in the file.
type mark struct {
	key string
	at  int64
}

// from yields records in order, from a mark before the first key that is not less than key.
func (x *index) from(key string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		if x.file == nil {
			first := sort.Search(len(x.memory), func(n int) bool { return x.memory[n].key >= key })
			for _, r := range x.memory[first:] {
				if !yield(r, nil) {
					return
				}
			}
			return
		}
		at := int64(0)
		if n := sort.Search(len(x.marks), func(n int) bool { return x.marks[n].key >= key }); n > 0 {
			at = x.marks[n-1].at
		}
		for from := bufio.NewReaderSize(io.NewSectionReader(x.file, at, x.end-at), 16<<10); ; {
			r, err := readRecord(from)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// groups yields the records of each key that is greater than after.
func (x *index) groups(after string) iter.Seq2[[]record, error] {
	return func(yield func([]record, error) bool) {
		var group []record
		for r, err := range x.from(after) {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case r.key <= after:
				continue
			case len(group) > 0 && group[0].key != r.key:
				if !yield(group, nil) {
					return
				}
				group = nil
			}
			if len(group) < maxAlike {
				group = append(group, r)
			}
		}
		if len(group) > 0 {
			yield(group, nil)
		}
	}
}

// find returns the records of a key.
func (x *index) find(key string) (found []record, err error) {
	for r, err := range x.from(key) {
		if err != nil {
			return nil, err
		}
		if r.key > key {
			break
		}
		if r.key == key && len(found) < maxAlike {
			found = append(found, r)
		}
	}
	return found, nil
}

func (x *index) close() error { return discard(x.file) }
