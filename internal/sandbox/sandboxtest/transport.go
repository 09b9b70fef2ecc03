package sandboxtest

import (
	"net/http"
	"net/http/httptest"
)

// Transport returns a transport to a server in the same process, without a network. In a bubble of
// testing/synctest, only intended waits take time then.
func Transport(h http.Handler) http.RoundTripper { return within{h} }

type within struct{ http.Handler }

func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := r.Clone(r.Context())
	asked.RequestURI, asked.Host, asked.URL.Scheme, asked.URL.Host = r.URL.RequestURI(), r.URL.Host, "", ""
	if r.Body == nil {
		asked.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	w.ServeHTTP(answer, asked)
	if r.Body != nil {
		_ = r.Body.Close()
	}
	if r.Method == http.MethodHead {
		answer.Body.Reset()
	}
	result := answer.Result()
	result.Request = r
	return result, nil
}
