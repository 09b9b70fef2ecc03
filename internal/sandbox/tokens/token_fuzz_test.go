package tokens

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzToken verifies that no token is accepted without the signature of its own text.
func FuzzToken(f *testing.F) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	rules := Rules{
		Keys: map[string]AccessKey{"env": "key"}, Service: "ckbox", Age: time.Hour,
		Workspace: func(environment, id string) bool { return environment == "env" && id == "env" },
	}
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	head := encode(`{"alg":"HS256"}`)
	for _, claims := range []string{
		fmt.Sprintf(`{"aud":"env","sub":"u","iat":%d,"auth":{"ckbox":{"role":"user"}}}`, now.Unix()),
		fmt.Sprintf(`{"aud":"env","sub":"u","iat":%d,"exp":%d,"nbf":%d,"auth":{"ckbox":{"role":"admin","workspaces":["env"]},"x":7}}`, now.Unix(), now.Unix()+9, now.Unix()),
		`{"aud":null,"iat":1e300}`,
	} {
		text := head + "." + encode(claims)
		f.Add(text, "."+base64.RawURLEncoding.EncodeToString(sign("key", text)))
	}
	f.Add("Bearer x.y", ".z")
	f.Fuzz(func(t *testing.T, text, rest string) {
		token := text + rest
		who, err := rules.Verify(token, now)
		// The same text with a valid signature must not cause a panic, whatever its claims.
		_, _ = rules.Verify(text+"."+base64.RawURLEncoding.EncodeToString(sign("key", text)), now)
		if err != nil {
			return
		}
		signed, signature, _ := cutLast(token)
		if signature != base64.RawURLEncoding.EncodeToString(sign("key", signed)) {
			t.Errorf("accepted %q", token)
		}
		if who.Environment != "env" || who.User == "" || who.Role == Anonymous || !slices.Equal(who.Workspaces, []string{"env"}) {
			t.Errorf("%q gives %+v", token, who)
		}
	})
}

func cutLast(token string) (before, after string, found bool) {
	i := strings.LastIndexByte(token, '.')
	if i < 0 {
		return token, "", false
	}
	return token[:i], token[i+1:], true
}
