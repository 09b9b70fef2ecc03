package approval

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/state"
)

// requests returns one request of each kind.
func requests() map[string]Request {
	all := map[string]Request{
		KindPlan:    {Source: "/photos", SourceURL: "/photos\xff", Plan: &PlanRequest{Hash: strings.Repeat("a", 64), Run: "r", Actions: map[state.Action]Amount{state.Create: {2, 8}}}},
		KindUndo:    {Run: "20260501-1200-abcde"},
		KindSync:    {Source: "/photos", Sync: &SyncRequest{RulesHash: "h", Rules: []string{"delete: trash", `include: ["<&>"]`}, Limits: Limits{MaxDelete: 3, MaxDeletePercent: 0.5, Sentinel: "here"}}},
		KindCommand: {Command: Words([]string{"assets", "folder", "delete", "a\xffb"}), Content: "c"},
	}
	for kind, r := range all {
		r.Kind, r.Destination, r.DestinationURL = kind, "env/ws", "https://example.com"
		r.PlannedBy, r.RequestedBy = "op@build01", "op@build01"
		r.RequestedAt = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		r.ExpiresAt = r.RequestedAt.Add(24 * time.Hour)
		all[kind] = r
	}
	return all
}

// requestText returns a request in its canonical form.
func requestText(tb testing.TB, r Request) string {
	tb.Helper()
	text, err := r.Encode()
	must(tb, err)
	return string(text)
}

func TestRequest(t *testing.T) {
	for kind, r := range requests() {
		text := requestText(t, r)
		if !strings.HasPrefix(text, "{\n  \"type\": \"assetferry-approval-request\",\n  \"version\": 1,\n  \"kind\": \""+kind+"\",\n") {
			t.Errorf("%s begins with %.80s", kind, text)
		}
		r.Type, r.Version = requestType, requestVersion
		got, err := ParseRequest([]byte(text))
		if diff := gocmp.Diff(r, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", kind, err, diff)
		}
		if is, err := IsRequest(strings.NewReader(text)); err != nil || !is {
			t.Errorf("%s is taken for none: %v", kind, err)
		}
	}
	for text, want := range map[string]bool{"": true, "{}": false, "{\n  \"type\": \"other\"": false, begin: false} {
		if is, err := IsRequest(strings.NewReader(text)); err != nil || is != want {
			t.Errorf("%q: %v, %v", text, is, err)
		}
	}
}

// An approver signs readable text. So only the canonical form of a request is accepted: no duplicate key,
// no other spelling, no omission.
func TestRequestEdited(t *testing.T) {
	good := requestText(t, requests()[KindPlan])
	replace := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("there is no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, text := range map[string]string{
		"nothing":                    "",
		"a plan":                     begin,
		"half of it":                 good[:len(good)/2],
		"more behind it":             good + "{}",
		"a line break more":          good + "\n",
		"none at its end":            strings.TrimSuffix(good, "\n"),
		"line breaks of Windows":     strings.ReplaceAll(good, "\n", "\r\n"),
		"a space":                    replace(`"version": 1`, `"version":  1`),
		"a key twice":                replace(`"kind": "plan",`, "\"kind\": \"undo\",\n  \"kind\": \"plan\","),
		"a key in capitals":          replace(`"kind"`, `"Kind"`),
		"an unknown key":             replace(`"version": 1,`, "\"version\": 1,\n  \"note\": \"harmless\","),
		"another spelling":           replace("/photos", `\u002fphotos`),
		"a number as text":           replace(`"version": 1`, `"version": "1"`),
		"another order":              replace("\"type\": \"assetferry-approval-request\",\n  \"version\": 1,", "\"version\": 1,\n  \"type\": \"assetferry-approval-request\","),
		"a mark of bytes":            "\ufeff" + good,
		"another version":            replace(`"version": 1`, `"version": 2`),
		"another type":               replace("assetferry-approval-request", "assetferry-approval"),
		"another kind":               replace(`"kind": "plan"`, `"kind": "undo"`),
		"an unknown kind":            replace(`"kind": "plan"`, `"kind": "all"`),
		"a time with a fraction":     replace("12:00:00Z", "12:00:00.5Z"),
		"a time of another zone":     replace("2026-05-01T12:00:00Z", "2026-05-01T14:00:00+02:00"),
		"no destination":             replace("env/ws", ""),
		"no planner":                 replace(`"planned_by": "op@build01"`, `"planned_by": ""`),
		"no expiry":                  replace("2026-05-02T12:00:00Z", "0001-01-01T00:00:00Z"),
		"a run beside the plan":      replace(`"plan": {`, "\"run\": \"r\",\n  \"plan\": {"),
		"more than any request has ": replace("env/ws", strings.Repeat("x", MaxRequest)),
	} {
		if r, err := ParseRequest([]byte(text)); !errors.Is(err, ErrRequest) {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
	two := requests()[KindPlan]
	two.Run = "20260501-1200-abcde"
	if _, err := ParseRequest([]byte(requestText(t, two))); !errors.Is(err, ErrRequest) {
		t.Errorf("two kinds at once: %v", err)
	}
}

// Invisible characters are escaped: a mark that changes the direction of text would show the approver
// another request.
func TestRequestIsVisible(t *testing.T) {
	for _, hidden := range []string{"\u202e", "\u200b", "\u009b", "\u2028", "\ufeff", "\U000e0041", "\u00a0"} {
		r := requests()[KindCommand]
		r.Command = Words([]string{"assets", "a" + hidden + "b"})
		r.Source, r.DestinationURL = Text("s"+hidden), "https://example.com/"+hidden
		text := requestText(t, r)
		if strings.Contains(text, hidden) {
			t.Errorf("%+q is written as it is", hidden)
		}
		got, err := ParseRequest([]byte(text))
		if err != nil || got.Command[1] != r.Command[1] || got.DestinationURL != r.DestinationURL {
			t.Errorf("%+q: got %+v, %v", hidden, got, err)
		}
	}
}

func TestLooser(t *testing.T) {
	approved := Limits{MaxDelete: 3, MaxDeletePercent: 1, AcceptDeletes: 0, MaxChanges: 10, MaxChangesPercent: 20, AcceptChanges: 5, Sentinel: "here"}
	for _, c := range []struct {
		change func(*Limits)
		want   string
	}{
		{func(*Limits) {}, ""},
		{func(l *Limits) { *l = Limits{Sentinel: "here"} }, ""},
		{func(l *Limits) { l.MaxDelete = 4 }, "--max-delete is 4, approved is 3"},
		{func(l *Limits) { l.MaxDeletePercent = 1.5 }, "--max-delete-percent is 1.5, approved is 1"},
		{func(l *Limits) { l.AcceptDeletes = 1 }, "--accept-deletes is 1, approved is 0"},
		{func(l *Limits) { l.MaxChanges = 11 }, "--max-changes is 11, approved is 10"},
		{func(l *Limits) { l.MaxChangesPercent = 21 }, "--max-changes-percent is 21, approved is 20"},
		{func(l *Limits) { l.AcceptChanges = 6 }, "--accept-changes is 6, approved is 5"},
		{func(l *Limits) { l.AcceptRules = true }, "--accept-rules is not approved"},
		{func(l *Limits) { l.Sentinel = "" }, `--sentinel is "", approved is "here"`},
		{func(l *Limits) { l.Sentinel = "there" }, `--sentinel is "there", approved is "here"`},
	} {
		l := approved
		c.change(&l)
		if got := strings.Join(l.Looser(approved), "; "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestSameName(t *testing.T) {
	for _, c := range []struct {
		approver, account string
		want              bool
	}{
		{"ada", "ada@build01", true},
		{"ada@build01", "ada@build01", true},
		{"ada@example.com", "ada@build01", true},
		{"Ada@example.com", "ada@build01", true},
		{"ada", `OFFICE\Ada@pc7`, true},
		{"ada.lovelace@example.com", "ada@build01", false},
		{"bob@build01", "ada@build01", false},
		{"ada2", "ada@build01", false},
	} {
		if got := SameName(c.approver, c.account); got != c.want {
			t.Errorf("%s and %s: %v", c.approver, c.account, got)
		}
	}
}

// Every accepted request is written again byte by byte.
func FuzzParseRequest(f *testing.F) {
	for _, r := range requests() {
		f.Add([]byte(requestText(f, r)))
	}
	f.Add([]byte(`{"type":"assetferry-approval-request","version":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseRequest(text)
		if err != nil {
			if !errors.Is(err, ErrRequest) {
				t.Errorf("%v is no ErrRequest", err)
			}
			return
		}
		again, err := r.Encode()
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q is written %q (%v)", text, again, err)
		}
		if is, _ := IsRequest(bytes.NewReader(text)); !is {
			t.Errorf("%q does not begin as a request", text)
		}
	})
}
