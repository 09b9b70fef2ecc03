package aiservice

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox/tokens"
)

// FuzzRequests sends arbitrary requests. It verifies that they cause no internal error.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/v1/conversations?cursor=eyJsIjoxLCJrIjoxLCJzIjoxfQ&limit=2", "")
	f.Add("POST", "/v1/conversations", `{"id":"a","group":"b"}`)
	f.Add("POST", "/v1.1/conversations/one/messages", `{"prompt":"x","model":"agent-1","capabilities":{"webSearch":{}},"content":[{"type":"text","content":"y"}]}`)
	f.Add("POST", "/v1/conversations/one/documents/batch", `[{"content":"x","selections":[1]},{"content":"y","version":null}]`)
	f.Add("POST", "/v1/actions/custom/calls", `{"content":[{"type":"text","content":"y"}],"prompt":"p","model":"agent-1"}`)
	f.Add("POST", "/v1/reviews/system/clarity/calls", `{"content":[{"type":"text","content":"<p data-id=1>y</p"}]}`)
	f.Add("POST", "/v1/admin/contexts", `{"name":"x","autoApply":null}`)
	f.Add("POST", "/v1/admin/billing/usage", `{"from":"0000-01-01T00:00:00Z","to":"9999-12-31T23:59:59Z","users":"*"}`)
	f.Fuzz(func(t *testing.T, method, target, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://sandbox"+target, strings.NewReader(body))
		if err != nil || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "/v1/models/") || strings.Contains(body, "http") {
			return
		}
		const key = tokens.AccessKey("key")
		s, err := New(Options{Environments: []tokens.Environment{{ID: "e", AccessKey: key}}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		token, err := signToken(key, map[string]any{"aud": "e", "sub": "u", "iat": time.Now().Unix(),
			"auth": map[string]any{"ai": map[string]any{"permissions": []string{adminScope}}}})
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		for _, request := range []*http.Request{prepare(t, token), r} {
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, request); w.Code >= http.StatusInternalServerError {
				t.Errorf("%s %s: %d %s", request.Method, request.URL, w.Code, w.Body)
			}
		}
	})
}

// prepare returns a request that creates the conversation for the other requests.
func prepare(t *testing.T, token string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/conversations", strings.NewReader(`{"id":"one"}`))
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// FuzzTokens verifies that tokens without a valid signature are refused.
func FuzzTokens(f *testing.F) {
	f.Add("Bearer eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJlIiwic3ViIjoidSJ9.c2ln")
	f.Add("bearer a.b.c")
	f.Add("Bearer eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, header string) {
		rules := tokenRules{keys: map[string]tokens.AccessKey{"e": "a key that is not in the corpus"}, age: time.Hour}
		if who, err := rules.verify(header, time.Now()); err == nil {
			t.Errorf("%q makes %v", header, who)
		}
	})
}
