package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"assetferry/internal/config"
	"assetferry/internal/probe"
	"assetferry/internal/token"
	"assetferry/state"
	"assetferry/state/ownership"
)

func TestJudgeClaims(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	good := token.Contents{Audience: "env", User: "me", Issued: now, Services: []string{"ckbox"}, Role: "admin"}
	tests := []struct {
		name   string
		change func(*token.Contents)
		want   string // empty: ok
	}{
		{"good", func(*token.Contents) {}, ""},
		{"aud", func(c *token.Contents) { c.Audience = "other" }, "aud is not"},
		{"sub", func(c *token.Contents) { c.User = "" }, "sub is missing"},
		{"iat", func(c *token.Contents) { c.Issued = time.Time{} }, "iat is missing"},
		{"milliseconds", func(c *token.Contents) { c.Issued = time.Unix(now.UnixMilli(), 0) }, "iat is in the year"},
		{"expired", func(c *token.Contents) { c.Expires = now }, "expired"},
		{"later", func(c *token.Contents) { c.Expires = now.Add(time.Second) }, ""},
		{"service", func(c *token.Contents) { c.Services, c.Role = []string{"dam"}, "" }, "no key ckbox, but dam"},
		{"no auth", func(c *token.Contents) { c.Services, c.Role = nil, "" }, "an unknown role"},
		{"role", func(c *token.Contents) { c.Role = "root" }, "an unknown role"},
		{"no workspaces", func(c *token.Contents) { c.Listed = true }, "workspaces is empty"},
		{"workspace", func(c *token.Contents) { c.Listed, c.Workspaces = true, []string{"a"} }, "not for the workspace w"},
		{"superadmin", func(c *token.Contents) { c.Listed, c.Workspaces, c.Role = true, []string{"a"}, "superadmin" }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &Doctor{To: &config.Destination{Service: "ckbox", Workspace: "w"}, Destination: &Destination{Environment: "env"}, claims: good}
			tt.change(&d.claims)
			f := d.judgeClaims(now)
			if tt.want == "" {
				if f.Verdict != OK {
					t.Errorf("got %+v", f)
				}
				return
			}
			if f.Verdict != Failed || !f.Auth || f.Hint == "" || !strings.Contains(f.Message, tt.want) {
				t.Errorf("got %+v, want %q", f, tt.want)
			}
		})
	}
}

func TestJudgeCategories(t *testing.T) {
	for _, tt := range []struct {
		seen                map[string]int
		category, unmatched string
		admin               error
		want, message       string
	}{
		{map[string]int{"Images": 1}, "", "stop", nil, OK, "1 category"},
		{map[string]int{"Images": 1, "Files": 2}, "", "stop", nil, Warning, "Files"},
		{map[string]int{"Images": 1, probe.Prefix + "XYZ": 1}, "", "stop", nil, Warning, "an interrupted doctor --probe left"},
		{nil, "", "stop", nil, Failed, "none"},
		{nil, "", "create", nil, Warning, "none yet"},
		{nil, "", "create", errors.New("no"), Failed, "none"},
		{map[string]int{"Images": 1}, "Photos", "stop", nil, Failed, "Photos"},
		{map[string]int{"Images": 1}, "Photos", "create", nil, OK, "1 category"},
		{map[string]int{"Images": 1}, "Images", "stop", nil, OK, "1 category"},
	} {
		d := &Doctor{Settings: &config.Settings{Category: tt.category, Unsupported: tt.unmatched}, admin: tt.admin}
		if f := d.judgeCategories(tt.seen); f.Verdict != tt.want || !strings.Contains(f.Message, tt.message) {
			t.Errorf("%v, --category %q, --unsupported %s, %v: got %+v", tt.seen, tt.category, tt.unmatched, tt.admin, f)
		}
	}
}

func TestJudgeHolder(t *testing.T) {
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host        string
		open, alive bool
		want        string
	}{
		{here, true, true, Warning}, {here, true, false, OK}, {here, false, false, OK},
		{"elsewhere", true, false, Failed}, {"elsewhere", false, false, OK},
	} {
		h := state.Holder{Owner: ownership.Owner{PID: 1, Host: tt.host}, Open: tt.open, Alive: tt.alive}
		if f := judgeHolder("state.db", h); f.Verdict != tt.want || f.Verdict != OK && f.Hint == "" {
			t.Errorf("%+v: got %+v", h, f)
		}
	}
}
