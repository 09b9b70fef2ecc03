package scan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"
)

// clamdPrefix begins the setting for a direct connection to clamd, which saves a process for each
// object.
const clamdPrefix = "clamd:"

// A clamd is the daemon of ClamAV, at a socket or a port.
type clamd struct{ network, at string }

func newClamd(at string) (*clamd, error) {
	if filepath.IsAbs(at) || strings.HasPrefix(at, "/") {
		return &clamd{"unix", at}, nil
	}
	if host, port, err := net.SplitHostPort(at); err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("%s%s names neither an absolute path of a socket nor HOST:PORT", clamdPrefix, at)
	}
	return &clamd{"tcp", at}, nil
}

const (
	dialTimeout = 10 * time.Second
	clean       = "stream: OK"
)

// A sizeError means that clamd does not scan objects of this size.
type sizeError struct{ answer string }

func (e *sizeError) Error() string {
	return e.answer + " (raise StreamMaxLength in clamd.conf, or exclude the object)"
}

// scan sends the content with the command INSTREAM. Clamd closes the connection in the middle of an
// object that is too large, so its answer is read after a failed write, too.
func (c *clamd) scan(ctx context.Context, _ Object, content *meter) error {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, c.network, c.at)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	unsent := send(conn, content)
	if content.failed != nil {
		return content.failed
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxOutput))
	said := oneLine(bytes.TrimRight(answer, "\x00"))
	verdict, found := strings.CutSuffix(said, " FOUND")
	switch {
	case found:
		return &RefusedError{strings.TrimPrefix(verdict, "stream: ")}
	case said == clean && unsent == nil && err == nil:
		return nil
	case strings.Contains(said, "size limit exceeded"):
		return &sizeError{said}
	case said != "":
		return errors.New(said)
	}
	return cmp.Or(unsent, err, errors.New("no answer"))
}

// send sends the content in chunks, each after its length. A length of zero ends it.
func send(conn net.Conn, content *meter) error {
	if _, err := io.WriteString(conn, "zINSTREAM\x00"); err != nil {
		return err
	}
	if _, err := content.WriteTo(chunks{conn}); err != nil {
		return err
	}
	_, err := conn.Write(make([]byte, 4))
	return err
}

type chunks struct{ net.Conn }

func (c chunks) Write(p []byte) (int, error) {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(p)))
	if _, err := (&net.Buffers{head, p}).WriteTo(c.Conn); err != nil {
		return 0, err
	}
	return len(p), nil
}
