package outbound

import (
	"bytes"
	"fmt"
	"io"
)

// A Meter reads JSON of somebody else and ends it before it takes more memory than it may. What
// counts is not its length: a value may take many times the memory of its text. So each text
// counts with its bytes, and with what the brackets and commas in it stand for.
type Meter struct {
	in     io.Reader
	weight Weight
	value  int64 // bytes that one value may have
	spent  int64
	read   int64 // bytes
	since  int64 // of these, since the last value
	parts  int64 // what the parts of that value stand for, in bytes
	last   byte  // of these, but for white space
	err    error // of the reader below, or a [TooLargeError]
}

// A Weight is how much memory it takes what stands behind a character of JSON, in bytes.
type Weight struct{ Object, Value int64 }

const (
	// maxMemory is how much an answer may take once it is decoded. While it is read, up to twice
	// that may be in use, and 32 MB must be enough.
	maxMemory = 12 << 20
	// maxValue is how long one value may be that is decoded as a whole.
	maxValue = 2 << 20
	// maxParts is how much the parts of such a value may take: a list that grows is there twice.
	maxParts = maxMemory / 2
)

// Values of a Weight.
var (
	// Typed is for values that are decoded into structs.
	Typed = Weight{Object: 240, Value: 16}
	// Untyped is for values that hold any JSON, such as custom attributes.
	Untyped = Weight{Object: 640, Value: 48}
)

// A TooLargeError says that an answer takes more memory than a hostile one may have.
type TooLargeError struct{ Read, Value int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it is too long to be read: it takes more than %d MB of memory, or one value in it has more than %d MB (%d bytes were read)", maxMemory>>20, e.Value>>20, e.Read)
}

// NewMeter returns a meter for an answer.
func NewMeter(in io.Reader, weight Weight) *Meter {
	return &Meter{in: in, weight: weight, value: maxValue}
}

// Whole lets the answer be one value, which has at most so many bytes.
func (m *Meter) Whole(most int64) *Meter {
	m.value = most
	return m
}

// Read implements io.Reader.
func (m *Meter) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.in.Read(p)
	if m.err = err; !m.add(p[:n]) {
		m.err = &TooLargeError{m.read, m.value}
		return 0, m.err
	}
	return n, err
}

// Add measures a text that was not read, and reports whether there was room for it.
func (m *Meter) Add(text string) bool { return m.add([]byte(text)) }

func (m *Meter) add(p []byte) bool {
	objects, values := bytes.Count(p, []byte("{"))+m.nulls(p), bytes.Count(p, []byte("["))+bytes.Count(p, []byte(","))
	parts := m.weight.Object*int64(objects) + m.weight.Value*int64(values)
	m.spent += int64(len(p)) + parts
	m.read += int64(len(p))
	m.since += int64(len(p))
	m.parts += parts
	return m.spent <= maxMemory && m.since <= m.value && m.parts <= maxParts
}

// nulls counts the items of lists that are null: in a list of objects, each takes as much as an
// object. A text may hold what looks like one.
func (m *Meter) nulls(p []byte) (n int) {
	for from := 0; ; {
		next := bytes.IndexByte(p[from:], 'n')
		if next < 0 {
			break
		}
		before := m.last
		if head := bytes.TrimRight(p[:from+next], blanks); len(head) > 0 {
			before = head[len(head)-1]
		}
		if before == ',' || before == '[' {
			n++
		}
		from += next + 1
	}
	if p = bytes.TrimRight(p, blanks); len(p) > 0 {
		m.last = p[len(p)-1]
	}
	return n
}

// blanks are white space in JSON.
const blanks = " \t\r\n"

// Next says that what was read so far has been decoded.
func (m *Meter) Next() { m.since, m.parts = 0, 0 }

// Err is the error of the reader below, or a [TooLargeError]; nil at its end.
func (m *Meter) Err() error {
	if m.err == io.EOF {
		return nil
	}
	return m.err
}

// ReadAll reads an answer that is decoded as a whole.
func (m *Meter) ReadAll() ([]byte, error) { return io.ReadAll(m) }
