package certificate

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"
)

// A Record is the upload record of one asset. A key or version tag that is not valid UTF-8 is in
// base64.
type Record struct {
	Key          string     `json:"key,omitempty"`
	KeyBytes     []byte     `json:"key_base64,omitempty"`
	VersionTag   string     `json:"version_tag,omitempty"`
	VersionBytes []byte     `json:"version_tag_base64,omitempty"`
	Size         int64      `json:"size"`
	SHA256       string     `json:"sha256"`
	Asset        string     `json:"asset_id"`
	URL          string     `json:"url"`
	Name         string     `json:"name"` // with its extension
	Category     string     `json:"category_id"`
	Folder       string     `json:"folder_id"`
	Modified     *time.Time `json:"modified_at,omitempty"` // by the service
}

// SetKey sets the key and the version tag of the object.
func (r *Record) SetKey(key, versionTag string) {
	r.Key, r.KeyBytes = text(key)
	r.VersionTag, r.VersionBytes = text(versionTag)
}

func text(s string) (string, []byte) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return "", []byte(s)
}

// FullKey returns the key of the object.
func (r *Record) FullKey() string { return r.Key + string(r.KeyBytes) }

// A node of the index covers a chunk of records: as many as a subtree of this level has.
const (
	chunkLevel = 10
	chunk      = 1 << chunkLevel
)

// A tree calculates the root of a Merkle tree and an index. Its memory grows with the index: 50
// bytes for each chunk.
type tree struct {
	size    int64
	pending [64]tlog.Hash // the complete subtree of each level whose bit is set in size
	index   index
	offset  int64 // of the next record in the list
}

// An index finds records without reading the whole list.
type index struct {
	Starts []int64     `json:"chunk_starts"` // offsets
	Nodes  []tlog.Hash `json:"chunk_nodes"`  // of complete chunks
}

func (t *tree) add(line []byte) {
	if t.size%chunk == 0 {
		t.index.Starts = append(t.index.Starts, t.offset)
	}
	t.offset += int64(len(line)) + 1
	h := tlog.RecordHash(line)
	for level := 0; ; level++ {
		if level == chunkLevel {
			t.index.Nodes = append(t.index.Nodes, h)
		}
		if t.size>>level&1 == 0 {
			t.pending[level] = h
			break
		}
		h = tlog.NodeHash(t.pending[level], h)
	}
	t.size++
}

// root returns the root of RFC 6962: that of the smaller subtrees is the right child.
func (t *tree) root() (h tlog.Hash) {
	found := false
	for level, p := range t.pending {
		switch {
		case t.size>>level&1 == 0:
		case found:
			h = tlog.NodeHash(p, h)
		default:
			h, found = p, true
		}
	}
	if !found {
		h, _ = tlog.TreeHash(0, nil) // of the empty tree, which needs no reader
	}
	return h
}

// ends returns the last two lines of a list: the index, and its offset.
func (t *tree) ends() ([]byte, error) {
	line, err := encode(struct {
		Index index `json:"index"`
	}{t.index})
	return append(append(line, '\n'), pointer(t.offset)...), err
}

const pointerFormat = `{"index_at":"%019d"}` + "\n"

func pointer(offset int64) string { return fmt.Sprintf(pointerFormat, offset) }

// A ListWriter writes a list of assets: a line of JSON for each record in the order of their keys,
// and an index.
type ListWriter struct {
	w     *bufio.Writer
	line  bytes.Buffer
	json  *json.Encoder
	tree  tree
	bytes int64
	last  string
}

// NewListWriter returns a writer to w.
func NewListWriter(w io.Writer) *ListWriter {
	l := &ListWriter{w: bufio.NewWriterSize(w, 256<<10)}
	l.json = json.NewEncoder(&l.line)
	l.json.SetEscapeHTML(false)
	return l
}

// errOrder reports records that are not in the order of their keys.
var errOrder = errors.New("the keys are not in order")

// Add writes a record.
func (l *ListWriter) Add(r *Record) error {
	key := r.FullKey()
	if l.tree.size > 0 && key <= l.last {
		return errOrder
	}
	l.last = key
	l.line.Reset()
	if err := l.json.Encode(r); err != nil {
		return err
	}
	line := l.line.Bytes()
	l.tree.add(line[:len(line)-1])
	l.bytes += r.Size
	_, err := l.w.Write(line)
	return err
}

// Close writes the index, and returns the summary of the list. It does not close the writer below.
func (l *ListWriter) Close() (a Assets, err error) {
	ends, err := l.tree.ends()
	if err != nil {
		return a, err
	}
	if _, err := l.w.Write(ends); err != nil {
		return a, err
	}
	return l.tree.assets(l.bytes), l.w.Flush()
}

func (t *tree) assets(bytes int64) Assets {
	root := t.root()
	return Assets{Amount{t.size, bytes}, hex.EncodeToString(root[:])}
}

// CheckList verifies that a list is the one of a certificate, and yields its records.
func CheckList(list io.Reader, want Assets, each func(Record) error) error {
	r := bufio.NewReaderSize(list, 1<<20)
	var t tree
	var bytes int64
	last := ""
	for range want.Objects {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("%w: it ends after %d of %d assets", ErrChanged, t.size, want.Objects)
		}
		line = line[:len(line)-1]
		record, err := decode[Record](line)
		if err != nil {
			return fmt.Errorf("line %d: %w", t.size+1, err)
		}
		key := record.FullKey()
		if t.size > 0 && key <= last {
			return fmt.Errorf("line %d: %w: %w", t.size+1, ErrChanged, errOrder)
		}
		last = key
		t.add(line)
		bytes += record.Size
		if err := each(record); err != nil {
			return err
		}
	}
	if t.assets(bytes) != want {
		return fmt.Errorf("%w: its records do not match the certificate", ErrChanged)
	}
	return checkEnds(r, &t)
}

// checkEnds verifies the last two lines of a list.
func checkEnds(r io.Reader, t *tree) error {
	want, err := t.ends()
	if err != nil {
		return err
	}
	got, err := io.ReadAll(io.LimitReader(r, int64(len(want))+1))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: its index does not match its records", ErrChanged)
	}
	return nil
}
