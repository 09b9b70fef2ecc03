package assets_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"assetferry/internal/assets"
	"assetferry/internal/sandbox"
	"assetferry/internal/token"
)

// The test verifies that a sandbox is recognised by its first answer of any kind, and that no other
// service is.
func TestIsSandbox(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"items":[],"totalCount":0,"offset":0,"limit":1}`, http.StatusOK)
	}))
	t.Cleanup(other.Close)
	base := newSandbox(t, sandbox.Options{})
	for _, c := range []struct {
		what, base string
		key        string
		want, fail bool
	}{
		{"sandbox", base, accessKey, true, false},
		{"sandbox that refuses us", base, "another key", true, true},
		{"something else", other.URL, accessKey, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			client := newClient(t, c.base, token.Claims{Environment: environment}, token.NewSecret(c.key), assets.Options{})
			if client.IsSandbox() {
				t.Error("a sandbox before anybody has answered")
			}
			if err := client.Ping(t.Context()); (err != nil) != c.fail {
				t.Errorf("ping: %v", err)
			}
			if client.IsSandbox() != c.want {
				t.Errorf("is a sandbox: %v, want %v", client.IsSandbox(), c.want)
			}
		})
	}
}
