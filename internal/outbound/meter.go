package outbound

import (
	"bytes"
	"fmt"
	"io"
)

// A Meter reads untrusted JSON, and ends with an error before it takes too much memory. The length
// is not enough: a value may take many times the memory of its text. So the estimate includes the
// bytes, and the brackets and commas.
type Meter struct {
	in     io.Reader
	weight Weight
	value  int64 // maximum bytes of one value
	spent  int64
	read   int64 // bytes
	since  int64 // bytes since the last value
	parts  int64 // estimated memory of the parts of that value, in bytes
	last   byte  // the last byte that is not white space
	err    error // of the reader below, or a [TooLargeError]
}

// A Weight is the memory of an object and of another value, in bytes.
type Weight struct{ Object, Value int64 }

const (
	// maxMemory is the maximum memory of a decoded response. During reading, up to twice that may be
	// in use, within a total of 32 MB.
	maxMemory = 12 << 20
	// maxValue is the maximum size of a value that is decoded as a whole.
	maxValue = 2 << 20
	// maxParts is the maximum memory of the parts of such a value: a growing list exists twice.
	maxParts = maxMemory / 2
)

// Values of a Weight.
var (
	// Typed is for values that are decoded into structs.
	Typed = Weight{Object: 240, Value: 16}
	// Untyped is for values of any JSON, such as custom attributes.
	Untyped = Weight{Object: 640, Value: 48}
)

// A TooLargeError means that a response takes too much memory.
type TooLargeError struct{ Read, Value int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the response is too large: more than %d MB of memory, or a value of more than %d MB (%d bytes read)", maxMemory>>20, e.Value>>20, e.Read)
}

// NewMeter returns a meter for a response.
func NewMeter(in io.Reader, weight Weight) *Meter {
	return &Meter{in: in, weight: weight, value: maxValue}
}

// Whole allows a response with one value of at most a number of bytes.
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

// Add measures another text, and reports whether it is within the limits.
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

// nulls counts the null items of lists: in a list of objects, each takes the memory of an object. A
// text may contain similar characters.
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

// blanks are the white space of JSON.
const blanks = " \t\r\n"

// Next records that everything read so far was decoded.
func (m *Meter) Next() { m.since, m.parts = 0, 0 }

// Err returns the error of the reader below, or a [TooLargeError]; nil at its end.
func (m *Meter) Err() error {
	if m.err == io.EOF {
		return nil
	}
	return m.err
}

// ReadAll reads a response that is decoded as a whole.
func (m *Meter) ReadAll() ([]byte, error) { return io.ReadAll(m) }
