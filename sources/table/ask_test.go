package table

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A refusal whose text never comes holds nobody up.
func TestDropWaitsForNobody(t *testing.T) {
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
