package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz"

var (
	errReset    = errors.New("connection reset")
	errOdd      = errors.New("another part than was asked for")
	errRefuse   = errors.New("404 Not Found")
	errLong     = errors.New("too long")
	errReported = errors.New("reported by the source")
)

// A connection is the result of one connection: a part of the content and how it ends, or an error.
type connection struct {
	refused error
	until   int   // the end of the part of the content
	end     error // io.EOF if it is nil
	stalls  bool  // it never ends
}

// script is a body that ends as a connection defines.
type script struct {
	io.Reader
	connection
	ctx context.Context
}

func (s *script) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	switch {
	case err == nil:
		return n, nil
	case s.stalls:
		<-s.ctx.Done()
		return n, context.Cause(s.ctx)
	case s.end != nil:
		return n, s.end
	}
	return n, err
}

func (s *script) Close() error { return nil }

func TestReader(t *testing.T) {
	cut := func(n int) []connection { return make([]connection, n) } // connections without content
	whole := connection{until: len(alphabet)}
	for name, test := range map[string]struct {
		connections []connection
		change      func(*Content)
		offset      int64
		want        string // the content that is read
		err         error  // of Read; nil for the end
		open        error  // of Open
		asked       string // the offsets that all connections requested
	}{
		"whole":                       {connections: []connection{whole}, want: alphabet, asked: "0"},
		"from an offset":              {connections: []connection{whole}, offset: 20, want: "uvwxyz", asked: "20"},
		"nothing is left":             {connections: []connection{whole}, offset: 26, asked: "26"},
		"cut off":                     {connections: []connection{{until: 5, end: errReset}, {until: 9}, whole}, want: alphabet, asked: "0 5 9"},
		"cut off after the last byte": {connections: []connection{{until: 26, end: errReset}}, want: alphabet, asked: "0"},
		"its end counts":              {connections: []connection{{until: 26, end: errReset}}, change: func(c *Content) { c.EndCounts = true }, want: alphabet, err: errReset, asked: "0"},
		"more than is listed":         {connections: []connection{whole}, change: func(c *Content) { c.Size = 20 }, want: alphabet[:20], err: errLong, asked: "0"},
		"stands still":                {connections: []connection{{until: 5, stalls: true}, whole}, want: alphabet, asked: "0 5"},
		"stands still at its end":     {connections: []connection{{until: 26, stalls: true}}, want: alphabet, asked: "0"},
		"cut off again and again":     {connections: append([]connection{{until: 5}}, cut(4)...), want: "abcde", err: io.ErrUnexpectedEOF, asked: "0 5 5 5 5"},
		"flaky":                       {connections: append(append([]connection{{until: 5}}, cut(7)...), whole), change: func(c *Content) { c.Flaky = true }, want: alphabet, asked: "0 5 5 5 5 5 5 5 5"},
		"refused":                     {connections: []connection{{refused: errRefuse}}, open: errRefuse, asked: "0"},
		"refused after a cut":         {connections: []connection{{until: 5}, {refused: errRefuse}}, want: "abcde", err: errRefuse, asked: "0 5"},
		"odd once":                    {connections: []connection{{refused: &Cut{errOdd}}, whole}, want: alphabet, asked: "0 0"},
		"odd after a cut":             {connections: []connection{{until: 5}, {refused: &Cut{errOdd}}, whole}, want: alphabet, asked: "0 5 5"},
		"odd again and again":         {connections: []connection{{refused: &Cut{errOdd}}, {refused: &Cut{errOdd}}, {refused: &Cut{errOdd}}, {refused: &Cut{errOdd}}, {refused: &Cut{errOdd}}}, open: errOdd, asked: "0 0 0 0 0"},
		"reported by the source":      {connections: []connection{{until: 5}, {refused: errRefuse}}, change: func(c *Content) { c.Fail = func(err error) error { return fmt.Errorf("%w: %w", errReported, err) } }, want: "abcde", err: errReported, asked: "0 5"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				c := Content{Size: int64(len(alphabet)), TooLong: func() error { return errLong }}
				c.Connect = func(next int64) (*Body, error) {
					if len(asked) == len(test.connections) {
						t.Fatalf("one connection too many, at %d", next)
					}
					now := test.connections[len(asked)]
					asked = append(asked, fmt.Sprint(next))
					if now.refused != nil {
						return nil, now.refused
					}
					ctx, cancel := context.WithCancelCause(t.Context())
					return Watch(&script{strings.NewReader(alphabet[next:max(now.until, int(next))]), now, ctx}, cancel), nil
				}
				if test.change != nil {
					test.change(&c)
				}
				r, err := Open(t.Context(), c, test.offset)
				if !errors.Is(err, test.open) {
					t.Errorf("Open: %v, want %v", err, test.open)
				}
				if err == nil {
					got, err := io.ReadAll(r)
					if string(got) != test.want || !errors.Is(err, test.err) {
						t.Errorf("read %q, %v, want %q, %v", got, err, test.want, test.err)
					}
					if _, again := r.Read(make([]byte, 1)); again != err && (again != io.EOF || err != nil) {
						t.Errorf("read again: %v, before %v", again, err)
					}
					if err := r.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
				}
				if got := strings.Join(asked, " "); got != test.asked {
					t.Errorf("asked at %s, want %s", got, test.asked)
				}
			})
		})
	}
}

// TestReaderIsCancelled verifies that a cancelled reader returns the cause of the context, not the
// resulting connection error.
func TestReaderIsCancelled(t *testing.T) {
	for name, until := range map[string]int{"in between": 5, "at the end": 26} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cause := errors.New("enough")
				ctx, stop := context.WithCancelCause(t.Context())
				r, err := Open(ctx, Content{Size: 26, Fail: func(error) error { return errReported }, Connect: func(int64) (*Body, error) {
					ctx, cancel := context.WithCancelCause(ctx)
					return Watch(&script{strings.NewReader(alphabet[:until]), connection{stalls: true}, ctx}, cancel), nil
				}}, 0)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Second, func() { stop(cause) })
				if got, err := io.ReadAll(r); len(got) != until || err != cause {
					t.Errorf("read %q, %v", got, err)
				}
				r.Close()
			})
		})
	}
}

func TestReaderIsClosed(t *testing.T) {
	r, err := Open(t.Context(), Content{Size: 26, Connect: func(int64) (*Body, error) {
		return Watch(io.NopCloser(strings.NewReader(alphabet)), func(error) {}), nil
	}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestFailure(t *testing.T) {
	f := &Failure{Host: "a.example", Err: errReset, Is: fs.ErrNotExist, Kind: retry.Throttled, Wait: time.Second, Auth: true}
	class, wait := retry.Classify(fmt.Errorf("open: %w", f))
	if class != retry.Throttled || wait != time.Second || !f.IsAuth() || !errors.Is(f, errReset) || !errors.Is(f, fs.ErrNotExist) || f.Error() != "a.example: connection reset" {
		t.Errorf("%v is %v, to be tried after %v", f, class, wait)
	}
	for err, want := range map[error]retry.Class{ErrPlain: retry.Fatal, errReset: retry.Transient} {
		if f := Unreached(err, retry.Fatal); f.Kind != want || f.Error() != err.Error() {
			t.Errorf("%v is %v, want %v", f, f.Kind, want)
		}
	}
}
