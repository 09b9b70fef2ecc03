// Package sandboxtest starts stand-ins of the asset management service for tests of their clients,
// and signs tokens for them.
package sandboxtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/openapitest"
	"assetferry/internal/sandbox/tokens"
)

// Environment returns the environment that Run adds if the options have none.
func Environment() tokens.Environment {
	return tokens.Environment{ID: "5f0c8a1be27d934610fe", AccessKey: "a-key-for-tests-of-no-use-anywhere-else"}
}

// A Running is a running stand-in with its environment and checker.
type Running struct {
	Server      *sandbox.Server
	Checker     *openapitest.Checker
	Connections *Connections
	URL         string
	Environment tokens.Environment // the first one
}

// Run runs a stand-in on a loopback address until the test ends. It uses the profile of the flag
// -reading if the options have none. An answer that does not match the description fails the test.
func Run(tb testing.TB, o sandbox.Options) Running {
	tb.Helper()
	if len(o.Environments) == 0 {
		o.Environments = []tokens.Environment{Environment()}
	}
	if reflect.ValueOf(o.Profile).IsZero() {
		var err error
		if o.Profile, err = Flagged(); err != nil {
			tb.Fatal(err)
		}
	}
	s, err := sandbox.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	c := openapitest.Around(tb, s)
	h := httptest.NewUnstartedServer(c)
	conns := KeepConnections(h)
	h.Start()
	tb.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		if err := s.Close(); err != nil {
			tb.Errorf("close sandbox: %v", err)
		}
	})
	return Running{s, c, conns, h.URL, o.Environments[0]}
}

// Claims returns the claims of a valid token with a role. The caller may change them. Workspaces
// are optional.
func Claims(e tokens.Environment, role string, workspaces ...string) map[string]any {
	service := map[string]any{"role": role}
	if len(workspaces) > 0 {
		service["workspaces"] = workspaces
	}
	return map[string]any{
		"aud": e.ID, "sub": "tester", "iat": time.Now().Unix(),
		"auth": map[string]any{"ckbox": service},
	}
}

// Sign returns a token with the claims.
func Sign(key tokens.AccessKey, claims map[string]any) string {
	return SignAs(key, map[string]any{"alg": "HS256", "typ": "JWT"}, claims)
}

// SignAs returns a token with any header; the signature is always HS256.
func SignAs(key tokens.AccessKey, header, claims map[string]any) string {
	text := encode(header) + "." + encode(claims)
	m := hmac.New(sha256.New, []byte(string(key)))
	m.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the claims of a test cannot be encoded
	}
	return base64.RawURLEncoding.EncodeToString(b)
}
