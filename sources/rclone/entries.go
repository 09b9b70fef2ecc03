package rclone

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"time"

	"assetferry/internal/hint"
	"assetferry/internal/jsonscan"
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

	isOmitted bool // rclone did not list it
}

// largestEntry is the maximum size of the JSON of an entry in bytes.
const largestEntry = 1 << 20

// errForeign means that a response is not that of rclone.
var errForeign error = hint.New(errors.New("the response is not a listing of rclone"), "install another version of rclone, and name it with --rclone FILE")

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

// parse reads an entry. It uses no reflection, which takes three times as long for each of a million
// entries.
func (s *Source) parse(text []byte) (entry, error) {
	e := entry{size: -1, mangled: isMangled(text)}
	id := ""
	in := jsonscan.New(text)
	valid := in.Object(func(key []byte) (ok bool) {
		var value []byte
		switch string(key) {
		case "Path":
			value, ok = in.Text()
			e.path = string(value)
		case "ID":
			value, ok = in.Text()
			id = string(value)
		case "ModTime":
			value, ok = in.Text()
			ok = ok && e.readTime(value)
		case "Size":
			value, ok = in.Value()
			ok = ok && e.readSize(value)
		case "IsDir":
			value, ok = in.Value()
			e.isDir = string(value) == "true"
		case "Hashes":
			ok = s.readHash(in, &e)
		default:
			_, ok = in.Value()
		}
		return ok
	})
	if !valid || e.path == "" {
		return entry{}, errForeign
	}
	if e.tag == "" && id != "" {
		e.tag = "id:" + id
	}
	return e, nil
}

func (e *entry) readSize(text []byte) bool {
	size, err := strconv.ParseInt(string(text), 10, 64)
	e.size = size
	return err == nil
}

// readTime reads the time of an entry; some storages have none for an object.
func (e *entry) readTime(text []byte) bool {
	if len(text) == 0 {
		return true
	}
	t, err := time.Parse(time.RFC3339, string(text))
	if t.Unix() > (time.Time{}).Unix() {
		e.time = t.UTC()
	}
	return err == nil
}

// readHash reads the version tag of an entry from its hashes. An MD5 has no name, see
// sources.Traits.ContentTags.
func (s *Source) readHash(in *jsonscan.Scanner, e *entry) bool {
	return in.Object(func(key []byte) bool {
		value, ok := in.Text()
		if string(key) != s.abilities.hash || len(value) == 0 {
			return ok
		}
		e.tag = string(value)
		if s.abilities.hash != "md5" {
			e.tag = s.abilities.hash + ":" + e.tag
		}
		return ok
	})
}

// Marks in the data of an entry.
const (
	markTime = 1 << iota
	markMangled
	markLink
	markOmitted
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
	if e.isOmitted {
		marks |= markOmitted
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
	e := entry{path: path, mangled: data[0]&markMangled != 0, isLink: data[0]&markLink != 0, isOmitted: data[0]&markOmitted != 0}
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
