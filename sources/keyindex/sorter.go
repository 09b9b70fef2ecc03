// Package keyindex sorts the records of a listing by key in bounded memory. Adapters use it for
// sources whose listings are not in the order of keys.
//
// A [Sorter] collects records in any order. A few stay in memory; many are sorted in pieces, in a
// temporary file (TMPDIR). Its [Index] reads them in order, or finds those of a key.
package keyindex

import (
	"bufio"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"assetferry/sources"
)

// A Record is what a source knows about a key. Several records may have the same key.
type Record struct {
	Key  sources.Key
	Data string // in the form of the adapter
}

func compare(a, b Record) int { return strings.Compare(string(a.Key), string(b.Key)) }

const (
	// maxPending is the maximum size in bytes of records that are sorted in memory. A smaller
	// listing needs no file.
	maxPending = 8 << 20
	// recordCost is the memory of a record without its texts, in bytes.
	recordCost = 40
	// markEvery is the number of records between two marks.
	markEvery = 256
)

// A Sorter sorts records: it sorts pieces in memory, writes them to a file, and merges them at the
// end. The zero value is ready for use.
type Sorter struct {
	// Order compares the data of records with the same key; nil: they stay in the order in which they
	// were added.
	Order func(a, b string) int
	// Alike is the maximum number of records of a key that the index returns; 0: 100.
	Alike int

	pending []Record
	bytes   int
	file    *os.File // of sorted pieces
	ends    []int64  // offsets of the ends of the pieces
	most    int      // instead of maxPending, for tests
}

// compare returns the order of records.
func (s *Sorter) compare() func(a, b Record) int {
	if s.Order == nil {
		return compare
	}
	order := s.Order
	return func(a, b Record) int {
		if c := compare(a, b); c != 0 {
			return c
		}
		return order(a.Data, b.Data)
	}
}

// Add adds a record.
func (s *Sorter) Add(r Record) error {
	s.pending = append(s.pending, r)
	s.bytes += len(r.Key) + len(r.Data) + recordCost
	if s.bytes < cmp.Or(s.most, maxPending) {
		return nil
	}
	return s.spill()
}

// spill writes the pending records.
func (s *Sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = temporary(); err != nil {
			return err
		}
	}
	slices.SortStableFunc(s.pending, s.compare())
	w := newWriter(s.file)
	for _, r := range s.pending {
		w.write(r)
	}
	begin := int64(0)
	if len(s.ends) > 0 {
		begin = s.ends[len(s.ends)-1]
	}
	s.ends = append(s.ends, begin+w.written)
	clear(s.pending) // their texts
	s.pending, s.bytes = s.pending[:0], 0
	return w.flush()
}

// temporary creates a file that is deleted when it is closed, or, if the system supports it, when the
// process ends.
func temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "assetferry-keys-*")
	if err != nil {
		return nil, fmt.Errorf("create a temporary file to sort the listing: %w", err)
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

// Discard deletes the temporary file of the sorter. Its index stays.
func (s *Sorter) Discard() error {
	err := discard(s.file)
	*s = Sorter{Order: s.Order, Alike: s.Alike, most: s.most}
	return err
}

// Index returns all records in order. The sorter can only be discarded after it.
func (s *Sorter) Index() (*Index, error) {
	if s.file == nil {
		slices.SortStableFunc(s.pending, s.compare())
		return &Index{memory: slices.Clip(s.pending), alike: cmp.Or(s.Alike, maxAlike)}, nil
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
	x := &Index{file: f, alike: cmp.Or(s.Alike, maxAlike)}
	if err := s.merge(x); err != nil {
		return nil, errors.Join(fmt.Errorf("sort the listing: %w", err), x.Close())
	}
	return x, nil
}

// merge writes the pieces into an index.
func (s *Sorter) merge(x *Index) error {
	all := pieces{compare: s.compare()}
	begin := int64(0)
	for n, end := range s.ends {
		p := &piece{number: n, from: bufio.NewReader(io.NewSectionReader(s.file, begin, end-begin))}
		begin = end
		if err := p.next(); err == nil {
			all.list = append(all.list, p)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
	}
	heap.Init(&all)
	w := newWriter(x.file)
	for n := 0; len(all.list) > 0; n++ {
		if n%markEvery == 0 {
			x.marks = append(x.marks, mark{all.list[0].record.Key, w.written})
		}
		w.write(all.list[0].record)
		switch err := all.list[0].next(); {
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
	number int
	from   *bufio.Reader
	record Record
}

func (p *piece) next() (err error) {
	p.record, err = readRecord(p.from)
	return err
}

// pieces are a heap by their next records.
type pieces struct {
	list    []*piece
	compare func(a, b Record) int
}

func (p *pieces) Len() int { return len(p.list) }
func (p *pieces) Less(i, j int) bool {
	a, b := p.list[i], p.list[j]
	return cmp.Or(p.compare(a.record, b.record), cmp.Compare(a.number, b.number)) < 0
}
func (p *pieces) Swap(i, j int) { p.list[i], p.list[j] = p.list[j], p.list[i] }
func (p *pieces) Push(x any)    { p.list = append(p.list, x.(*piece)) }
func (p *pieces) Pop() any {
	last := p.list[len(p.list)-1]
	p.list = p.list[:len(p.list)-1]
	return last
}
