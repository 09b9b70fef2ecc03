package rclone

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// An entry is a file or a folder in a listing.
type entry struct {
	path  string
	isDir bool
	size  int64 // -1 if unknown
	time  time.Time
	tag   string // the version tag: its hash or its ID
	// mangled means that the name has bytes which JSON cannot represent, so it cannot be requested.
	mangled bool
	isLink  bool // a symbolic link; its path is still as rclone lists it
}

// largestEntry is the maximum size of the JSON of an entry in bytes.
const largestEntry = 1 << 20

// errForeign means that a response is not that of rclone.
var errForeign = errors.New("the response is not a listing of rclone")

// entries reads the response to operations/list, and calls each for every entry.
func (s *Source) entries(in io.Reader, each func(entry) error) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for _, want := range []byte(`{"list":[`) {
		if c, err := next(r); err != nil || c != want {
			return cmp.Or(err, errForeign)
		}
	}
	var text []byte
	for {
		switch c, err := next(r); {
		case err != nil:
			return err
		case c == ']':
			return nil
		case c == ',':
			continue
		case c != '{':
			return errForeign
		}
		var err error
		if text, err = object(r, text[:0]); err != nil {
			return err
		}
		e, err := s.parse(text)
		if err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
	}
}

// next reads the next byte that is not white space.
func next(r *bufio.Reader) (byte, error) {
	for {
		c, err := r.ReadByte()
		if err != nil {
			return 0, cutOff(err)
		}
		if c > ' ' {
			return c, nil
		}
	}
}

// object reads the rest of an object after its bracket, and returns all of it.
func object(r *bufio.Reader, text []byte) ([]byte, error) {
	text = append(text, '{')
	for inside := (nesting{depth: 1}); inside.depth > 0; {
		part, err := r.ReadSlice('}')
		text = append(text, part...)
		switch {
		case len(text) > largestEntry:
			return nil, errForeign
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, cutOff(err)
		}
		inside.read(part)
	}
	return text, nil
}

// A nesting is a position in JSON.
type nesting struct {
	depth   int // of brackets
	quoted  bool
	escaped bool // after a backslash
}

func (n *nesting) read(text []byte) {
	for _, c := range text {
		switch {
		case n.escaped:
			n.escaped = false
		case c == '\\':
			n.escaped = true
		case c == '"':
			n.quoted = !n.quoted
		case n.quoted:
		case c == '{':
			n.depth++
		case c == '}':
			n.depth--
		}
	}
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// isMangled reports whether JSON has a replacement for a byte that is not UTF-8. Real ones of the name
// are written as they are, without an escape.
func isMangled(text []byte) bool {
	for {
		before, after, found := bytes.Cut(text, []byte(`\ufffd`))
		if !found {
			return false
		}
		if backslashes := len(before) - len(bytes.TrimRight(before, `\`)); backslashes%2 == 0 {
			return true
		}
		text = after
	}
}

// A listed is an entry as rclone writes it.
type listed struct {
	Path     string
	Size     *int64
	ModTime  string
	IsDir    bool
	Hashes   map[string]string
	ID       string
	Metadata map[string]string // only from operations/stat
}

// parse reads an entry.
func (s *Source) parse(text []byte) (entry, error) {
	var l listed
	if json.Unmarshal(text, &l) != nil || l.Path == "" {
		return entry{}, errForeign
	}
	e := entry{path: l.Path, isDir: l.IsDir, size: -1, tag: s.tagOf(l), mangled: isMangled(text)}
	if l.Size != nil {
		e.size = *l.Size
	}
	if l.ModTime == "" {
		return e, nil
	}
	t, err := time.Parse(time.RFC3339, l.ModTime)
	if err != nil {
		return entry{}, errForeign
	}
	if t.Unix() > (time.Time{}).Unix() { // some storages have no time for an object
		e.time = t.UTC()
	}
	return e, nil
}

// tagOf returns the version tag of an entry: its hash or, if there is none, its ID. An MD5 has no name,
// see sources.Traits.ContentTags.
func (s *Source) tagOf(l listed) string {
	name := s.abilities.hash
	switch sum := l.Hashes[name]; {
	case sum != "" && name == "md5":
		return sum
	case sum != "":
		return name + ":" + sum
	case l.ID != "":
		return "id:" + l.ID
	}
	return ""
}

// Marks in the data of an entry.
const (
	markTime = 1 << iota
	markMangled
	markLink
)

// data returns an entry without its path, as a record of an index has it.
func (e entry) data() string {
	var marks byte
	if !e.time.IsZero() {
		marks |= markTime
	}
	if e.mangled {
		marks |= markMangled
	}
	if e.isLink {
		marks |= markLink
	}
	text := make([]byte, 0, 32+len(e.tag))
	text = binary.AppendVarint(append(text, marks), e.size)
	if marks&markTime != 0 {
		text = binary.AppendVarint(text, e.time.Unix())
		text = binary.AppendUvarint(text, uint64(e.time.Nanosecond()))
	}
	return string(append(text, e.tag...))
}

// entryOf returns the entry of a record.
func entryOf(path, data string) entry {
	e := entry{path: path, mangled: data[0]&markMangled != 0, isLink: data[0]&markLink != 0}
	rest := []byte(data[1:])
	size, n := binary.Varint(rest)
	e.size, rest = size, rest[n:]
	if data[0]&markTime != 0 {
		seconds, n := binary.Varint(rest)
		nanoseconds, m := binary.Uvarint(rest[n:])
		e.time, rest = time.Unix(seconds, int64(nanoseconds)).UTC(), rest[n+m:]
	}
	e.tag = string(rest)
	return e
}
