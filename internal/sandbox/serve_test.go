package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
)

// TestServeFinishesUploads verifies that an upload in progress finishes when the server ends.
func TestServeFinishesUploads(t *testing.T) {
	asked := make(chan struct{}, 1) // the server reads the clock for every request
	s := newServer(t, sandbox.Options{Now: func() time.Time {
		select {
		case asked <- struct{}{}:
		default:
		}
		return time.Now()
	}})
	<-asked // at the start
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()

	e := sandboxtest.Environment()
	c := &client{t, "http://" + l.Addr().String(), sandboxtest.Sign(e.AccessKey, sandboxtest.Claims(e, "user")), e, nil}
	body, contentType := form(t, "a.txt", bytes.Repeat([]byte("x"), 1000))
	pipe, w := io.Pipe()
	go func() {
		_, _ = w.Write(body[:100])
		<-asked // the request has arrived
		stop()
		for { // until the listener is closed
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				break
			}
			_ = conn.Close()
		}
		_, _ = w.Write(body[100:])
		_ = w.Close()
	}()
	r, err := c.send("POST", "/assets", contentType, pipe)
	if err != nil || r.StatusCode != 201 {
		t.Errorf("the upload ended with %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if n := assetCount(t, s); n != 1 {
		t.Errorf("%d assets, want 1", n)
	}
}

func TestUnusualRequests(t *testing.T) {
	c := start(t, sandbox.Options{})
	for _, target := range []string{"GET /", "GET /assets/", "GET //assets", "GET /assets//x", "GET /assets/a%2Fb/c", "PUT /assets", "GET /nowhere?x=%zz"} {
		var method, path string
		_, _ = fmt.Sscan(target, &method, &path)
		c.do(501, method, path, nil)
	}
	c.do(404, "GET", "/assets/a%2Fb", nil)
	c.do(404, "GET", "/assets/..%2f..%2fetc", nil)
	if r := c.do(200, "HEAD", "/categories", nil); r.ContentLength <= 0 || len(r.body) > 0 {
		t.Errorf("HEAD: length %d, body %q", r.ContentLength, r.body)
	}
}
