package ai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

func send(t *testing.T, c *Client) *Stream {
	t.Helper()
	s, err := c.Send(t.Context(), "c", Message{Prompt: "p", Model: "agent-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// all reads a stream to its end, and verifies that further calls return the same error.
func all(t *testing.T, s *Stream) (got []Event, last error) {
	t.Helper()
	for {
		e, err := s.Next()
		if err != nil {
			if _, again := s.Next(); again != err {
				t.Errorf("after %v comes %v", err, again)
			}
			return got, err
		}
		got = append(got, e)
	}
}

func TestEvents(t *testing.T) {
	const end = "event: done\ndata: {}\n\n"
	for _, c := range []struct {
		name, stream string
		want         []Event
	}{
		{"reply", "event: message-metadata\ndata: {\"messageId\":\"m\"}\n\nevent: reasoning\ndata: {}\n\nevent: text-delta\ndata: {\"textDelta\":\"a\"}\n\n" +
			"event: conversation-title\ndata: {\"conversationTitle\":\"t\"}\n\n" + end,
			[]Event{MessageMetadata{"m"}, Reasoning{}, TextDelta{"a"}, ConversationTitle{"t"}}},
		{"sources", "event: web-search\ndata: {}\n\nevent: source\ndata: {\"source\":{\"type\":\"url\",\"id\":\"1\",\"url\":\"https://example.com\",\"title\":\"T\",\"favicon\":\"f\"}}\n\nevent: document-read\ndata: {\"method\":\"full\"}\n\n" + end,
			[]Event{WebSearch{}, Source{"1", "https://example.com", "T", "f"}, DocumentRead{"full"}}},
		{"action", "event: action-metadata\ndata: {\"callId\":\"c\"}\n\nevent: modification-delta\ndata: {\"id\":\"1\",\"textDelta\":\"x\",\"documentId\":\"d\"}\n\n" + end,
			[]Event{ActionMetadata{"c"}, ModificationDelta{"1", "x", "d"}}},
		{"tools", "event: mcp-tool-notification\ndata: {\"toolName\":\"s-t\",\"data\":{\"a\":1},\"level\":\"debug\"}\n\nevent: mcp-tool-result\ndata: {\"toolName\":\"s-t\",\"result\":\"{}\"}\n\n" + end,
			[]Event{MCPToolNotification{"s-t", []byte(`{"a":1}`), "debug"}, MCPToolResult{"s-t", "{}"}}},
		{"review", "event: review-metadata\ndata: {\"callId\":\"c\"}\n\n" +
			"event: review-delta\ndata: {\"dataId\":\"1\",\"textDelta\":\"a\"}\n\nevent: review-delta\ndata: {\"id\":\"2\",\"text\":\"b\"}\n\n" +
			"event: review-delta\ndata: {\"data-id\":\"3\",\"content\":\"c\"}\n\nevent: review-delta\ndata: {\"elementId\":\"4\",\"suggestion\":\"d\"}\n\n" + end,
			[]Event{ReviewMetadata{"c"}, ReviewDelta{"1", "a"}, ReviewDelta{"2", "b"}, ReviewDelta{"3", "c"}, ReviewDelta{"4", "d"}}},
		{"documents", "event: document-processing-metadata\ndata: {\"callId\":\"c\"}\n\nevent: document-delta\ndata: {\"documentIndex\":1,\"textDelta\":\"a\"}\n\nevent: summary-delta\ndata: {\"documentIndex\":1,\"textDelta\":\"b\"}\n\n" + end,
			[]Event{ProcessingMetadata{"c"}, DocumentDelta{1, "a"}, SummaryDelta{1, "b"}}},
		{"unknown ones", "event: news\ndata: not JSON\n\ndata: {\"textDelta\":\"z\"}\n\nevent: text-delta\ndata: {\"textDelta\":\"a\"}\n\n" + end, []Event{TextDelta{"a"}}},
		{"no end marker", "event: text-delta\ndata: {\"textDelta\":\"a\"}\n\n", []Event{TextDelta{"a"}}},
		{"another end marker", "event: text-delta\ndata: {\"textDelta\":\"a\"}\n\nevent: end-of-stream\ndata: {}\n\n", []Event{TextDelta{"a"}}},
		{"nothing counts behind the end", end + "event: text-delta\ndata: {\"textDelta\":\"a\"}\n\n", nil},
		{"envelope", "data: {\"event\":\"text-delta\",\"data\":{\"textDelta\":\"a\"}}\n\nevent: text-delta\ndata: {\"event\":\"text-delta\",\"data\":{\"textDelta\":\"b\"}}\n\ndata: {\"event\":\"done\",\"data\":{}}\n\n" +
			"event: text-delta\ndata: {\"textDelta\":\"c\"}\n\n",
			[]Event{TextDelta{"a"}, TextDelta{"b"}}},
		{"a text about envelopes", "event: text-delta\ndata: {\"textDelta\":\"{\\\"event\\\":\\\"done\\\",\\\"data\\\":{}}\"}\n\n" + end, []Event{TextDelta{`{"event":"done","data":{}}`}}},
		{"comments and split data", ": hello\n\nevent: text-delta\ndata: {\"textDelta\":\ndata: \"a\"}\n\n" + end, []Event{TextDelta{"a"}}},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := all(t, send(t, serve(t, Options{}, events(c.stream))))
			if diff := cmp.Diff(c.want, got); diff != "" || err != io.EOF {
				t.Errorf("got %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestStreamErrors(t *testing.T) {
	const begin = "event: text-delta\ndata: {\"textDelta\":\"a\"}\n\n"
	for _, c := range []struct {
		name, stream string
		want         string
		class        retry.Class
		billed       bool
	}{
		{"from the provider", begin + "event: error\ndata: {\"message\":\"no luck\",\"cause\":{\"providerStatusCode\":503}}\n\n", "no luck (status 503 of the model provider)", retry.Transient, false},
		{"rate of the provider", begin + "event: error\ndata: {\"message\":\"slow\",\"cause\":{\"providerStatusCode\":429}}\n\n", "429", retry.Throttled, false},
		{"not to the provider's liking", begin + "event: error\ndata: {\"cause\":{\"providerStatusCode\":400}}\n\n", "400", retry.Permanent, false},
		{"not worth another try", begin + "event: error\ndata: {\"message\":\"never\",\"retryable\":false}\n\n", "never", retry.Permanent, false},
		{"worth another try", begin + "event: error\ndata: {\"message\":\"later\",\"retryable\":true}\n\n", "later", retry.Transient, false},
		{"without anything", begin + "event: error\ndata: {}\n\n", "stopped the response", retry.Transient, false},
		{"no JSON", begin + "event: error\ndata: oops\n\n", "stopped the response", retry.Transient, false},
		{"in an envelope", begin + "data: {\"event\":\"error\",\"data\":{\"message\":\"wrapped\"}}\n\n", "wrapped", retry.Transient, false},
		{"cut", begin + "event: text-delta\ndata: {\"text", "unexpected EOF", retry.Transient, true},
		{"cut behind a line", begin + "event: text-delta\ndata: {\"textDelta\":\"b\"}\n", "unexpected EOF", retry.Transient, true},
		{"garbled", begin + "event: text-delta\ndata: {{\n\n", "event text-delta", retry.Transient, true},
		{"another type", begin + "event: text-delta\ndata: {\"textDelta\":7}\n\n", "event text-delta", retry.Transient, true},
		{"too large", begin + "event: text-delta\ndata: " + strings.Repeat("x", maxEvent) + "\n\n", "larger than", retry.Transient, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := all(t, send(t, serve(t, Options{}, events(c.stream))))
			if diff := cmp.Diff([]Event{TextDelta{"a"}}, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			class, _ := retry.Classify(err)
			if err == nil || !strings.Contains(err.Error(), c.want) || class != c.class || errors.Is(err, ErrMayBeBilled) != c.billed {
				t.Errorf("got %s, may be billed %v, %v; want %s, %v, %q", class, errors.Is(err, ErrMayBeBilled), err, c.class, c.billed, c.want)
			}
			if _, ok := errors.AsType[*StreamError](err); ok == c.billed {
				t.Errorf("got a %T", err)
			}
		})
	}
}

// The test verifies that a broken connection is not the end of an answer, even between events.
func TestStreamBroken(t *testing.T) {
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // unread bytes would make the system discard the answer
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: text-delta\ndata: {\"textDelta\":\"a\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	got, err := all(t, send(t, c))
	if len(got) != 1 || !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, ErrMayBeBilled) {
		t.Errorf("got %v, %v", got, err)
	}
}

// The test verifies that a page of a proxy counts neither as an answer nor as an empty answer.
func TestNoStream(t *testing.T) {
	c := serve(t, Options{}, answer(200, "text/html; charset=utf-8", "<html>\n\nSign in\n\n"))
	_, err := c.Send(t.Context(), "c", Message{})
	if err == nil || !strings.Contains(err.Error(), "text/html") || !errors.Is(err, ErrMayBeBilled) {
		t.Errorf("got %v", err)
	}
}

// FuzzStream verifies that any stream ends with an answer or an error, and that its text is the
// text of its parts.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{delta, delta + "event: done\ndata: {}\n\n", "data: {\"event\":\"text-delta\",\"data\":{\"textDelta\":\"a\"}}\n\n", "event: error\ndata: {}\n\n", "event: source\ndata: {\"source\":null}\n\n", "event: review-delta\ndata: []\n\n", "event: text-delta\ndata: {"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		c := newClient(t, Options{BaseURL: closedURL, Transport: fakeTransport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(stream))}, nil
		})})
		want, last := all(t, send(t, c))
		var parts strings.Builder
		for _, e := range want {
			if d, ok := e.(TextDelta); ok {
				parts.WriteString(d.Text)
			}
		}
		got, err := Text(send(t, c))
		if err == nil && (last != io.EOF || got != parts.String()) || err != nil && last == io.EOF && !errors.Is(err, ErrEmpty) {
			t.Errorf("got %q, %v, after the events %v, %v", got, err, want, last)
		}
	})
}

// A fakeTransport answers without a network, for tests with fake time.
type fakeTransport func(*http.Request) (*http.Response, error)

func (f fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	return f(r)
}

// A pipe is a body that is written while it is read. It ends with the context of the request, like
// bodies of real transports.
type pipe struct {
	*io.PipeReader
	w      *io.PipeWriter
	closed chan struct{}
}

func newPipe(ctx context.Context) *pipe {
	r, w := io.Pipe()
	p := &pipe{r, w, make(chan struct{})}
	context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	return p
}

func (p *pipe) Close() error {
	close(p.closed)
	return p.PipeReader.Close()
}

// overPipe returns a client whose answers arrive through pipes.
func overPipe(t *testing.T, o Options) (*Client, chan *pipe) {
	t.Helper()
	pipes := make(chan *pipe, 1)
	o.BaseURL = closedURL
	o.Transport = fakeTransport(func(r *http.Request) (*http.Response, error) {
		p := newPipe(r.Context())
		pipes <- p
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: p, Request: r}, nil
	})
	return newClient(t, o), pipes
}

const delta = "event: text-delta\ndata: {\"textDelta\":\"a\"}\n\n"

func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pipes := overPipe(t, Options{IdleTimeout: time.Minute})
		s, p := send(t, c), <-pipes
		go func() {
			for range 3 {
				time.Sleep(time.Minute - 1)
				_, _ = io.WriteString(p.w, delta)
			}
		}()
		for range 3 {
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour) // the time of the caller does not count as idle
		start := time.Now()
		_, err := s.Next()
		stall, ok := errors.AsType[outbound.StallError](err)
		if !ok || stall.After != time.Minute || time.Since(start) != time.Minute || !errors.Is(err, ErrMayBeBilled) {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		<-p.closed
	})
}

// The test verifies that a request without an answer is cancelled.
func TestIdleBeforeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Options{BaseURL: closedURL, Transport: fakeTransport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		start := time.Now()
		_, err := c.Send(t.Context(), "c", Message{})
		if _, ok := errors.AsType[outbound.StallError](err); !ok || time.Since(start) != defaultIdleTimeout || !errors.Is(err, ErrMayBeBilled) {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		c.policy.Attempts = 1
		start = time.Now()
		if _, err := c.Models(t.Context()); err == nil || time.Since(start) != plainTimeout {
			t.Errorf("models: got %v after %v", err, time.Since(start))
		}
	})
}

func TestCancelClosesBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pipes := overPipe(t, Options{})
		enough := errors.New("enough")
		for _, reading := range []bool{true, false} {
			ctx, cancel := context.WithCancelCause(t.Context())
			s, err := c.Send(ctx, "c", Message{})
			if err != nil {
				t.Fatal(err)
			}
			p := <-pipes
			if reading {
				time.AfterFunc(time.Second, func() { cancel(enough) })
			} else {
				cancel(enough)
				<-p.closed // without a call of Next
			}
			if _, err := s.Next(); !errors.Is(err, enough) || !errors.Is(err, context.Canceled) {
				t.Errorf("reading %v: got %v", reading, err)
			}
			<-p.closed
		}
	})
}

func TestCloseTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pipes := overPipe(t, Options{})
		s, p := send(t, c), <-pipes
		_ = s.Close()
		_ = s.Close()
		<-p.closed
		if _, err := s.Next(); err == nil || err == io.EOF {
			t.Errorf("got %v", err)
		}
	})
}

// The test verifies that the end marker ends an answer although the connection stays open, after a
// short wait.
func TestLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pipes := overPipe(t, Options{})
		s, p := send(t, c), <-pipes
		go func() { _, _ = io.WriteString(p.w, "event: done\ndata: {}\n\n") }()
		start := time.Now()
		if _, err := s.Next(); err != io.EOF || time.Since(start) != linger {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		<-p.closed
	})
}

// The test verifies that events without content do not keep a caller waiting forever.
func TestEventsThatNeverEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pipes := overPipe(t, Options{IdleTimeout: time.Minute})
		s, p := send(t, c), <-pipes
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				time.Sleep(time.Minute - 1)
				if _, err := io.WriteString(p.w, "event: ping\ndata: {}\n\n"); err != nil {
					return
				}
			}
		}()
		start := time.Now()
		_, err := s.Next()
		stall, ok := errors.AsType[outbound.StallError](err)
		if !ok || !stall.Total || time.Since(start) > 30*time.Minute {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		<-p.closed
		<-ended
	})
}
