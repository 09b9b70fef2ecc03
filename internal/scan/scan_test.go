package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/shell"
)

// command returns a scanner that behaves in a way of the function scanner.
func commandThat(t *testing.T, behaviour string, timeout time.Duration) *Scanner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(shell.Quote(self)+" scanner "+behaviour, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// result returns the kind of an answer.
func result(err error) string {
	if err == nil {
		return "accepted"
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return "refused: " + refused.Verdict
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return "failed"
	}
	return "other"
}

func TestCommand(t *testing.T) {
	large := strings.Repeat("fine ", 1<<20)
	for _, tt := range []struct{ behaviour, content, want string }{
		{"reads", "fine", "accepted"},
		{"reads", "", "accepted"},
		{"reads", large, "accepted"},
		{"reads", large + "evil", "refused: Test.Evil [31m"},
		{"reads", "silent", "refused: no reason given"},
		{"reads", "broken", "failed"},
		{"early", large, "accepted"},
		{"early-refusal", large, "refused: Early"},
		{"kill-itself", large, "failed"},
		{"chatty", "fine", "refused: " + strings.Repeat("x", maxVerdict) + "…"},
	} {
		content := &countingReader{Reader: strings.NewReader(tt.content)}
		err := commandThat(t, tt.behaviour, 0).Scan(t.Context(), Object{"a.jpg", int64(len(tt.content))}, content)
		if got := result(err); got != tt.want {
			t.Errorf("%s, %d bytes: got %v (%v), want %v", tt.behaviour, len(tt.content), got, err, tt.want)
		}
		if err == nil && content.n != len(tt.content) {
			t.Errorf("%s: accepted, and %d of %d bytes were read", tt.behaviour, content.n, len(tt.content))
		}
	}
}

type countingReader struct {
	io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// TestTimeout verifies that a scanner that hangs is killed with its children, and that the time limit
// does not count while the source is slow.
func TestTimeout(t *testing.T) {
	for _, behaviour := range []string{"hang", "child"} {
		start := time.Now()
		err := commandThat(t, behaviour, 300*time.Millisecond).Scan(t.Context(), Object{}, strings.NewReader(strings.Repeat("x", 1<<20)))
		if result(err) != "failed" || !strings.Contains(err.Error(), "no progress in 300ms") || retry.Class("transient") != err.(*Error).Class() {
			t.Errorf("%s: got %v", behaviour, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %v", behaviour, took)
		}
	}
	slow := iotest.OneByteReader(&slowReader{strings.NewReader("fine")})
	if err := commandThat(t, "reads", 2*time.Second).Scan(t.Context(), Object{}, slow); err != nil {
		t.Errorf("a slow source: %v", err)
	}
}

type slowReader struct{ io.Reader }

func (s *slowReader) Read(p []byte) (int, error) {
	time.Sleep(700 * time.Millisecond)
	return s.Reader.Read(p)
}

// TestSourceFails verifies that an error of the source is returned as it is, whatever the scanner says.
func TestSourceFails(t *testing.T) {
	broken := errors.New("source is broken")
	content := func() io.Reader { return io.MultiReader(strings.NewReader("evil"), iotest.ErrReader(broken)) }
	if err := commandThat(t, "reads", 0).Scan(t.Context(), Object{}, content()); err != broken {
		t.Errorf("command: got %v", err)
	}
	if err := listen(t, func(conn net.Conn, _ []byte) { fmt.Fprint(conn, "stream: OK\x00") }).Scan(t.Context(), Object{}, content()); err != broken {
		t.Errorf("clamd: got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	if err := commandThat(t, "reads", 0).Scan(ctx, Object{}, strings.NewReader("x")); err != broken {
		t.Errorf("aborted: got %v", err)
	}
}

// TestEnvironment verifies that a scanner gets the key of the object and no secret.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"ASSETFERRY_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "MY_KEY", "HTTPS_PROXY"} {
		t.Setenv(name, "secret")
	}
	got := environment(os.Environ(), Object{"a/ü.jpg", 7})
	if all := strings.Join(got, "\n"); strings.Contains(all, "secret") || !strings.Contains(all, "SCAN_KEY=a/ü.jpg\nSCAN_SIZE=7") {
		t.Errorf("got %q", all)
	}
	err := commandThat(t, "environment", 0).Scan(t.Context(), Object{"a.jpg", 1}, strings.NewReader("x"))
	if strings.Contains(fmt.Sprint(err), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct{ setting, want string }{
		{"", "names no program"},
		{"'", "a quote is not closed"},
		{"no-such-program-anywhere -", "executable file not found"},
		{"clamd:", "neither an absolute path of a socket nor HOST:PORT"},
		{"clamd:run/clamd.ctl", "neither"},
		{"clamd:localhost", "neither"},
		{"clamd:/run/clamav/clamd.ctl", ""},
		{"clamd:127.0.0.1:3310", ""},
		{"clamd:[::1]:3310", ""},
	} {
		_, err := New(tt.setting, 0)
		if tt.want == "" && err != nil || tt.want != "" && !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.setting, err, tt.want)
		}
	}
}

// listen returns a scanner that connects to a server, which is called with the received content once
// that is complete.
func listen(t *testing.T, answer func(conn net.Conn, content []byte)) *Scanner {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				answer(conn, receive(conn))
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	s, err := New("clamd:"+l.Addr().String(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// receive reads a command INSTREAM as its documentation describes it.
func receive(conn net.Conn) []byte {
	command := make([]byte, len("zINSTREAM\x00"))
	if _, err := io.ReadFull(conn, command); err != nil || string(command) != "zINSTREAM\x00" {
		return []byte("wrong command " + string(command))
	}
	var content bytes.Buffer
	for {
		var length uint32
		if binary.Read(conn, binary.BigEndian, &length) != nil || length == 0 {
			return content.Bytes()
		}
		if _, err := io.CopyN(&content, conn, int64(length)); err != nil {
			return content.Bytes()
		}
	}
}

func TestClamd(t *testing.T) {
	large := strings.Repeat("0123456789", 100_000)
	for _, tt := range []struct{ answer, want string }{
		{"stream: OK\x00", "accepted"},
		{"stream: OK", "accepted"},
		{"stream: Eicar-Test-Signature FOUND\x00", "refused: Eicar-Test-Signature"},
		{"stream: OK FOUND\x00", "refused: OK"},
		{"stream: OK or not\x00", "failed"},
		{"stream: Can't allocate memory ERROR\x00", "failed"},
		{"INSTREAM size limit exceeded. ERROR\x00", "failed"},
		{"UNKNOWN COMMAND\x00", "failed"},
		{"", "failed"},
		{"\x00\x00", "failed"},
		{strings.Repeat("\x01", 1<<20), "failed"},
	} {
		s := listen(t, func(conn net.Conn, content []byte) {
			if string(content) != large {
				fmt.Fprint(conn, "wrong content")
				return
			}
			fmt.Fprint(conn, tt.answer)
		})
		err := s.Scan(t.Context(), Object{"a", int64(len(large))}, strings.NewReader(large))
		if got := result(err); got != tt.want {
			t.Errorf("%.40q: got %v (%v), want %v", tt.answer, got, err, tt.want)
		}
		if permanent := retry.Class("permanent") == classOf(err); permanent != strings.Contains(tt.answer, "size limit") && result(err) == "failed" {
			t.Errorf("%.40q: class %v", tt.answer, classOf(err))
		}
	}
}

func classOf(err error) retry.Class {
	class, _ := retry.Classify(err)
	return class
}

// TestClamdMissing verifies that a clamd that is not there, hangs up, or does not answer is an error.
func TestClamdMissing(t *testing.T) {
	missing, err := New("clamd:"+filepath.Join(t.TempDir(), "clamd.ctl"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if err := missing.Check(t.Context()); result(err) != "failed" || missing.String() == "" {
		t.Errorf("not there: got %v", err)
	}
	rest := make(chan struct{})
	silent := listen(t, func(net.Conn, []byte) { <-rest })
	if err := silent.Check(t.Context()); !strings.Contains(fmt.Sprint(err), "no progress in 1s") {
		t.Errorf("silent: got %v", err)
	}
	close(rest)
	if err := listen(t, func(net.Conn, []byte) {}).Check(t.Context()); result(err) != "failed" {
		t.Errorf("hangs up: got %v", err)
	}
	if err := listen(t, func(conn net.Conn, content []byte) {
		if string(content) != sample {
			fmt.Fprint(conn, "wrong")
			return
		}
		fmt.Fprint(conn, clean+"\x00")
	}).Check(t.Context()); err != nil {
		t.Errorf("check: got %v", err)
	}
}
