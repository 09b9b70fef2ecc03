package ai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"sync"
	"time"

	"assetferry/internal/ai/sse"
	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

const (
	maxEvent = 2 << 20 // bytes; text arrives in much smaller parts
	// maxStream is the maximum time for an answer in idle timeouts: it must end, even if events
	// arrive from time to time.
	maxStream = 20
	minStream = 10 * time.Minute
	// linger is the maximum wait for the end of a body. It lets the connection be reused, and the
	// service does not see a disconnected client.
	linger = time.Second
)

// A Stream is an answer in progress. One goroutine reads it. Any goroutine may call Close, which is
// required unless Next returned an error.
type Stream struct {
	client  *Client
	request *request
	reply   *reply
	events  *sse.Reader
	err     error
	waited  time.Duration // total time for events

	closing sync.Once
	forget  func() bool // cancels the close by the context
}

// stream sends a request whose answer is a stream of events.
func (c *Client) stream(ctx context.Context, r *request) (*Stream, error) {
	var s *Stream
	r.accept = "text/event-stream"
	err := c.do(ctx, r, func(got *reply) (bool, error) {
		if is, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type")); is != "" && is != "text/event-stream" {
			return false, c.unreadable(r, got.Response, fmt.Errorf("the response is %s, not a stream of events", outbound.Printable(is)))
		}
		got.dog.Rest()
		s = &Stream{client: c, request: r, reply: got, events: sse.NewReader(got.Body, maxEvent)}
		s.forget = context.AfterFunc(ctx, s.close)
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the answer at any point. The service may complete it nevertheless, and bills it.
func (s *Stream) Close() error {
	s.release()
	return nil
}

func (s *Stream) release() {
	s.forget()
	s.close()
}

func (s *Stream) close() {
	s.closing.Do(func() {
		s.reply.dog.Stop()
		_ = s.reply.Body.Close()
	})
}

// Next returns the next known event. The error is io.EOF at the end of the answer, a *[StreamError]
// if the service stopped the answer, and otherwise an *[Error]: no data within the idle timeout,
// the end of the context, an interrupted answer, or an invalid one. Further calls return the same
// error.
func (s *Stream) Next() (Event, error) {
	for s.err == nil {
		if most := max(s.client.idleTimeout*maxStream, minStream); s.waited > most {
			s.end(s.failure(outbound.StallError{After: most, Total: true}))
			break
		}
		began := time.Now()
		s.reply.dog.Alive()
		raw, err := s.events.Next()
		s.reply.dog.Rest() // the time until the next call belongs to the caller
		s.waited += time.Since(began)
		if err != nil {
			s.end(s.cause(err))
			break
		}
		event, err := decode(raw)
		switch {
		case err == io.EOF:
			s.linger()
			s.end(err)
		case err != nil:
			s.end(s.failure(err))
		case event != nil:
			return event, nil
		}
	}
	return nil, s.err
}

func (s *Stream) end(err error) {
	s.err = err
	s.release()
}

// cause returns the error for the end of the body. Without a blank line after its last event the
// answer was interrupted, even if the connection ended normally.
func (s *Stream) cause(err error) error {
	switch {
	case s.reply.ctx.Err() != nil:
		err = outbound.ContextError(s.reply.ctx)
	case err == io.EOF && !s.events.Cut():
		return io.EOF
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return s.failure(err)
}

// failure returns the error of an answer in progress: it was billed, whatever the failure.
func (s *Stream) failure(err error) error {
	if said, ok := errors.AsType[*StreamError](err); ok {
		said.Message = s.client.redactor.Text(said.Message)
		return err
	}
	if stall, ok := errors.AsType[outbound.StallError](err); ok && !stall.Total {
		err = fmt.Errorf("the response stalled: %w", stall)
	}
	return s.client.unreadable(s.request, s.reply.Response, err)
}

// empty returns the error of a complete answer without content.
func (s *Stream) empty() error {
	e := s.client.unreadable(s.request, s.reply.Response, ErrEmpty)
	e.MayBeBilled = false // it was certainly billed, and there is no reply to look up
	return e
}

// linger reads to the end of the body.
func (s *Stream) linger() {
	soon := time.AfterFunc(linger, s.release)
	defer soon.Stop()
	_, _ = io.CopyN(io.Discard, s.reply.Body, maxFault)
}

// A StreamError is an error of the service within an answer that it stopped.
type StreamError struct {
	Message        string
	ProviderStatus int   // status of the model provider; 0 if unknown
	Retryable      *bool // nil: unknown
}

func (e *StreamError) Error() string {
	text := "the service stopped the response"
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.ProviderStatus != 0 {
		text += fmt.Sprintf(" (status %d of the model provider)", e.ProviderStatus)
	}
	return text
}

// Class returns the class for the status of the provider. Without a status, another attempt may
// help, unless the service reports that it does not.
func (e *StreamError) Class() retry.Class {
	switch {
	case e.ProviderStatus == 429:
		return retry.Throttled
	case e.Retryable != nil && !*e.Retryable:
		return retry.Permanent
	case e.Retryable == nil && (e.ProviderStatus == 400 || e.ProviderStatus == 413 || e.ProviderStatus == 422):
		return retry.Permanent // the provider rejects the request; other client errors, such as a rejected key, are the service's own
	}
	return retry.Transient
}
