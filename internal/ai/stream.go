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
	maxEvent = 2 << 20 // bytes; text comes in parts that are far smaller
	// maxStream is how many idle timeouts an answer may be waited for in all: it must end, even if
	// events come every now and then.
	maxStream = 20
	minStream = 10 * time.Minute
	// linger is how long the end of a body is waited for, which lets the connection be used
	// again and does not make the service think that we have gone.
	linger = time.Second
)

// A Stream is an answer that is under way. It is read by one goroutine; Close may be called
// from any, and must be called unless Next gave an error.
type Stream struct {
	client  *Client
	request *request
	reply   *reply
	events  *sse.Reader
	err     error
	waited  time.Duration // for events, in all

	closing sync.Once
	forget  func() bool // no longer close on behalf of the context
}

// stream makes a call whose answer is a stream of events.
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

// Close ends the answer, wherever it is. The service may finish it all the same, and bills it.
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

// Next returns the next event that is known. The error is io.EOF at the end of the answer, a
// *[StreamError] if the service gave up, and otherwise an *[Error]: nothing came for the idle
// timeout, the context is done, the answer was cut off, or it is not readable. It comes again
// on each further call.
func (s *Stream) Next() (Event, error) {
	for s.err == nil {
		if most := max(s.client.idleTimeout*maxStream, minStream); s.waited > most {
			s.end(s.failure(outbound.StallError{After: most, Total: true}))
			break
		}
		began := time.Now()
		s.reply.dog.Alive()
		raw, err := s.events.Next()
		s.reply.dog.Rest() // from here on it is our caller who takes time
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

// cause says what the end of the body means. Without a blank line behind its last event it
// was cut off, even where the connection ended in good order.
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

// failure is the error of an answer that has begun: whatever went wrong, it was billed.
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

// empty is the error of an answer that came to its end and holds nothing.
func (s *Stream) empty() error {
	e := s.client.unreadable(s.request, s.reply.Response, ErrEmpty)
	e.MayBeBilled = false // it was, and there is nothing to look for
	return e
}

// linger reads up to the end of the body.
func (s *Stream) linger() {
	soon := time.AfterFunc(linger, s.release)
	defer soon.Stop()
	_, _ = io.CopyN(io.Discard, s.reply.Body, maxFault)
}

// A StreamError is what the service said within an answer that it gave up.
type StreamError struct {
	Message        string
	ProviderStatus int   // what the provider of the model said; 0 if that is not known
	Retryable      *bool // nil: the service did not say
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

// Class is that of what the provider said; without that another try may help, unless the
// service says that none does.
func (e *StreamError) Class() retry.Class {
	switch {
	case e.ProviderStatus == 429:
		return retry.Throttled
	case e.Retryable != nil && !*e.Retryable:
		return retry.Permanent
	case e.Retryable == nil && (e.ProviderStatus == 400 || e.ProviderStatus == 413 || e.ProviderStatus == 422):
		return retry.Permanent // it does not take what we sent; that it takes no key is not our fault
	}
	return retry.Transient
}
