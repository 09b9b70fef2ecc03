package standin

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// An Answer is counted when its status is known, so that a client that has received it finds it in
// the statistics.
type Answer struct {
	http.ResponseWriter
	Without []string // omitted headers
	Sent    int64    // bytes of the body

	count   func(status int)
	counted bool
}

// WriteHeader sends the status and the headers.
func (a *Answer) WriteHeader(status int) {
	a.once(status)
	for _, name := range a.Without {
		a.Header().Del(name)
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (a *Answer) Write(p []byte) (int, error) {
	a.once(http.StatusOK)
	n, err := a.ResponseWriter.Write(p)
	a.Sent += int64(n)
	return n, err
}

// lost counts an answer that is never sent.
func (a *Answer) lost() { a.once(0) }

func (a *Answer) once(status int) {
	if !a.counted && (status == 0 || status >= 200) {
		a.counted = true
		a.count(status)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (a *Answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// bodyIdle is the maximum time without progress of a body. The total time is not limited, because
// files of several gigabytes take long.
const bodyIdle = 2 * time.Minute

// A Body is the body of a request that detects an early end.
type Body struct {
	source     io.ReadCloser
	controller *http.ResponseController
	touched    bool
	extended   time.Time
	err        error
}

func (b *Body) Read(p []byte) (int, error) {
	b.touched = true
	if now := time.Now(); now.Sub(b.extended) > bodyIdle/16 {
		b.extended = now
		b.deadline(bodyIdle)
	}
	n, err := b.source.Read(p)
	if err != nil {
		b.err = err
		_ = b.controller.SetReadDeadline(time.Time{}) // no further bytes
	}
	return n, err
}

// Close closes the body of the request.
func (b *Body) Close() error { return b.source.Close() }

// deadline limits the time until more bytes arrive. Some connections do not support it.
func (b *Body) deadline(d time.Duration) { _ = b.controller.SetReadDeadline(time.Now().Add(d)) }

// IsCut reports whether the body ended early.
func (b *Body) IsCut() bool { return b.err != nil && !errors.Is(b.err, io.EOF) }
