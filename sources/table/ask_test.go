package table

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestDropDoesNotWait verifies that a refusal whose body does not end does not block a request.
func TestDropDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		begin := time.Now()
		drop(&http.Response{Body: r})
		if took := time.Since(begin); took > restTimeout {
			t.Errorf("it took %v", took)
		}
	})
}
