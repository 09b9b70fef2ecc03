package assets

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/token"
)

// A mint is a token source that returns its own name, and records the calls of its methods.
type mint struct {
	name string

	mu   sync.Mutex
	lost int
	skew time.Duration
}

func (m *mint) Token(context.Context) (token.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return token.NewSecret(m.name + strings.Repeat("'", m.lost)), nil
}

func (m *mint) Invalidate() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost++
}

func (m *mint) SetSkew(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.skew = d
}

// The test verifies that each part of the service receives only the tokens for it.
func TestTokensByRoute(t *testing.T) {
	for name, tt := range map[string]struct {
		o    Options
		want map[string]string // expected token by part
	}{
		"one for everything": {Options{}, map[string]string{"/": "user", "/admin/": "user", "/superadmin/": "user"}},
		"admin":              {Options{AdminTokens: &mint{name: "admin"}}, map[string]string{"/": "user", "/admin/": "admin", "/superadmin/": "user"}},
		"all": {Options{AdminTokens: &mint{name: "admin"}, SuperadminTokens: &mint{name: "super"}},
			map[string]string{"/": "user", "/admin/": "admin", "/superadmin/": "super"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
				part := "/"
				for _, p := range []string{"/admin/", "/superadmin/"} {
					if strings.HasPrefix(r.URL.Path, p) {
						part = p
					}
				}
				if had := got[part]; had != "" && had != r.Header.Get("Authorization") {
					t.Errorf("%s: %s after %s", r.URL.Path, r.Header.Get("Authorization"), had)
				}
				got[part] = r.Header.Get("Authorization")
				_, _ = w.Write([]byte(`{"items":[],"id":"x","url":"u"}`))
			})
			tt.o.BaseURL, tt.o.Tokens = srv.base.String(), &mint{name: "user"}
			c := newClient(t, tt.o)
			callEverything(t, c)
			if !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// callEverything makes a call to each part of the service.
func callEverything(t *testing.T, c *Client) {
	t.Helper()
	ctx := t.Context()
	_, uploaded := c.Upload(ctx, upload(10))
	_, folder := c.CreateFolder(ctx, NewFolder{Name: "n", CategoryID: "c"})
	_, updated := c.Update(ctx, "a", Changes{})
	_, category := c.CreateCategory(ctx, NewCategory{Name: "n", Extensions: []string{"txt"}})
	_, groups := c.Groups(ctx)
	_, workspace := c.CreateWorkspace(ctx, "n")
	_, workspaces := c.Workspaces(ctx)
	for i, err := range []error{c.Ping(ctx), uploaded, folder, updated, category, groups, workspace, workspaces} {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// The test verifies that a refused token is replaced by one from the same source, and that a new
// clock skew applies to all sources.
func TestRefusedTokenOfARole(t *testing.T) {
	user, admin := &mint{name: "user"}, &mint{name: "admin"}
	var got []string
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		if r.Header.Get("Authorization") == "admin" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"items":[]}`))
	})
	c := newClient(t, Options{BaseURL: srv.base.String(), Tokens: user, AdminTokens: admin, CompensateClock: true})
	if _, err := c.Groups(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"admin", "admin'", "user"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, s := range []*mint{user, admin} {
		if s.skew.Round(time.Minute) != time.Hour {
			t.Errorf("%s: skew %v", s.name, s.skew)
		}
	}
}

// The test verifies that a token made with a wrong clock is replaced once the clock is set, even if
// it is new, and that a token is kept if a new one would be equal.
func TestTokenOfAClockSetRight(t *testing.T) {
	user, ahead, good := &mint{name: "user"}, time.Hour, "user'"
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		if r.Header.Get("Authorization") != good {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"items":[]}`))
	})
	c := newClient(t, Options{BaseURL: srv.base.String(), Tokens: user, CompensateClock: true})
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	ahead, good = 0, "user''"
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if good = "another's"; c.Ping(t.Context()) == nil || user.lost != 2 {
		t.Errorf("asked for %d new tokens, want 2", user.lost)
	}
}
