package sse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/ai/sse"
)

// An outcome is the result of reading a stream.
type outcome struct {
	Events []sse.Event
	Cut    bool
	Err    string
}

// read reads a stream to its end.
func read(r io.Reader, limit int) (o outcome) {
	in := sse.NewReader(r, limit)
	for {
		e, err := in.Next()
		if err != nil {
			o.Cut = in.Cut()
			if err != io.EOF {
				o.Err = err.Error()
			}
			return o
		}
		o.Events = append(o.Events, e)
	}
}

// split returns a reader that returns a text in two reads.
func split(text string, at int) io.Reader {
	return io.MultiReader(strings.NewReader(text[:at]), strings.NewReader(text[at:]))
}

func message(data string) sse.Event { return sse.Event{Name: "message", Data: data} }

var cases = []struct {
	name, stream string
	want         outcome
}{
	{"nothing", "", outcome{}},
	{"one", "data: x\n\n", outcome{Events: []sse.Event{message("x")}}},
	{"named", "event: done\ndata: {}\n\n", outcome{Events: []sse.Event{{Name: "done", Data: "{}"}}}},
	{"a name is for one event", "event: a\ndata: x\n\ndata: y\n\n", outcome{Events: []sse.Event{{Name: "a", Data: "x"}, message("y")}}},
	{"the last name counts", "event: a\nevent: b\ndata: x\n\n", outcome{Events: []sse.Event{{Name: "b", Data: "x"}}}},
	{"a name without data", "event: a\n\ndata: x\n\n", outcome{Events: []sse.Event{message("x")}}},
	{"several lines", "data: a\ndata: b\ndata:\ndata: c\n\n", outcome{Events: []sse.Event{message("a\nb\n\nc")}}},
	{"empty data", "data\n\ndata\ndata\n\ndata:", outcome{Events: []sse.Event{message(""), message("\n")}, Cut: true}},
	{"one space goes", "data:x\n\ndata: x\n\ndata:  x\n\ndata:\tx\n\n", outcome{Events: []sse.Event{message("x"), message("x"), message(" x"), message("\tx")}}},
	{"colons in data", "data: a: b:c\n\n", outcome{Events: []sse.Event{message("a: b:c")}}},
	{"carriage returns", "event: a\rdata: x\r\rdata: y\r\r", outcome{Events: []sse.Event{{Name: "a", Data: "x"}, message("y")}}},
	{"both", "event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n", outcome{Events: []sse.Event{{Name: "a", Data: "x"}, message("y")}}},
	{"mixed line ends", "data: a\rdata: b\ndata: c\r\n\r\ndata: d\n\r\n", outcome{Events: []sse.Event{message("a\nb\nc"), message("d")}}},
	{"line feed before carriage return", "data: a\n\rdata: b\n\r", outcome{Events: []sse.Event{message("a"), message("b")}}},
	{"byte order mark", "\uFEFFdata: x\n\n", outcome{Events: []sse.Event{message("x")}}},
	{"only one byte order mark", "\uFEFF\uFEFFdata: x\n\ndata: y\n\n", outcome{Events: []sse.Event{message("y")}}},
	{"byte order mark within", "data: x\n\n\uFEFFdata: y\n\ndata: \uFEFFz\n\n", outcome{Events: []sse.Event{message("x"), message("\uFEFFz")}}},
	{"comments", ": hello\n:\n\n:data: x\ndata: y\n: more\n\n", outcome{Events: []sse.Event{message("y")}}},
	{"other fields", "other: 1\nDATA: x\ndata : y\n data: z\nplain\ndata: w\n\n", outcome{Events: []sse.Event{message("w")}}},
	{"ids stay", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", outcome{Events: []sse.Event{{ID: "1", Name: "message", Data: "a"}, {ID: "1", Name: "message", Data: "b"}, message("c")}}},
	{"an id without data", "id: 1\n\ndata: a\n\n", outcome{Events: []sse.Event{{ID: "1", Name: "message", Data: "a"}}}},
	{"no id holds a NUL", "id: 1\ndata: a\n\nid: 2\x003\ndata: b\n\n", outcome{Events: []sse.Event{{ID: "1", Name: "message", Data: "a"}, {ID: "1", Name: "message", Data: "b"}}}},
	{"retry", "retry: 2500\n\nretry: 1s\nretry: -1\nretry:\nretry: +7\n\n", outcome{}},
	{"retry out of range", "retry: 99999999999999999999\n\n", outcome{}},
	{"not UTF-8", "event: \xff\ndata: a\xc3\n\n", outcome{Events: []sse.Event{{Name: "\uFFFD", Data: "a\uFFFD"}}}},
	{"characters of several bytes", "data: é日😀\n\n", outcome{Events: []sse.Event{message("é日😀")}}},
	{"cut behind a line", "data: a\n\ndata: b\n", outcome{Events: []sse.Event{message("a")}, Cut: true}},
	{"cut within a line", "data: a\n\ndata: b", outcome{Events: []sse.Event{message("a")}, Cut: true}},
	{"cut within a name", "data: a\n\neve", outcome{Events: []sse.Event{message("a")}, Cut: true}},
	{"cut within a comment", "data: a\n\n: so lo", outcome{Events: []sse.Event{message("a")}}},
	{"ends behind a comment", "data: a\n\n: so long\n", outcome{Events: []sse.Event{message("a")}}},
	{"ends with a carriage return", "data: a\r\r", outcome{Events: []sse.Event{message("a")}}},
}

func TestRead(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, read(strings.NewReader(c.stream), 0)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, read(iotest.OneByteReader(strings.NewReader(c.stream)), 0)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
			for at := range len(c.stream) + 1 {
				if diff := cmp.Diff(c.want, read(split(c.stream, at), 0)); diff != "" {
					t.Errorf("split at %d (-want +got):\n%s", at, diff)
				}
			}
		})
	}
}

// The test verifies that an event is returned once its last line has arrived, without further
// bytes.
func TestReadsNoFurther(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r"} {
		r, w := io.Pipe()
		in := sse.NewReader(r, 0)
		go func() { _, _ = io.WriteString(w, "data: x"+end) }() // no further bytes
		if e, err := in.Next(); err != nil || e.Data != "x" {
			t.Errorf("%q: got %v, %v", end, e, err)
		}
		w.Close()
		if _, err := in.Next(); err != io.EOF || in.Cut() {
			t.Errorf("%q: got %v at the end, cut %v", end, err, in.Cut())
		}
	}
}

func TestLimit(t *testing.T) {
	const limit = 20
	for _, c := range []struct {
		name, stream string
		fits         bool
	}{
		{"line that fits", "data: " + strings.Repeat("x", limit-6) + "\n\n", true},
		{"line", "data: " + strings.Repeat("x", limit-5) + "\n\n", false},
		{"lines", "data: 1234\ndata: 1234\ndata: 12345\n\n", false},
		{"events that fit", strings.Repeat("data: 12345678\n\n", 10), true},
		{"name", "event: 123456789\ndata: 1234567\n\n", false},
		{"endless comment", ":" + strings.Repeat("x", limit), false},
		{"comments that fit", strings.Repeat(": comment\n", 10), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := sse.NewReader(strings.NewReader(c.stream), limit)
			var err error
			for err == nil {
				_, err = in.Next()
			}
			large, ok := errors.AsType[*sse.TooLargeError](err)
			if ok == c.fits || ok && large.Limit != limit {
				t.Errorf("got %v", err)
			}
			if _, again := in.Next(); again != err {
				t.Errorf("then got %v", again)
			}
		})
	}
}

func TestErrorBelow(t *testing.T) {
	broken := errors.New("broken")
	in := sse.NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 0)
	if e, err := in.Next(); err != nil || e.Data != "a" {
		t.Errorf("got %v, %v", e, err)
	}
	if _, err := in.Next(); err != broken || !in.Cut() {
		t.Errorf("got %v, cut %v", err, in.Cut())
	}
}

// encode writes events as a stream.
func encode(events []sse.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "id: %s\nevent: %s\n", e.ID, e.Name)
		for line := range strings.SplitSeq(e.Data, "\n") {
			fmt.Fprintf(&b, "data: %s\n", line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The test verifies that a stream has the same meaning in any split, and that its events are equal
// after encoding them again.
func FuzzRead(f *testing.F) {
	for _, c := range cases {
		f.Add(c.stream, uint(len(c.stream)/2))
	}
	f.Fuzz(func(t *testing.T, stream string, at uint) {
		const limit = 1 << 10
		want := read(strings.NewReader(stream), limit)
		got := read(split(stream, int(at%uint(len(stream)+1))), limit)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("split (-whole +split):\n%s", diff)
		}
		if diff := cmp.Diff(want, read(iotest.OneByteReader(strings.NewReader(stream)), limit)); diff != "" {
			t.Errorf("byte by byte (-whole +split):\n%s", diff)
		}
		again := read(strings.NewReader(encode(want.Events)), 8*limit)
		if diff := cmp.Diff(want.Events, again.Events); diff != "" || again.Cut || again.Err != "" {
			t.Errorf("written again (-want +got):\n%s%+v", diff, again)
		}
	})
}
