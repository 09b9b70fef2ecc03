package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

func TestTokens(t *testing.T) {
	clock := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	c := start(t, sandbox.Options{Now: func() time.Time { return clock }})
	hs256 := object{"alg": "HS256", "typ": "JWT"}
	service := func(claims object) object { return claims["auth"].(object)["ckbox"].(object) }

	for name, test := range map[string]struct {
		header object
		change func(object)
		key    tokens.AccessKey
		token  func(string) string
		status int
		says   string // part of the message
	}{
		"valid": {status: 200},
		"further services": {status: 200, change: func(o object) {
			o["auth"].(object)["ai"], o["auth"].(object)["dam"] = object{"permissions": []string{}}, "anything"
		}},
		"further keys of the service": {status: 200, change: func(o object) { service(o)["color"] = 7 }},
		"valid since now":             {status: 200, change: func(o object) { o["nbf"] = clock.Unix() }},
		"valid in a minute":           {status: 200, change: func(o object) { o["nbf"] = clock.Unix() + 60 }},
		"named default":               {status: 200, change: func(o object) { service(o)["workspaces"] = []string{c.env.ID} }},
		"fraction in iat":             {status: 200, change: func(o object) { o["iat"] = float64(clock.Unix()) + 0.5 }},
		"a minute ahead":              {status: 200, change: func(o object) { o["iat"] = clock.Unix() + 60 }},
		"a day old":                   {status: 200, change: func(o object) { o["iat"] = clock.Unix() - 86400 }},
		"not expired":                 {status: 200, change: func(o object) { o["exp"] = clock.Unix() + 1 }},
		"none at all":                 {status: 401, says: "the Authorization header is missing", token: func(string) string { return "" }},
		"bearer":                      {status: 401, says: "Bearer", token: func(s string) string { return "Bearer " + s }},
		"two parts":                   {status: 401, says: "three parts", token: func(s string) string { return s[:strings.LastIndex(s, ".")] }},
		"no signature":                {status: 401, says: "signature", token: func(s string) string { return s[:strings.LastIndex(s, ".")+1] }},
		"very long":                   {status: 401, says: "too long", token: func(s string) string { return s + strings.Repeat("A", 20000) }},
		"padded":                      {status: 401, says: "signature", token: func(s string) string { return s + "=" }},
		"alg none":                    {status: 401, says: "HS256", header: object{"alg": "none"}},
		"alg in lower case":           {status: 401, says: "HS256", header: object{"alg": "hs256"}},
		"alg under another name":      {status: 401, says: "HS256", header: object{"ALG": "HS256"}},
		"no alg":                      {status: 401, says: "HS256", header: object{}},
		"critical extension":          {status: 401, says: "crit", header: object{"alg": "HS256", "crit": []string{"b64"}}},
		"wrong key":                   {status: 401, says: "access key", key: "another"},
		"unknown aud":                 {status: 401, says: "aud", change: func(o object) { o["aud"] = "00000000000000000000" }},
		"aud as a list":               {status: 401, says: "aud", change: func(o object) { o["aud"] = []string{c.env.ID} }},
		"no aud":                      {status: 401, says: "aud", change: func(o object) { delete(o, "aud") }},
		"no sub":                      {status: 401, says: "sub", change: func(o object) { delete(o, "sub") }},
		"empty sub":                   {status: 401, says: "sub", change: func(o object) { o["sub"] = "" }},
		"no iat":                      {status: 401, says: "iat is missing", change: func(o object) { delete(o, "iat") }},
		"iat as text":                 {status: 401, says: "seconds", change: func(o object) { o["iat"] = "now" }},
		"iat in milliseconds":         {status: 401, says: "milliseconds", change: func(o object) { o["iat"] = clock.UnixMilli() }},
		"future iat":                  {status: 401, says: "5m0s in the future", change: func(o object) { o["iat"] = clock.Unix() + 300 }},
		"old iat":                     {status: 401, says: "old", change: func(o object) { o["iat"] = clock.Unix() - 86401 }},
		"expired":                     {status: 401, says: "expired", change: func(o object) { o["exp"] = clock.Unix() }},
		"exp as text":                 {status: 401, says: "exp", change: func(o object) { o["exp"] = "never" }},
		"valid only later":            {status: 401, says: "not valid before", change: func(o object) { o["nbf"] = clock.Unix() + 61 }},
		"nbf as text":                 {status: 401, says: "nbf", change: func(o object) { o["nbf"] = "now" }},
		"another service": {status: 401, says: "auth.ckbox", change: func(o object) {
			o["auth"] = object{"dam": object{"role": "admin"}}
		}},
		"no auth":            {status: 401, says: "auth.ckbox", change: func(o object) { delete(o, "auth") }},
		"two other services": {status: 401, says: "auth.ckbox", change: func(o object) { o["auth"] = object{"a": object{}, "b": object{}} }},
		"no role":            {status: 401, says: "role", change: func(o object) { delete(service(o), "role") }},
		"unknown role":       {status: 401, says: "role", change: func(o object) { service(o)["role"] = "nobody" }},
		"no workspaces":      {status: 401, says: "empty", change: func(o object) { service(o)["workspaces"] = []string{} }},
		"workspaces null":    {status: 401, says: "array", change: func(o object) { service(o)["workspaces"] = nil }},
		"workspaces as text": {status: 401, says: "array", change: func(o object) { service(o)["workspaces"] = c.env.ID }},
		"unknown workspace": {status: 401, says: "no workspace", change: func(o object) {
			service(o)["workspaces"] = []string{c.env.ID, "00000000000000000000"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			claims := sandboxtest.Claims(c.env, "user")
			claims["iat"] = clock.Unix()
			if test.change != nil {
				test.change(claims)
			}
			header, key := test.header, test.key
			if header == nil {
				header = hs256
			}
			if key == "" {
				key = c.env.AccessKey
			}
			as := *c
			as.TB = t
			as.token = sandboxtest.SignAs(key, header, claims)
			if test.token != nil {
				as.token = test.token(as.token)
			}
			r := as.do(test.status, "GET", "/categories", nil)
			if message, _ := r.object(t)["message"].(string); !strings.Contains(message, test.says) {
				t.Errorf("message %q does not say %q", message, test.says)
			}
		})
	}
}

func TestClockSkewMovesTheServer(t *testing.T) {
	clock := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	c := start(t, sandbox.Options{Now: func() time.Time { return clock }, ClockSkew: -2 * time.Hour})
	claims := sandboxtest.Claims(c.env, "user")
	claims["iat"] = clock.Unix()
	c.token = sandboxtest.Sign(c.env.AccessKey, claims)
	r := c.do(http.StatusUnauthorized, "GET", "/categories", nil)
	if got, want := r.Header.Get("Date"), "Fri, 01 May 2026 10:00:00 GMT"; got != want {
		t.Errorf("Date is %q, want %q", got, want)
	}
	claims["iat"] = clock.Add(-2 * time.Hour).Unix()
	c.token = sandboxtest.Sign(c.env.AccessKey, claims)
	if got, want := c.upload("a.txt", "")["uploadedAt"], "2026-05-01T10:00:00.000Z"; got != want {
		t.Errorf("uploadedAt is %v, want %v", got, want)
	}
}

func TestRoles(t *testing.T) {
	c := start(t, sandbox.Options{})
	for _, test := range []struct {
		role, method, path string
		body               object
		status             int
	}{
		{"user", "GET", "/categories", nil, 200},
		{"user", "GET", "/admin/categories", nil, 403},
		{"user", "POST", "/admin/categories", object{"name": "x", "extensions": []string{"x"}}, 403},
		{"user", "POST", "/superadmin/workspaces", object{"name": "x"}, 403},
		{"admin", "GET", "/admin/categories", nil, 200},
		{"admin", "POST", "/superadmin/workspaces", object{"name": "x"}, 403},
		{"superadmin", "GET", "/admin/categories", nil, 200},
		{"superadmin", "POST", "/superadmin/workspaces", object{"name": "x"}, 201},
	} {
		t.Run(test.role+" "+test.method+" "+test.path, func(t *testing.T) {
			as := c.as(test.role)
			as.TB = t
			if test.body == nil {
				as.do(test.status, test.method, test.path, nil)
				return
			}
			as.do(test.status, test.method, test.path, test.body)
		})
	}
}
