package cli

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/token"
)

// A roll records the roles of requests by part of the service.
type roll struct {
	mu    sync.Mutex
	roles map[string][]string // values are "admin", "superadmin", or "" for all others
}

func (r *roll) note(t testing.TB, q *http.Request) {
	claims, err := token.Read(token.NewSecret(q.Header.Get("Authorization")), "ckbox")
	if err != nil {
		t.Errorf("%s %s: %v", q.Method, q.URL.Path, err)
		return
	}
	part, _, _ := strings.Cut(strings.TrimPrefix(q.URL.Path, "/"), "/")
	if part != "admin" && part != "superadmin" {
		part = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.roles[part], claims.Role) {
		r.roles[part] = append(r.roles[part], claims.Role)
	}
}

// The test verifies the roles of requests: with least privilege, users upload assets and create
// folders, and an admin only creates the missing category. Without the flag, an admin does
// everything.
func TestLeastPrivilege(t *testing.T) {
	for name, tt := range map[string]struct {
		args           []string
		yaml           string
		everyday, rest string
	}{
		"switch":     {[]string{"--least-privilege"}, "", "user", "admin"},
		"file":       {nil, "least_privilege: true\n", "user", "admin"},
		"without it": {nil, "", "admin", "admin"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startService(t, sandbox.Options{})
			seen := &roll{roles: map[string][]string{}}
			s.onRequest(func(r *http.Request) { seen.note(t, r) })
			dir := t.TempDir()
			for file, text := range map[string]string{"src/sub/a.txt": "a", "src/b.odd": "b", "assetferry.yaml": tt.yaml} {
				path := filepath.Join(dir, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			assetferry(t, dir, s.variables(), append([]string{"migrate", "src", "--unsupported", "create"}, tt.args...)...).must(t, exit.CodeDone)
			assetferry(t, dir, s.variables(), append([]string{"verify", "--content"}, tt.args...)...).must(t, exit.CodeDone)
			s.rest(t)
			seen.mu.Lock()
			defer seen.mu.Unlock()
			if got := seen.roles[""]; !slices.Equal(got, []string{tt.everyday}) {
				t.Errorf("assets and folders: roles %v, want %s", got, tt.everyday)
			}
			if got := seen.roles["admin"]; !slices.Equal(got, []string{tt.rest}) {
				t.Errorf("administration: roles %v, want %s", got, tt.rest)
			}
			if got := seen.roles["superadmin"]; len(got) != 0 {
				t.Errorf("superadministration: roles %v", got)
			}
		})
	}
}

func TestLeastPrivilegeNeedsTheKey(t *testing.T) {
	s := startService(t, sandbox.Options{})
	env := []string{"ASSETFERRY_URL=" + s.url, "ASSETFERRY_ENVIRONMENT_ID=" + s.env.ID, "ASSETFERRY_TOKEN_COMMAND=sign"}
	p := assetferry(t, t.TempDir(), env, "migrate", ".", "--least-privilege")
	p.must(t, exit.CodeUsage)
	if !strings.Contains(p.stderr.String(), "access key") {
		t.Errorf("got %s", p.stderr.String())
	}
	if got := s.drain(); len(got) != 0 {
		t.Errorf("sent %v", got)
	}
}

// The test verifies that tokens have the scope for contexts only if contexts are named or listed,
// and the admin scope only if contexts are changed or all of them are listed.
func TestLeastPrivilegeOfContexts(t *testing.T) {
	s := startService(t, sandbox.Options{})
	w := startWords(t, s, aiservice.Options{})
	var mu sync.Mutex
	const contextScope, adminScope = "ai:contexts:read", "ai:admin"
	with := map[string]bool{}
	w.onRequest(func(r *http.Request) {
		_, payload, _ := strings.Cut(r.Header.Get("Authorization"), ".")
		payload, _, _ = strings.Cut(payload, ".")
		claims, err := base64.RawURLEncoding.DecodeString(payload)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, scope := range []string{contextScope, adminScope} {
			with[scope] = with[scope] || strings.Contains(string(claims), scope)
		}
	})
	for _, tt := range []struct {
		args            string
		code            int
		contexts, admin bool
	}{
		{"ai models", exit.CodeDone, false, false},
		{"ai ask Hello", exit.CodeDone, false, false},
		{"ai ask Hello --ai-context none", exit.CodeError, true, false},
		{"enrich describe --dry-run --ai-context none", exit.CodeError, true, false},
		{"ai contexts ls", exit.CodeDone, true, false},
		{"ai contexts ls --all", exit.CodeDone, false, true},
		{"ai contexts create one", exit.CodeDone, false, true},
	} {
		mu.Lock()
		clear(with)
		mu.Unlock()
		assetferry(t, t.TempDir(), slices.Concat(s.variables(), w.variables()), strings.Fields(tt.args)...).must(t, tt.code)
		mu.Lock()
		if with[contextScope] != tt.contexts || with[adminScope] != tt.admin {
			t.Errorf("%s: got %v", tt.args, with)
		}
		mu.Unlock()
	}
}
