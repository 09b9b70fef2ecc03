package table

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A refusal without the end of its text does not block a request.
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
