package assets

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// The test verifies that uploads reuse a connection. The answer may arrive before the transport has
// read the end of the body, which must not close the connection.
func TestUploadsUseOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the transport waits 50 ms for the end of a body
		c, stop := serveBubble(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"id":"x"}`)
		})
		defer stop()
		var dialed atomic.Int32
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if !c.Reused {
				dialed.Add(1)
			}
		}})
		for range 2000 {
			if _, err := c.Upload(ctx, upload(20<<10)); err != nil {
				t.Fatal(err)
			}
		}
		if n := dialed.Load(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}
