// Package aiservicetest starts stand-ins of the AI content service for tests of their
// clients, and signs tokens for them.
package aiservicetest

import (
	"net/http/httptest"
	"testing"
	"time"

	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/openapitest"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

// Environment returns the environment that Run adds if the options have none.
func Environment() tokens.Environment {
	return tokens.Environment{ID: "5f0c8a1be27d934610fe", AccessKey: "a-key-for-tests-of-no-use-anywhere-else"}
}

// A Running is a running stand-in with its environment and checker.
type Running struct {
	Server      *aiservice.Server
	Checker     *openapitest.Checker
	URL         string
	Environment tokens.Environment // the first one
}

// Run runs a stand-in on a loopback address until the test ends. An answer that does not match the
// description fails the test.
func Run(tb testing.TB, o aiservice.Options) Running {
	tb.Helper()
	if len(o.Environments) == 0 {
		o.Environments = []tokens.Environment{Environment()}
	}
	s, err := aiservice.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	c := openapitest.AI().Around(tb, s)
	h := httptest.NewServer(c)
	tb.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		if err := s.Close(); err != nil {
			tb.Errorf("close the AI sandbox: %v", err)
		}
	})
	return Running{s, c, h.URL, o.Environments[0]}
}

// Stats returns the statistics of the stand-in.
func (r Running) Stats(tb testing.TB) aiservice.Stats {
	tb.Helper()
	v, err := r.Server.Stats()
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// Claims returns the claims of a valid token of a user. The caller may change them.
func Claims(e tokens.Environment, user string, permissions ...string) map[string]any {
	return map[string]any{
		"aud": e.ID, "sub": user, "iat": time.Now().Unix(),
		"auth": map[string]any{"ai": map[string]any{"permissions": permissions}},
	}
}

// Sign returns a token with the claims.
func Sign(key tokens.AccessKey, claims map[string]any) string { return sandboxtest.Sign(key, claims) }
