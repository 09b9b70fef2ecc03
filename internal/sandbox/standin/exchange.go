// Package standin holds what every stand-in of a service needs, whatever the
// service: routes, requests that faults disturb, statistics, and leave for browsers.
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

// MarkHeader is in every answer, so that nobody takes a rehearsal for the real service.
const MarkHeader = "X-Sandbox"

const (
	// maxDrain is how much of a refused upload is read, so that the client gets
	// to read the refusal. Beyond that the connection is closed.
	maxDrain = 64 << 20
	// drainTime is the longest wait for the rest of a refused upload.
	drainTime = 10 * time.Second
)

// An Exchange is one request with its answer.
type Exchange struct {
	W    *Answer
	R    *http.Request
	Body *Body // of the request
}

// NewExchange takes hold of a request. count is told the status of its answer once
// that is known; 0 is a connection that ends without one.
func NewExchange(w http.ResponseWriter, r *http.Request, count func(status int)) *Exchange {
	x := &Exchange{R: r, W: &Answer{ResponseWriter: w, count: count}}
	x.Body = &Body{source: r.Body, controller: http.NewResponseController(w)}
	r.Body = x.Body
	return x
}

// Reply answers with JSON.
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

// SendMade answers with what is made once, when it is first asked for.
func (x *Exchange) SendMade(contentType string, made func() ([]byte, error)) error {
	text, err := made()
	if err != nil {
		return err
	}
	return x.SendText(contentType, text)
}

// SendText answers with a text.
func (x *Exchange) SendText(contentType string, text []byte) error {
	x.send(http.StatusOK, contentType, text)
	return nil
}

func (x *Exchange) send(status int, contentType string, text []byte) {
	h := x.W.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	x.W.WriteHeader(status)
	_, _ = x.W.Write(text) // a client that has gone loses nothing that matters
}

// Done answers without a body.
func (x *Exchange) Done() error {
	x.W.WriteHeader(http.StatusNoContent)
	return nil
}

// Drain reads the rest of a refused body: a client that is still sending would
// otherwise see a broken connection instead of the answer. One that asked for
// leave to send simply does not get it.
func (x *Exchange) Drain() {
	if x.R.Header.Get("Expect") != "" && !x.Body.touched {
		return
	}
	x.Body.deadline(drainTime)
	if n, err := io.CopyN(io.Discard, x.Body.source, maxDrain); n == maxDrain || err != nil && !errors.Is(err, io.EOF) {
		x.W.Header().Set("Connection", "close")
	}
}

// Abort cuts the connection.
func (x *Exchange) Abort() {
	x.W.lost()
	panic(http.ErrAbortHandler)
}

// Misbehave carries out a fault, whose delay has passed already. handle answers as
// if there were none, and refuse with a status and a reason.
func (x *Exchange) Misbehave(f fault.Rule, handle func(), refuse func(status int, reason string)) {
	switch {
	case f.Drop == fault.Before:
		x.Abort()
	case f.Drop == fault.After:
		x.unseen(handle)
		x.Abort()
	case f.AnswerStatus() == 0: // only a delay, or a stream to spoil
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

// unseen runs do and throws its answer away, unless do ends the connection.
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

// discarded is an answer that nobody sees.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}

// Pause waits, and reports false if the context ends meanwhile.
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
