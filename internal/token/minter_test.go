package token_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"assetferry/internal/token"
)

func newMinter(t testing.TB, claims token.Claims) *token.Minter {
	t.Helper()
	m, err := token.NewMinter(token.NewSecret("the key"), claims)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mint(t testing.TB, s token.Source) string {
	t.Helper()
	got, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got.Reveal()
}

// part decodes the header (0) or the payload (1) without any check.
func part(t testing.TB, raw string, n int) map[string]any {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[n])
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMinterClaims(t *testing.T) {
	at := time.Unix(1_700_000_000, 999_999_999)
	tests := []struct {
		name   string
		claims token.Claims
		want   map[string]any
	}{
		{"defaults", token.Claims{Environment: "env"}, map[string]any{
			"aud": "env", "sub": "assetferry", "iss": "assetferry", "iat": 1.7e9, "exp": 1.7e9 + 3600,
			"auth": map[string]any{"ckbox": map[string]any{"role": "admin"}},
		}},
		{"all", token.Claims{Environment: "env", User: "u", Service: "other", Role: "superadmin", Workspace: "w", Issuer: "i", Groups: []string{"g", "h"}}, map[string]any{
			"aud": "env", "sub": "u", "iss": "i", "iat": 1.7e9, "exp": 1.7e9 + 3600,
			"auth": map[string]any{"other": map[string]any{"role": "superadmin", "workspaces": []any{"w"}, "groups": []any{"g", "h"}}},
		}},
		{"scopes", token.Claims{Environment: "env", Service: "ai", Role: "admin", Workspace: "w", Groups: []string{"g"}, Permissions: []string{"ai:conversations:*", "ai:models:agent"}}, map[string]any{
			"aud": "env", "sub": "assetferry", "iss": "assetferry", "iat": 1.7e9, "exp": 1.7e9 + 3600,
			"auth": map[string]any{"ai": map[string]any{"permissions": []any{"ai:conversations:*", "ai:models:agent"}}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMinter(t, tt.claims)
			m.Now = func() time.Time { return at }
			raw := mint(t, m)
			if diff := cmp.Diff(tt.want, part(t, raw, 1)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]any{"alg": "HS256", "typ": "JWT"}, part(t, raw, 0)); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			_, err := jwt.Parse(raw, func(*jwt.Token) (any, error) { return []byte("the key"), nil }, jwt.WithTimeFunc(func() time.Time { return at }))
			if err != nil {
				t.Errorf("signature: %v", err)
			}
		})
	}
}

func TestMinterNeeds(t *testing.T) {
	if _, err := token.NewMinter(token.Secret{}, token.Claims{Environment: "e"}); err == nil {
		t.Error("no key: no error")
	}
	if _, err := token.NewMinter(token.NewSecret("k"), token.Claims{}); err == nil {
		t.Error("no environment: no error")
	}
}

func TestMinterRefreshes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMinter(t, token.Claims{Environment: "env"})
		first := mint(t, m)
		time.Sleep(30*time.Minute - time.Nanosecond)
		if mint(t, m) != first {
			t.Error("another token before half of its life")
		}
		time.Sleep(time.Nanosecond)
		second := mint(t, m)
		if second == first {
			t.Error("the same token at half of its life")
		}
		time.Sleep(time.Second)
		m.Invalidate()
		if mint(t, m) == second {
			t.Error("the same token after Invalidate")
		}
	})
}

func TestMinterClockSetBack(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m := newMinter(t, token.Claims{Environment: "env"})
	m.Now = func() time.Time { return now }
	first := mint(t, m)
	now = now.Add(-time.Hour)
	if mint(t, m) == first {
		t.Error("a token from the future is still in use")
	}
}

func TestMinterFollowsTheServer(t *testing.T) {
	m := newMinter(t, token.Claims{Environment: "env"})
	m.Life = 10 * time.Minute
	m.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	first := mint(t, m)
	m.SetSkew(-5 * time.Minute)
	if mint(t, m) != first {
		t.Error("the cached token is gone")
	}
	m.Invalidate()
	claims := part(t, mint(t, m), 1)
	// One second early, because the server's clock is known to the second.
	if got, want := claims["iat"], 1.7e9-300-1; got != want {
		t.Errorf("iat: got %v, want %v", got, want)
	}
	if got, want := claims["exp"], 1.7e9-300-1+600; got != want {
		t.Errorf("exp: got %v, want %v", got, want)
	}
}

func TestMinterConcurrently(t *testing.T) {
	m := newMinter(t, token.Claims{Environment: "env"})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				mint(t, m)
				m.SetSkew(time.Second)
				m.Invalidate()
			}
		})
	}
	wg.Wait()
}
