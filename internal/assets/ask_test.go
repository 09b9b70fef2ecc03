package assets

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAsk verifies that replies are raw, and that only the service receives the token.
func TestAsk(t *testing.T) {
	other := answers("200 delivered")
	elsewhere := httptest.NewServer(other)
	t.Cleanup(elsewhere.Close)
	service := answers("429 Retry-After=7|too many", "302 Location=/there|", "200 ok")
	c := serve(t, service.ServeHTTP)

	r, err := c.Ask(t.Context(), Question{Op: "ask", Method: http.MethodGet, URL: c.InWorkspace("/assets", "limit", "9")})
	if err != nil || r.Status != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "7" || string(r.Body) != "too many" || service.count() != 1 {
		t.Errorf("a refusal is an answer, and not repeated: got %+v, %v after %d requests", r, err, service.count())
	}
	if got := service.got[0]; got.URL.RequestURI() != "/assets?limit=9&workspaceId=w" || got.Header.Get("Authorization") != secret {
		t.Errorf("got %s with %v", got.URL.RequestURI(), got.Header)
	}
	if r, err := c.Ask(t.Context(), Question{Method: http.MethodGet, URL: "/moved"}); err != nil || r.Status != http.StatusFound {
		t.Errorf("a redirect is an answer: got %+v, %v", r, err)
	}
	r, err = c.Ask(t.Context(), Question{Method: http.MethodPost, URL: "/x", Scheme: "Bearer ", Body: []byte("{}")})
	if err != nil || r.Status != http.StatusOK || service.got[2].Header.Get("Authorization") != "Bearer "+secret || service.bodies[2] != "{}" {
		t.Errorf("got %+v, %v, %v", r, err, service.got[2].Header)
	}
	r, err = c.Ask(t.Context(), Question{Method: http.MethodGet, URL: elsewhere.URL + "/file", Header: http.Header{"Range": {"bytes=1-2"}}})
	if err != nil || string(r.Body) != "delivered" || other.got[0].Header.Get("Authorization") != "" || other.got[0].Header.Get("Range") == "" {
		t.Errorf("got %+v, %v, %v", r, err, other.got[0].Header)
	}
}

func TestAskRefusals(t *testing.T) {
	service := answers("200 ok")
	srv := httptest.NewServer(service)
	t.Cleanup(srv.Close)
	reader := newClient(t, Options{BaseURL: srv.URL, ReadOnly: true})
	if _, err := reader.Ask(t.Context(), Question{Method: http.MethodDelete, URL: "/x"}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("got %v, want ErrReadOnly", err)
	}
	for _, url := range []string{"http://192.0.2.1/x", "ftp://" + srv.Listener.Addr().String(), "/%zz"} {
		if _, err := reader.Ask(t.Context(), Question{Method: http.MethodGet, URL: url}); err == nil {
			t.Errorf("%s: no error", url)
		}
	}
	if service.count() != 0 {
		t.Errorf("%d requests were made", service.count())
	}
}

// TestPingAdmin verifies that the error for a token without the role of an administrator has the
// status 403.
func TestPingAdmin(t *testing.T) {
	service := answers(`200 {"items":[],"totalCount":0}`, `403 {"message":"no","statusCode":403,"data":null,"traceId":"t"}`)
	c := serve(t, service.ServeHTTP)
	if err := c.PingAdmin(t.Context()); err != nil {
		t.Error(err)
	}
	if got := service.got[0]; got.Method != http.MethodGet || got.URL.RequestURI() != "/admin/categories?limit=1&workspaceId=w" {
		t.Errorf("got %s %s", got.Method, got.URL.RequestURI())
	}
	if err := c.PingAdmin(t.Context()); !IsAuth(err) {
		t.Errorf("got %v", err)
	}
}
