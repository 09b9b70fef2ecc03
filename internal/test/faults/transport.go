package faults

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// slowBy is the delay of the body of a slow answer: enough for everything else to proceed
// meanwhile.
const slowBy = 20 * time.Millisecond

// A Transport passes requests on to Next and makes one of them fail.
type Transport struct {
	*Moment
	Next http.RoundTripper
	Kind TransportKind
	// Match reports whether a request counts; nil means that all do.
	Match func(*http.Request) bool
}

// A TransportKind is a way for a request to fail. Kinds named before or after say whether the
// service has processed the request.
type TransportKind struct {
	Name   string
	strike func(http.RoundTripper, *http.Request) (*http.Response, error)
	// documents says that only JSON answers can fail in this way: in other content the fault could
	// not be detected.
	documents bool
}

// TransportKinds returns all ways for a request to fail.
func TransportKinds() []TransportKind {
	return []TransportKind{
		{Name: "dial refused", strike: refuseDial},
		{Name: "cut before", strike: cutBefore},
		{Name: "cut after", strike: after(cut)},
		{Name: "timeout after", strike: after(timeOut)},
		{Name: "truncated answer", strike: after(truncate)},
		{Name: "garbled answer", strike: after(garble), documents: true},
		{Name: "slow answer", strike: after(slow)},
		{Name: "error in 200 before", strike: before(http.StatusOK), documents: true},
		{Name: "error in 200 after", strike: after(answer(http.StatusOK)), documents: true},
		{Name: "429 before", strike: before(http.StatusTooManyRequests)},
		{Name: "500 before", strike: before(http.StatusInternalServerError)},
		{Name: "500 after", strike: after(answer(http.StatusInternalServerError))},
		{Name: "503 before", strike: before(http.StatusServiceUnavailable)},
		{Name: "503 after", strike: after(answer(http.StatusServiceUnavailable))},
	}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	counts := (t.Match == nil || t.Match(r)) && (!t.Kind.documents || r.Header.Get("Accept") == "application/json")
	if !counts || !t.comes() {
		return t.Next.RoundTrip(r)
	}
	return t.Kind.strike(t.Next, r)
}

// CloseIdleConnections closes those of Next.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.Next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// networkError returns the error of a broken connection.
func networkError(op string, err error) error {
	return fmt.Errorf("%w: %w", Err, &net.OpError{Op: op, Net: "tcp", Err: err})
}

func refuseDial(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
	closeBody(r)
	return nil, networkError("dial", syscall.ECONNREFUSED)
}

// cutBefore reads half of the request body and breaks the connection.
func cutBefore(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
	}
	closeBody(r)
	return nil, networkError("write", syscall.ECONNRESET)
}

// before returns a kind that reads a request, does not process it, and answers with a status.
func before(status int) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(_ http.RoundTripper, r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				closeBody(r)
				return nil, err
			}
		}
		closeBody(r)
		return answer(status)(&http.Response{
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
		}, nil)
	}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// after returns a kind that sends a request and changes its complete answer with spoil.
func after(spoil func(*http.Response, []byte) (*http.Response, error)) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		return spoil(resp, body)
	}
}

func cut(*http.Response, []byte) (*http.Response, error) {
	return nil, networkError("read", syscall.ECONNRESET)
}

func timeOut(*http.Response, []byte) (*http.Response, error) {
	return nil, networkError("read", timeout{})
}

// A timeout is the error of a connection after its deadline.
type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

// truncate ends the body in its middle with an error, like a broken connection.
func truncate(resp *http.Response, body []byte) (*http.Response, error) {
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), broken{}))
	return resp, nil
}

// broken is a reader that fails with the error of a broken connection.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("%w: %w", Err, io.ErrUnexpectedEOF) }

// garble returns a complete answer with half a JSON document.
func garble(resp *http.Response, body []byte) (*http.Response, error) {
	setBody(resp, body[:len(body)/2])
	return resp, nil
}

func slow(resp *http.Response, body []byte) (*http.Response, error) {
	resp.Body = io.NopCloser(&late{r: bytes.NewReader(body), done: resp.Request.Context().Done()})
	return resp, nil
}

// late is a body that arrives late.
type late struct {
	r    io.Reader
	done <-chan struct{}
	came bool
}

func (l *late) Read(p []byte) (int, error) {
	if !l.came {
		l.came = true
		select {
		case <-time.After(slowBy):
		case <-l.done:
		}
	}
	return l.r.Read(p)
}

// answer replaces an answer with a status and the body of an error.
func answer(status int) func(*http.Response, []byte) (*http.Response, error) {
	return func(resp *http.Response, _ []byte) (*http.Response, error) {
		reported := max(status, http.StatusInternalServerError)
		if status == http.StatusTooManyRequests {
			reported = status
		}
		resp.StatusCode, resp.Status = status, strconv.Itoa(status)+" "+http.StatusText(status)
		setBody(resp, fmt.Appendf(nil, `{"statusCode":%d,"message":%q,"traceId":"injected"}`, reported, Err))
		resp.Header.Set("Content-Type", "application/json; charset=utf-8")
		return resp, nil
	}
}

func setBody(resp *http.Response, body []byte) {
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
}
