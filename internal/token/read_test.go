package token_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/token"
)

func TestReadMinted(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m := newMinter(t, token.Claims{Environment: "env", User: "me", Service: "dam", Role: "user", Workspace: "w"})
	m.Now = func() time.Time { return now }
	got, err := token.Read(token.NewSecret(mint(t, m)), "dam")
	want := token.Contents{
		Audience: "env", User: "me", Issued: now.UTC(), Expires: now.Add(time.Hour).UTC(),
		Services: []string{"dam"}, Role: "user", Workspaces: []string{"w"}, Listed: true,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestReadForms(t *testing.T) {
	tests := []struct {
		claims string
		want   token.Contents
	}{
		{`{}`, token.Contents{}},
		{`{"auth":{"ckbox":{"role":"admin","workspaces":[]}}}`, token.Contents{Services: []string{"ckbox"}, Role: "admin", Workspaces: []string{}, Listed: true}},
		{`{"auth":{"other":{"role":"admin"},"another":{}}}`, token.Contents{Services: []string{"another", "other"}}},
		{`{"iat":1700000000000,"exp":-1}`, token.Contents{Issued: time.Unix(1_700_000_000_000, 0).UTC()}},
	}
	for _, tt := range tests {
		got, err := token.Read(token.NewSecret("h."+base64.RawURLEncoding.EncodeToString([]byte(tt.claims))+".s"), "ckbox")
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", tt.claims, err, diff)
		}
	}
}

// FuzzRead verifies that any input is read without a panic, and that errors do not repeat it.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "a.b.c", "a.e30.c", "a.eyJhdWQiOjF9.c", "a.bnVsbA.c", seed} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, err := token.Read(token.NewSecret(s), "ckbox")
		if err != nil && len(s) > 40 && strings.Contains(err.Error(), s) {
			t.Errorf("the error repeats the token: %v", err)
		}
	})
}
