package certificate

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"

	"golang.org/x/mod/sumdb/tlog"
)

// isCanonical reports whether a text is the only base64 of some bytes; nil: of those that it decodes
// to.
func isCanonical(encoded string, of []byte) bool {
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	return err == nil && base64.StdEncoding.EncodeToString(decoded) == encoded && (of == nil || bytes.Equal(of, decoded))
}

const (
	inclusionKind = "assetferry-inclusion"
	// MaxInclusion is the maximum size of an inclusion file.
	MaxInclusion = 1 << 20
)

// An Inclusion shows that a record is in the list of a certificate: with the path from the record to
// the root of the Merkle tree, the root can be calculated without the other records.
type Inclusion struct {
	Type    string          `json:"type"`
	Version int             `json:"version"`
	Number  int64           `json:"number"` // of the record, from 0
	Assets  int64           `json:"assets"`
	Root    string          `json:"merkle_root_sha256"`
	Record  json.RawMessage `json:"record"`
	Path    []string        `json:"path_sha256"` // the sibling of each node, from the record to the root
}

// ErrNotListed reports a key that is not in a list.
var ErrNotListed = errors.New("the certificate covers no object with this key")

// Include returns the inclusion of the object with a key in the list of a certificate. It reads
// only a small part of the list.
func Include(list io.ReaderAt, size int64, of Assets, key string) (i Inclusion, err error) {
	l, err := openList(list, size, of)
	if err != nil {
		return i, err
	}
	number, line, err := l.find(key)
	if err != nil {
		return i, err
	}
	path, err := tlog.ProveRecord(of.Objects, number, l)
	if err != nil {
		return i, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	i = Inclusion{Type: inclusionKind, Version: version, Number: number, Assets: of.Objects, Root: of.Root, Record: line}
	for _, h := range path {
		i.Path = append(i.Path, hex.EncodeToString(h[:]))
	}
	_, err = i.Check(of)
	return i, err
}

// Encode returns the file of an inclusion.
func (i Inclusion) Encode() ([]byte, error) {
	text, err := encode(i)
	return append(text, '\n'), err
}

// ParseInclusion reads the file of an inclusion. It does not check the path.
func ParseInclusion(file []byte) (i Inclusion, err error) {
	text, whole := bytes.CutSuffix(file, []byte("\n"))
	if !whole {
		return i, fmt.Errorf("%w: it is not complete", ErrChanged)
	}
	if i, err = decode[Inclusion](text); err != nil {
		return i, err
	}
	if i.Type != inclusionKind || i.Version != version {
		return i, fmt.Errorf("%w: it is not an inclusion", ErrChanged)
	}
	return i, nil
}

// Check verifies an inclusion against the summary in a certificate, and returns the record.
func (i Inclusion) Check(of Assets) (r Record, err error) {
	if i.Assets != of.Objects || i.Root != of.Root {
		return r, fmt.Errorf("%w, or belongs to another certificate", ErrChanged)
	}
	if r, err = decode[Record](i.Record); err != nil {
		return r, err
	}
	path := make(tlog.RecordProof, len(i.Path))
	for n, text := range i.Path {
		if path[n], err = parseHash(text); err != nil {
			return r, err
		}
	}
	root, err := parseHash(of.Root)
	if err != nil {
		return r, err
	}
	if err := tlog.CheckRecord(path, of.Objects, root, i.Number, tlog.RecordHash(i.Record)); err != nil {
		return r, fmt.Errorf("%w: its path does not lead to the root", ErrChanged)
	}
	return r, nil
}

func parseHash(text string) (h tlog.Hash, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(h) || hex.EncodeToString(b) != text {
		return h, fmt.Errorf("%w: %q is not a checksum", ErrChanged, text)
	}
	return tlog.Hash(b), nil
}

// A listReader reads parts of a list, and calculates nodes of its tree.
type listReader struct {
	list    io.ReaderAt
	records int64
	end     int64 // of the records
	index   index
	chunks  map[int64][]tlog.Hash // hashes of records, by chunk
}

// openList reads the index of a list. It is not verified: a wrong one only leads to a wrong path,
// which is found.
func openList(list io.ReaderAt, size int64, of Assets) (*listReader, error) {
	wrong := fmt.Errorf("%w: its index cannot be read", ErrChanged)
	last := make([]byte, len(pointer(0)))
	if _, err := list.ReadAt(last, max(0, size-int64(len(last)))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	l := &listReader{list: list, records: of.Objects, chunks: map[int64][]tlog.Hash{}}
	if _, err := fmt.Sscanf(string(last), pointerFormat, &l.end); err != nil || l.end < 0 || l.end > size-int64(len(last)) {
		return nil, wrong
	}
	var i struct{ Index *index }
	d := json.NewDecoder(io.NewSectionReader(list, l.end, size-int64(len(last))-l.end))
	if err := d.Decode(&i); err != nil || i.Index == nil {
		return nil, wrong
	}
	l.index = *i.Index
	if int64(len(l.index.Starts)) != (of.Objects+chunk-1)/chunk || int64(len(l.index.Nodes)) != of.Objects/chunk {
		return nil, wrong
	}
	return l, nil
}

// lines yields the records of a chunk.
func (l *listReader) lines(n int64, each func(line []byte) (more bool)) error {
	start, end := l.index.Starts[n], l.end
	if n+1 < int64(len(l.index.Starts)) {
		end = l.index.Starts[n+1]
	}
	r := bufio.NewReaderSize(io.NewSectionReader(l.list, start, end-start), 256<<10)
	for range min(chunk, l.records-n*chunk) {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("%w: a line is not complete", ErrChanged)
		}
		if !each(line[:len(line)-1]) {
			return nil
		}
	}
	return nil
}

// find returns the number and the line of the record with a key.
func (l *listReader) find(key string) (number int64, line []byte, err error) {
	begins := func(n int) string { // the first key of a chunk
		var r Record
		err = errors.Join(err, l.lines(int64(n), func(line []byte) bool {
			err = errors.Join(err, json.Unmarshal(line, &r))
			return false
		}))
		return r.FullKey()
	}
	n := int64(sort.Search(len(l.index.Starts), func(n int) bool { return begins(n) > key })) - 1
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if n < 0 {
		return 0, nil, ErrNotListed
	}
	number = n * chunk
	err = l.lines(n, func(read []byte) bool {
		var r Record
		if json.Unmarshal(read, &r) == nil && r.FullKey() == key {
			line = bytes.Clone(read)
			return false
		}
		number++
		return true
	})
	if err == nil && line == nil {
		err = ErrNotListed
	}
	return number, line, err
}

// ReadHashes implements tlog.HashReader.
func (l *listReader) ReadHashes(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, i := range indexes {
		level, n := tlog.SplitStoredHashIndex(i)
		h, err := l.node(level, n)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	return hashes, nil
}

// node returns the node n of a level.
func (l *listReader) node(level int, n int64) (tlog.Hash, error) {
	if level >= chunkLevel {
		first, count := n<<(level-chunkLevel), int64(1)<<(level-chunkLevel)
		if first+count > int64(len(l.index.Nodes)) {
			return tlog.Hash{}, fmt.Errorf("%w: its index is too short", ErrChanged)
		}
		return subtree(l.index.Nodes[first : first+count]), nil
	}
	of := n >> (chunkLevel - level)
	if l.chunks[of] == nil {
		err := l.lines(of, func(line []byte) bool {
			l.chunks[of] = append(l.chunks[of], tlog.RecordHash(line))
			return true
		})
		if err != nil {
			return tlog.Hash{}, err
		}
	}
	first := n<<level - of*chunk
	return subtree(l.chunks[of][first : first+1<<level]), nil
}

// subtree returns the root over nodes of one level, whose number is a power of two.
func subtree(nodes []tlog.Hash) tlog.Hash {
	if len(nodes) == 1 {
		return nodes[0]
	}
	half := len(nodes) / 2
	return tlog.NodeHash(subtree(nodes[:half]), subtree(nodes[half:]))
}
