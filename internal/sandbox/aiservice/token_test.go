package aiservice_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"hash"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
)

// signAs returns a token with another algorithm.
func signAs(t testing.TB, alg string, checksum func() hash.Hash, claims map[string]any) string {
	t.Helper()
	b, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"`+alg+`"}`)) + "." + base64.RawURLEncoding.EncodeToString(b)
	m := hmac.New(checksum, []byte(aiservicetest.Environment().AccessKey))
	m.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

func TestTokens(t *testing.T) {
	at := newClock()
	c := start(t, aiservice.Options{Now: at.read})
	e := aiservicetest.Environment()
	claims := func(key string, value any) map[string]any {
		all := aiservicetest.Claims(e, "tester", "ai:admin")
		all["iat"] = at.read().Unix()
		if all[key] = value; value == nil {
			delete(all, key)
		}
		return all
	}
	seconds := func(d time.Duration) int64 { return at.read().Add(d).Unix() }
	sign := func(key string, value any) string { return aiservicetest.Sign(e.AccessKey, claims(key, value)) }
	for name, test := range map[string]struct {
		token, code string // no code: valid
	}{
		"HS256":                  {sign("", ""), ""},
		"HS384":                  {signAs(t, "HS384", sha512.New384, claims("", "")), ""},
		"HS512":                  {signAs(t, "HS512", sha512.New, claims("", "")), ""},
		"another digest":         {signAs(t, "HS512", sha256.New, claims("", "")), "invalid-jwt-signature"},
		"RS256":                  {signAs(t, "RS256", sha256.New, claims("", "")), "invalid-jwt-signature"},
		"none":                   {signAs(t, "none", sha256.New, claims("", "")), "invalid-jwt-signature"},
		"another key":            {aiservicetest.Sign("another", claims("", "")), "invalid-jwt-signature"},
		"no token":               {"", "invalid-jwt"},
		"two parts":              {"a.b", "invalid-jwt"},
		"no claims":              {"eyJhbGciOiJIUzI1NiJ9.bnVsbA.x", "invalid-jwt-payload"},
		"aud as a list":          {sign("aud", []string{e.ID}), "invalid-jwt-payload"},
		"no aud":                 {sign("aud", nil), "invalid-jwt-payload"},
		"an unknown environment": {sign("aud", "elsewhere"), "environment-not-found"},
		"no sub":                 {sign("sub", nil), "invalid-jwt-payload"},
		"an empty sub":           {sign("sub", ""), "invalid-jwt-payload"},
		"no iat":                 {sign("iat", nil), "invalid-jwt-payload"},
		"iat as text":            {sign("iat", "now"), "invalid-jwt-payload"},
		"a clock a bit ahead":    {sign("iat", seconds(55*time.Second)), ""},
		"a clock far ahead":      {sign("iat", seconds(2*time.Minute)), "invalid-jwt"},
		"a day old":              {sign("iat", seconds(-24*time.Hour)), ""},
		"older than a day":       {sign("iat", seconds(-24*time.Hour-2*time.Minute)), "invalid-jwt"},
		"exp in a moment":        {sign("exp", seconds(time.Second)), ""},
		"exp a moment ago":       {sign("exp", seconds(-30*time.Second)), ""},
		"expired":                {sign("exp", seconds(-61*time.Second)), "invalid-jwt"},
		"exp as text":            {sign("exp", "soon"), "invalid-jwt-payload"},
		"valid since now":        {sign("nbf", seconds(0)), ""},
		"valid in a moment":      {sign("nbf", seconds(55*time.Second)), ""},
		"valid only later":       {sign("nbf", seconds(61*time.Second)), "invalid-jwt"},
		"nbf as text":            {sign("nbf", "soon"), "invalid-jwt-payload"},
		"no auth":                {sign("auth", nil), "invalid-jwt-payload"},
		"another service":        {sign("auth", map[string]any{"ckbox": map[string]any{"permissions": []string{"ai:admin"}}}), "invalid-jwt-payload"},
		"further services":       {sign("auth", map[string]any{"ckbox": 7, "ai": map[string]any{"permissions": []string{"ai:admin"}, "color": 7}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := *c
			c.TB, c.token = t, test.token
			a := c.try("GET", "/v1/conversations", nil)
			if test.code == "" && a.status != 200 {
				t.Errorf("%d %s", a.status, a.text)
			}
			if test.code != "" {
				c.wantRefusal("GET", a, 401, test.code)
			}
		})
	}
}

func TestPermissionsThatGrantNothing(t *testing.T) {
	c := start(t, aiservice.Options{RefuseAdmin: true})
	for _, permissions := range []any{nil, "ai:admin", []any{"ai:conversations:read", 7}, []string{}, []string{"ai:*"}, []string{"ai:conversations"}, []string{"ai:admin"}} {
		claims := aiservicetest.Claims(c.Environment, "tester")
		claims["auth"] = map[string]any{"ai": map[string]any{"permissions": permissions}}
		c.token = aiservicetest.Sign(c.Environment.AccessKey, claims)
		data := c.refused("GET", "/v1/conversations", nil, 403, "missing-permissions")
		if missing, _ := data["missingPermissions"].([]any); !slices.Equal(missing, []any{"ai:conversations:read"}) {
			t.Errorf("%v: missing %v", permissions, missing)
		}
	}
}

// TestEveryRouteNeedsItsScope verifies the scopes of all routes.
func TestEveryRouteNeedsItsScope(t *testing.T) {
	c := start(t, aiservice.Options{})
	wildcard := regexp.MustCompile(`\{\w+\}`)
	nothing, anonymous := c.as("tester", "ai:misspelt:read"), *c
	anonymous.token = ""
	for _, r := range aiservice.Routes() {
		path := wildcard.ReplaceAllString(r.Pattern, "clarity")
		if r.Open {
			if a := anonymous.try(r.Method, path, nil); a.status == 401 || a.status == 403 {
				t.Errorf("%s %s: %d without a token", r.Method, path, a.status)
			}
			continue
		}
		anonymous.refused(r.Method, path, nil, 401, "invalid-jwt")
		if r.Scope == "" {
			continue
		}
		needed := strings.ReplaceAll(r.Scope, "{}", "clarity")
		data := nothing.refused(r.Method, path, nil, 403, "missing-permissions")
		if missing, _ := data["missingPermissions"].([]any); !slices.Equal(missing, []any{needed}) {
			t.Errorf("%s %s: missing %v, want %s", r.Method, path, missing, needed)
		}
		for _, granted := range []string{needed, adminScope} {
			if a := c.as("tester", granted).try(r.Method, path, "{}"); a.status == 401 || a.status == 403 {
				t.Errorf("%s %s: %d %s with %s", r.Method, path, a.status, a.text, granted)
			}
		}
	}
}

const adminScope = "ai:admin"

func TestScopesWithinRoutes(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("one")
	base := []string{"ai:conversations:read", "ai:conversations:write"}
	capability := func(name string) map[string]any {
		return map[string]any{"prompt": "x", "model": "gpt-5.4-mini", "capabilities": map[string]any{name: map[string]any{}}}
	}
	message := map[string]any{"prompt": "x", "model": "gpt-5.4-mini"}
	for name, test := range map[string]struct {
		scopes  []string
		body    map[string]any
		missing []any // none: accepted
	}{
		"no model":             {nil, message, []any{"ai:models:openai:gpt-5.4-mini"}},
		"another model":        {[]string{"ai:models:openai:gpt-5.1"}, message, []any{"ai:models:openai:gpt-5.4-mini"}},
		"the provider, bare":   {[]string{"ai:models:openai"}, message, []any{"ai:models:openai:gpt-5.4-mini"}},
		"the model":            {[]string{"ai:models:openai:gpt-5.4-mini"}, message, nil},
		"a part of its name":   {[]string{"ai:models:openai:gpt-5*"}, message, nil},
		"the provider":         {[]string{"ai:models:openai:*"}, message, nil},
		"all models":           {[]string{"ai:models:*"}, message, nil},
		"no web search":        {[]string{"ai:models:*"}, capability("webSearch"), []any{"ai:conversations:websearch"}},
		"web search":           {[]string{"ai:models:*", "ai:conversations:websearch"}, capability("webSearch"), nil},
		"web search, on prem":  {[]string{"ai:models:*", "ai:conversations:webSearch"}, capability("webSearch"), nil},
		"no reasoning":         {[]string{"ai:models:*"}, capability("reasoning"), []any{"ai:conversations:reasoning"}},
		"all of conversations": {[]string{"ai:models:*", "ai:conversations:*"}, capability("reasoning"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := c.as("tester", append(base, test.scopes...)...)
			c.TB = t
			if test.missing == nil {
				c.say(path, test.body)
				return
			}
			data := c.refused("POST", path+"/messages", test.body, 403, "missing-permissions")
			if got, _ := data["missingPermissions"].([]any); !slices.Equal(got, test.missing) {
				t.Errorf("missing %v, want %v", got, test.missing)
			}
		})
	}
}

func TestDevelopmentTokens(t *testing.T) {
	at := newClock()
	c := start(t, aiservice.Options{Now: at.read})
	get := func(query, accept string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", c.URL+c.Server.TokenPath()+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		w := recorded(c, r)
		return w.status, w.text
	}
	_, token := get("", "*/*")
	if c.token = token; strings.Count(token, ".") != 2 {
		t.Fatalf("token %q", token)
	}
	c.must("POST", "/v1/admin/billing/usage", "{}")
	_, text := get("?user=anna&permission=ai:conversations:read&permission=ai:models:agent&life=60", "application/json")
	c.token = answered{text: text}.json(t)["token"].(string)
	c.items("/v1/conversations")
	c.refused("POST", "/v1/admin/billing/usage", "{}", 403, "missing-permissions")
	at.pass(2*time.Minute + time.Second)
	c.refused("GET", "/v1/conversations", nil, 401, "invalid-jwt")
	for _, query := range []string{"?life=0", "?life=x", "?life=86401"} {
		if status, text := get(query, ""); status != 400 {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	c.refused("GET", "/token/dev/0000", nil, 404, "not-found")
}

// recorded returns the response to a request without a connection.
func recorded(t testing.TB, r *http.Request) answered {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var b strings.Builder
	if err := response.Write(&b); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return answered{response.StatusCode, response.Header, body}
}
