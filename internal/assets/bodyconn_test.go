package assets

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

// A writeRecorder is a connection that records what is written.
type writeRecorder struct {
	net.Conn
	writes []string
}

func (w *writeRecorder) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return len(p), nil
}

// TestHeaderIsSentWithItsBody verifies that only the header of a request with a body is held, and
// that it is sent before anything else.
func TestHeaderIsSentWithItsBody(t *testing.T) {
	const header = "POST / HTTP/1.1\r\nHost: a\r\n\r\n"
	long := strings.Repeat("long", bodyBuffer)
	errBody := errors.New("no body")
	write := func(text string) func(*bodyConn) error {
		return func(c *bodyConn) error { _, err := c.Write([]byte(text)); return err }
	}
	readFrom := func(r io.Reader, want int64) func(*bodyConn) error {
		return func(c *bodyConn) error {
			n, err := c.ReadFrom(r)
			if err == nil && n != want {
				t.Errorf("%d bytes of the body, want %d", n, want)
			}
			return err
		}
	}
	expect := func(c *bodyConn) error { c.expectBody(); return nil }
	for name, test := range map[string]struct {
		do   []func(*bodyConn) error
		want []string
		err  error
	}{
		"no body":            {[]func(*bodyConn) error{write(header)}, []string{header}, nil},
		"body":               {[]func(*bodyConn) error{expect, write(header), readFrom(strings.NewReader("body"), 4)}, []string{header + "body"}, nil},
		"body in parts":      {[]func(*bodyConn) error{expect, write(header), readFrom(iotest.HalfReader(strings.NewReader("b")), 1)}, []string{header + "b"}, nil},
		"not announced":      {[]func(*bodyConn) error{write(header), readFrom(strings.NewReader("body"), 4)}, []string{header, "body"}, nil},
		"two requests":       {[]func(*bodyConn) error{expect, write(header), readFrom(strings.NewReader("a"), 1), write(header)}, []string{header + "a", header}, nil},
		"all in one":         {[]func(*bodyConn) error{expect, write(header + "body")}, []string{header + "body"}, nil},
		"body by write":      {[]func(*bodyConn) error{expect, write(header), write("body")}, []string{header + "body"}, nil},
		"header in parts":    {[]func(*bodyConn) error{expect, write("POST"), write(header)}, []string{"POST", header}, nil},
		"body that fails":    {[]func(*bodyConn) error{expect, write(header), readFrom(iotest.ErrReader(errBody), 0)}, nil, errBody},
		"longer than buffer": {[]func(*bodyConn) error{expect, write(header), readFrom(strings.NewReader(long), int64(len(long)))}, []string{header + long}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writeRecorder{}
			c := &bodyConn{Conn: w, buffers: &sync.Pool{}}
			var err error
			for _, do := range test.do {
				err = errors.Join(err, do(c))
			}
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Errorf("got %v, want %v", err, test.err)
			}
			if name == "longer than buffer" {
				w.writes = []string{strings.Join(w.writes, "")}
			}
			if !slices.Equal(w.writes, test.want) {
				t.Errorf("written are %.200q, want %.200q", w.writes, test.want)
			}
		})
	}
}
