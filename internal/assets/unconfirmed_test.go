package assets

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/outbound"
	"assetferry/internal/retry"
)

// large is larger than all buffers between the client and a server on this machine.
const large = 32 << 20

// A scene is the behaviour of a server on a connection.
type scene func(conn net.Conn, r *bufio.Reader)

// play serves scenes on a raw socket and counts the connections.
func play(t testing.TB, s scene) (baseURL string, count *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	count = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			s(conn, bufio.NewReader(conn))
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String(), count
}

func readHead(r *bufio.Reader) *http.Request {
	req, _ := http.ReadRequest(r)
	return req
}

func readAll(r *bufio.Reader) {
	if req := readHead(r); req != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// say reads a complete request and answers.
func say(answer string) scene {
	return func(conn net.Conn, r *bufio.Reader) {
		readAll(r)
		_, _ = io.WriteString(conn, answer)
	}
}

// sayEarly answers after the header, and reads at most half of a large body before the upload ends,
// so that the body cannot be sent completely before the answer arrives.
func sayEarly(answer string, over *chan struct{}) scene {
	return func(conn net.Conn, r *bufio.Reader) {
		readHead(r)
		_, _ = io.WriteString(conn, answer)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.CopyN(io.Discard, r, large/2)
		<-*over
		_, _ = io.Copy(io.Discard, r) // otherwise a reset would discard the answer
	}
}

func TestUploadUnconfirmed(t *testing.T) {
	var over chan struct{} // closed at the end of an upload
	tests := []struct {
		name        string
		size        int64
		scene       scene
		unconfirmed bool
		class       retry.Class
	}{
		{"cut at once", large, func(net.Conn, *bufio.Reader) {}, false, retry.Transient},
		{"cut after the head", large, func(_ net.Conn, r *bufio.Reader) { readHead(r) }, false, retry.Transient},
		{"cut mid body", large, func(_ net.Conn, r *bufio.Reader) {
			_, _ = io.CopyN(io.Discard, readHead(r).Body, large/2)
		}, false, retry.Transient},
		{"small and cut within the body", 10, func(_ net.Conn, r *bufio.Reader) { _, _ = readHead(r).Body.Read(make([]byte, 1)) }, true, retry.Transient},
		{"cut after the body", 10, func(_ net.Conn, r *bufio.Reader) { readAll(r) }, true, retry.Transient},
		{"cut within the answer's head", 10, say("HTTP/1.1 201 Cre"), true, retry.Transient},
		{"cut within the answer", 10, say("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"id\""), true, retry.Transient},
		{"not HTTP", 10, say("hello\r\n\r\n"), true, retry.Transient},
		{"500", 10, say("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"), true, retry.Transient},
		{"503", 10, say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), true, retry.Throttled},
		{"504", 10, say("HTTP/1.1 504 Late\r\nContent-Length: 0\r\n\r\n"), true, retry.Transient},
		{"503 before the body", large, sayEarly("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", &over), false, retry.Throttled},
		{"413 before the body", large, sayEarly("HTTP/1.1 413 Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", &over), false, retry.Permanent},
		{"302", 10, say("HTTP/1.1 302 There\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), true, retry.Permanent},
		{"307", 10, say("HTTP/1.1 307 There\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), true, retry.Permanent},
		{"200 garbage", 10, say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"), true, retry.Transient},
		{"201 empty", 10, say("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"), true, retry.Transient},
		{"201 without id", 10, say("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"), true, retry.Transient},
		{"201 with a strange time", 10, say("HTTP/1.1 201 Created\r\nContent-Length: 33\r\n\r\n{\"id\":\"x\",\"uploadedAt\":\"someday\"}"), true, retry.Transient},
		{"202", 10, say("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"), true, retry.Transient},
		{"204", 10, say("HTTP/1.1 204 None\r\n\r\n"), true, retry.Transient},
		{"200 with an error", 10, say("HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n{\"statusCode\":400,\"message\":\"bad\"}"), true, retry.Permanent},
		{"200 with a 401", 10, say("HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n{\"statusCode\":401,\"message\":\"bad\"}"), true, retry.Fatal},
		{"200 with a 429", 10, say("HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n{\"statusCode\":429,\"message\":\"bad\"}"), true, retry.Throttled},
		{"400", 10, say("HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n"), false, retry.Permanent},
		{"403", 10, say("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"), false, retry.Fatal},
		{"404", 10, say("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"), false, retry.Permanent},
		{"408", 10, say("HTTP/1.1 408 Slow\r\nContent-Length: 0\r\n\r\n"), true, retry.Transient},
		{"408 before the body", large, sayEarly("HTTP/1.1 408 Slow\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", &over), false, retry.Transient},
		{"400 cut", 10, say("HTTP/1.1 400 Bad\r\nContent-Length: 100\r\n\r\n{"), false, retry.Permanent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			over = make(chan struct{})
			base, count := play(t, tt.scene)
			c := newClient(t, Options{BaseURL: base})
			_, err := c.Upload(t.Context(), upload(tt.size))
			close(over)
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if got := errors.Is(err, ErrUnconfirmed); got != tt.unconfirmed {
				t.Errorf("in doubt: got %v, want %v: %v", got, tt.unconfirmed, err)
			}
			if e.Class() != tt.class {
				t.Errorf("class: got %s, want %s: %v", e.Class(), tt.class, err)
			}
			if count.Load() != 1 {
				t.Errorf("sent %d times", count.Load())
			}
		})
	}
}

func TestCreateUnconfirmed(t *testing.T) {
	kinds := map[string]func(context.Context, *Client) (string, error){
		"folder": func(ctx context.Context, c *Client) (string, error) {
			return c.CreateFolder(ctx, NewFolder{Name: "n", CategoryID: "c"})
		},
		"category": func(ctx context.Context, c *Client) (string, error) {
			return c.CreateCategory(ctx, NewCategory{Name: "n", Extensions: []string{"jpg"}})
		},
		"workspace": func(ctx context.Context, c *Client) (string, error) { return c.CreateWorkspace(ctx, "n") },
	}
	for name, create := range kinds {
		for answer, unconfirmed := range map[string]bool{
			"500": true, "502": true, "200 x": true, "201 {}": true, `200 {"statusCode":500}`: true, "302": true,
			"400": false, "403": false, "404": false, "409": false,
		} {
			t.Run(name+" "+answer, func(t *testing.T) {
				a := answers(answer)
				_, err := create(t.Context(), serve(t, a.ServeHTTP))
				if got := errors.Is(err, ErrUnconfirmed); err == nil || got != unconfirmed {
					t.Errorf("in doubt: got %v, want %v: %v", got, unconfirmed, err)
				}
				if a.count() != 1 {
					t.Errorf("sent %d times", a.count())
				}
			})
		}
		t.Run(name+" 429", func(t *testing.T) {
			a := answers("429", "429", `201 {"id":"x"}`)
			id, err := create(t.Context(), serve(t, a.ServeHTTP))
			if err != nil || id != "x" || a.count() != 3 {
				t.Errorf("got %q, %v after %d requests", id, err, a.count())
			}
		})
	}
}

// The test verifies that a request is repeated after a refused connection, because no byte was
// written.
func TestCreateRefusedConnection(t *testing.T) {
	waits, opened := 0, 0
	c := newClient(t, Options{BaseURL: closedURL, OnWait: func(retry.Wait) { waits++ }})
	u := upload(10)
	open := u.Open
	u.Open = func(ctx context.Context) (io.ReadCloser, error) { opened++; return open(ctx) }
	_, err := c.Upload(t.Context(), u)
	if errors.Is(err, ErrUnconfirmed) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
	if waits != 4 || opened != 5 {
		t.Errorf("got %d waits, opened %d times, want 4 and 5", waits, opened)
	}
}

// The test verifies that a transport without httptrace does not count as one that wrote nothing.
func TestCreateUnknownTransport(t *testing.T) {
	cut := errors.New("cut")
	for name, read := range map[string]int64{"nothing read": 0, "some read": 1, "all read": large} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			c := newClient(t, Options{BaseURL: "https://localhost", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				sent++
				_, _ = io.CopyN(io.Discard, r.Body, read)
				_ = r.Body.Close()
				return nil, cut
			})})
			_, err := c.Upload(t.Context(), upload(10))
			if !errors.Is(err, cut) || errors.Is(err, ErrUnconfirmed) != (read == large) {
				t.Errorf("got %v", err)
			}
			if want := map[bool]int{true: 5, false: 1}[read == 0]; sent != want {
				t.Errorf("sent %d times, want %d", sent, want)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestUploadCancelled(t *testing.T) {
	cause := errors.New("second signal")
	t.Run("while it waits for the answer", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		base, count := play(t, func(_ net.Conn, r *bufio.Reader) {
			readAll(r)
			cancel(cause)
			_, _ = r.ReadByte() // until the client disconnects
		})
		_, err := newClient(t, Options{BaseURL: base}).Upload(ctx, upload(10))
		for _, want := range []error{ErrUnconfirmed, cause, context.Canceled} {
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if count.Load() != 1 {
			t.Errorf("sent %d times", count.Load())
		}
	})
	t.Run("mid body", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		base, _ := play(t, func(_ net.Conn, r *bufio.Reader) {
			_, _ = io.CopyN(io.Discard, readHead(r).Body, 1000)
			cancel(cause)
			_, _ = io.Copy(io.Discard, r)
		})
		_, err := newClient(t, Options{BaseURL: base}).Upload(ctx, upload(large))
		if errors.Is(err, ErrUnconfirmed) || !errors.Is(err, cause) {
			t.Errorf("got %v, want %v and no doubt", err, cause)
		}
	})
}

// The test verifies that a cancelled upload does not close a content during a read, and closes
// every content once.
func TestUploadClosesContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := serveBubble(t, Options{}, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var b *blocking
		u := upload(1 << 20)
		u.Open = func(ctx context.Context) (io.ReadCloser, error) {
			b = &blocking{ctx: ctx, t: t}
			return b, nil
		}
		_, err := c.Upload(ctx, u)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnconfirmed) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if b.closed.Load() != 1 {
			t.Errorf("closed %d times", b.closed.Load())
		}
	})
}

type blocking struct {
	ctx     context.Context
	t       testing.TB
	reading atomic.Bool
	closed  atomic.Int32
}

func (b *blocking) Read(p []byte) (int, error) {
	b.reading.Store(true)
	defer b.reading.Store(false)
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b *blocking) Close() error {
	if b.reading.Load() {
		b.t.Error("closed during a read")
	}
	b.closed.Add(1)
	return nil
}

// The test verifies that a finished body returns no more bytes, which would invalidate the result
// of finish.
func TestFinishedBodyYieldsNothing(t *testing.T) {
	ctx, dog := outbound.Watch(t.Context(), time.Minute)
	defer dog.Stop()
	s := &sending{dog: dog, now: time.Now}
	u := upload(10)
	p := newFrame(u, "B").payload(u)
	body, err := s.open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(io.LimitReader(body, p.decisive-1))
	if int64(len(got)) != p.decisive-1 || s.finish() {
		t.Fatal("complete without the closing boundary")
	}
	if n, err := body.Read(make([]byte, 10)); n != 0 || err == nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	body, err = s.open(ctx, p) // as net/http does before it repeats a request
	if err != nil {
		t.Fatal(err)
	}
	got, _ = io.ReadAll(io.LimitReader(body, p.decisive))
	if !bytes.HasSuffix(got, []byte("\r")) || !s.finish() {
		t.Error("not complete with the closing boundary's first byte")
	}
}

// The test verifies an upload on an idle connection that the server closes at that moment: net/http
// repeats the request if nothing was written, and opens the content again.
func TestUploadOnStaleConnection(t *testing.T) {
	var posts atomic.Int32
	base, _ := play(t, func(conn net.Conn, r *bufio.Reader) {
		if req := readHead(r); req != nil {
			_, _ = io.Copy(io.Discard, req.Body)
			if req.Method == http.MethodPost {
				posts.Add(1)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n{\"id\":\"x\",\"totalCount\":0}")
		}
	})
	c := newClient(t, Options{BaseURL: base})
	for range 20 {
		if err := c.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := posts.Load()
		_, err := c.Upload(t.Context(), upload(10))
		if sent := posts.Load() - before; err == nil && sent != 1 || err != nil && !errors.Is(err, ErrUnconfirmed) {
			t.Errorf("got %v after %d uploads", err, sent)
		}
	}
}
