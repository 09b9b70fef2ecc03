package keyindex

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"os"
	"sort"

	"assetferry/sources"
)

// maxAlike is the usual maximum number of records of a key that an index returns.
const maxAlike = 100

// An Index has all records in the order of keys. Its methods may be called from several goroutines at
// once, Close excepted.
type Index struct {
	memory []Record // of a small listing
	alike  int      // maximum number of records of a key that are returned

	file  *os.File
	end   int64
	marks []mark
}

// A mark is the offset of a record in the file.
type mark struct {
	key sources.Key
	at  int64
}

// from yields records in order, from a mark before the first key that is not less than key.
func (x *Index) from(key sources.Key) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if x.file == nil {
			first := sort.Search(len(x.memory), func(n int) bool { return x.memory[n].Key >= key })
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

// Groups yields the records of each key that is greater than after, at most [Sorter.Alike] per key.
func (x *Index) Groups(after sources.Key) iter.Seq2[[]Record, error] {
	return func(yield func([]Record, error) bool) {
		var group []Record
		for r, err := range x.from(after) {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case r.Key <= after:
				continue
			case len(group) > 0 && group[0].Key != r.Key:
				if !yield(group, nil) {
					return
				}
				group = nil
			}
			if len(group) < x.alike {
				group = append(group, r)
			}
		}
		if len(group) > 0 {
			yield(group, nil)
		}
	}
}

// Find returns the records of a key, at most [Sorter.Alike].
func (x *Index) Find(key sources.Key) (found []Record, err error) {
	for r, err := range x.from(key) {
		if err != nil {
			return nil, err
		}
		if r.Key > key {
			break
		}
		if r.Key == key && len(found) < x.alike {
			found = append(found, r)
		}
	}
	return found, nil
}

// Close deletes the temporary file of the index.
func (x *Index) Close() error { return discard(x.file) }
