package cli

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assetferry/internal/config"
	"assetferry/internal/probe"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/token"
	"assetferry/state"
)

// cmdDiagnosis prints what doctor found to be other than ok, or all of it, without what
// differs from run to run and from machine to machine, and with each text on one line:
//
//	diagnosis [all]
func cmdDiagnosis(ts *testscript.TestScript, _ bool, args []string) {
	text := scrub(ts, ts.ReadFile("stdout"))
	text = regexp.MustCompile(`\n {13}([^ T]|T[^r])`).ReplaceAllString(text, " $1")
	for _, change := range [][2]string{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "YYYY-MM-DDThh:mm:ssZ"},
		{`\d+\.\d ms`, "0.0 ms"},
		{`free space  .*`, "free space  1.0 GB"},
		{`trace [0-9a-f-]{36}`, "trace ID"},
		{`process \d+`, "process 1"},
		{`server's clock, which says \S+:`, "server's clock, which says TIME:"},
	} {
		text = regexp.MustCompile(change[0]).ReplaceAllString(text, change[1])
	}
	if len(args) > 0 {
		fmt.Fprint(ts.Stdout(), text)
		return
	}
	shown := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			shown = !strings.HasPrefix(line, "ok ") && line != "\n"
		}
		if shown {
			fmt.Fprint(ts.Stdout(), line)
		}
	}
}

// cmdNewer makes a journal look as if a later version had made it.
func cmdNewer(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	const userVersion = 60 // its offset in a file of SQLite
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, 99), userVersion)
	ts.Check(err)
	ts.Check(f.Close())
	ts.Check(os.Remove(ts.MkAbs(args[0]) + ".sums")) // the newer version would have those of its own
}

// cmdToken writes a token, whose claims may be changed by JSON: token FILE ROLE [CLAIMS]
func cmdToken(ts *testscript.TestScript, _ bool, args []string) {
	s := serviceOf(ts)
	claims := sandboxtest.Claims(s.env, args[1])
	if len(args) > 2 {
		ts.Check(json.Unmarshal([]byte(args[2]), &claims))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(sandboxtest.Sign(s.env.AccessKey, claims)), 0o600))
}

// cmdBare deletes all categories of the service.
func cmdBare(ts *testscript.TestScript, _ bool, _ []string) {
	s := serviceOf(ts)
	all, err := s.structure()
	ts.Check(err)
	for _, c := range all {
		ts.Check(s.call("DELETE", "/admin/categories/"+c.ID, nil, "", nil))
	}
}

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
		{"no auth", func(c *token.Contents) { c.Services, c.Role = nil, "" }, "role is none that is known"},
		{"role", func(c *token.Contents) { c.Role = "root" }, "role is none that is known"},
		{"no workspaces", func(c *token.Contents) { c.Listed = true }, "workspaces is empty"},
		{"workspace", func(c *token.Contents) { c.Listed, c.Workspaces = true, []string{"a"} }, "not for the workspace w"},
		{"superadmin", func(c *token.Contents) { c.Listed, c.Workspaces, c.Role = true, []string{"a"}, "superadmin" }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := &doctor{to: &config.Destination{Service: "ckbox", Workspace: "w"}, dest: &destination{environment: "env"}, claims: good}
			tt.change(&d.claims)
			f := d.judgeClaims(now)
			if tt.want == "" {
				if f.verdict != verdictOK {
					t.Errorf("got %+v", f)
				}
				return
			}
			if f.verdict != verdictFailed || f.code != exitAuth || f.hint == "" || !strings.Contains(f.message, tt.want) {
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
		{map[string]int{"Images": 1}, "", "stop", nil, verdictOK, "1 category"},
		{map[string]int{"Images": 1, "Files": 2}, "", "stop", nil, verdictWarning, "Files"},
		{map[string]int{"Images": 1, probe.Prefix + "XYZ": 1}, "", "stop", nil, verdictWarning, "a probe that was killed left"},
		{nil, "", "stop", nil, verdictFailed, "none"},
		{nil, "", "create", nil, verdictWarning, "none yet"},
		{nil, "", "create", errors.New("no"), verdictFailed, "none"},
		{map[string]int{"Images": 1}, "Photos", "stop", nil, verdictFailed, "Photos"},
		{map[string]int{"Images": 1}, "Photos", "create", nil, verdictOK, "1 category"},
		{map[string]int{"Images": 1}, "Images", "stop", nil, verdictOK, "1 category"},
	} {
		d := &doctor{app: &app{settings: &config.Settings{Category: tt.category, Unmatched: tt.unmatched}}, admin: tt.admin}
		if f := d.judgeCategories(tt.seen); f.verdict != tt.want || !strings.Contains(f.message, tt.message) {
			t.Errorf("%v, --category %q, --unmatched %s, %v: got %+v", tt.seen, tt.category, tt.unmatched, tt.admin, f)
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
		{here, true, true, verdictWarning}, {here, true, false, verdictOK}, {here, false, false, verdictOK},
		{"elsewhere", true, false, verdictFailed}, {"elsewhere", false, false, verdictOK},
	} {
		h := state.Holder{Owner: state.Owner{PID: 1, Host: tt.host}, Open: tt.open, Alive: tt.alive}
		if f := judgeHolder(h); f.verdict != tt.want || f.verdict != verdictOK && f.hint == "" {
			t.Errorf("%+v: got %+v", h, f)
		}
	}
}
