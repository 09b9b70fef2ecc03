// Package standin contains the common parts of all stand-ins: routes, requests with faults,
// statistics, and access for browsers.
package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"assetferry/internal/sandbox/fault"
)

// MarkHeader is in every answer, so that a sandbox is not mistaken for the real service.
const MarkHeader = "X-Sandbox"

const (
	// maxDrain is the number of bytes of a refused upload that are read, so that the client can
	// read the error. After them the connection is closed.
	maxDrain = 64 << 20
	// drainTime is the maximum wait for the rest of a refused upload.
	drainTime = 10 * time.Second
)

// An Exchange is a request with its answer.
type Exchange struct {
	W    *Answer
	R    *http.Request
	Body *Body // body of the request
}

// NewExchange wraps a request. count is called with the status of the answer; 0 means that the
// connection was closed without an answer.
func NewExchange(w http.ResponseWriter, r *http.Request, count func(status int)) *Exchange {
	x := &Exchange{R: r, W: &Answer{ResponseWriter: w, count: count}}
	x.Body = &Body{source: r.Body, controller: http.NewResponseController(w)}
	r.Body = x.Body
	return x
}

// Reply responds with JSON.
func (x *Exchange) Reply(status int, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	x.send(status, "application/json; charset=utf-8", b.Bytes())
	return nil
}

// SendMade responds with content that made returns.
func (x *Exchange) SendMade(contentType string, made func() ([]byte, error)) error {
	text, err := made()
	if err != nil {
		return err
	}
	return x.SendText(contentType, text)
}

// SendText responds with text.
func (x *Exchange) SendText(contentType string, text []byte) error {
	x.send(http.StatusOK, contentType, text)
	return nil
}

func (x *Exchange) send(status int, contentType string, text []byte) {
	h := x.W.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	x.W.WriteHeader(status)
	_, _ = x.W.Write(text) // the client may have disconnected
}

// Done responds without a body.
func (x *Exchange) Done() error {
	x.W.WriteHeader(http.StatusNoContent)
	return nil
}

// Drain reads the rest of a refused body: a client that is still sending would otherwise get a
// connection error in place of the answer. A client that waits for "100 Continue" does not get it.
func (x *Exchange) Drain() {
	if x.R.Header.Get("Expect") != "" && !x.Body.touched {
		return
	}
	x.Body.deadline(drainTime)
	if n, err := io.CopyN(io.Discard, x.Body.source, maxDrain); n == maxDrain || err != nil && !errors.Is(err, io.EOF) {
		x.W.Header().Set("Connection", "close")
	}
}

// Abort closes the connection without an answer.
func (x *Exchange) Abort() {
	x.W.lost()
	panic(http.ErrAbortHandler)
}

// Misbehave executes a fault after its delay. handle responds normally, and refuse responds with a
// status and a reason.
func (x *Exchange) Misbehave(f fault.Rule, handle func(), refuse func(status int, reason string)) {
	switch {
	case f.Drop == fault.Before:
		x.Abort()
	case f.Drop == fault.After:
		x.unseen(handle)
		x.Abort()
	case f.AnswerStatus() == 0: // only a delay, or a fault of a stream
		handle()
		return
	case f.Commit == fault.After:
		x.unseen(handle)
	}
	if f.HasRetry {
		x.W.Header().Set("Retry-After", f.RetryAfter)
	}
	refuse(f.AnswerStatus(), fmt.Sprintf("A fault is configured for this request: %s.", f))
}

// unseen calls do and discards its answer, unless do closes the connection.
func (x *Exchange) unseen(do func()) {
	seen := x.W
	x.W = &Answer{ResponseWriter: discarded{http.Header{}}, count: func(status int) {
		if status == 0 {
			seen.lost()
		}
	}}
	defer func() { x.W = seen }()
	do()
}

// discarded is an answer that is not sent.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}

// Pause waits, and reports false if the context ends first.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
