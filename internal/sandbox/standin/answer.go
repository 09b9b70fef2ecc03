package standin

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// An Answer counts itself when its status is known, so that whoever has seen an
// answer finds it in the statistics.
type Answer struct {
	http.ResponseWriter
	Without []string // headers that are left out
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

// lost counts an answer that never comes.
func (a *Answer) lost() { a.once(0) }

func (a *Answer) once(status int) {
	if !a.counted && (status == 0 || status >= 200) {
		a.counted = true
		a.count(status)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (a *Answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// bodyIdle is how long a body may stand still. There is no limit on the whole,
// since files of several gigabytes take their time.
const bodyIdle = 2 * time.Minute

// A Body is a request's body that knows whether it was cut short.
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
		_ = b.controller.SetReadDeadline(time.Time{}) // nothing more to wait for
	}
	return n, err
}

// Close closes the body of the request.
func (b *Body) Close() error { return b.source.Close() }

// deadline limits the time until more arrives. Not every connection can.
func (b *Body) deadline(d time.Duration) { _ = b.controller.SetReadDeadline(time.Now().Add(d)) }

// IsCut reports whether the body broke off before its end.
func (b *Body) IsCut() bool { return b.err != nil && !errors.Is(b.err, io.EOF) }
