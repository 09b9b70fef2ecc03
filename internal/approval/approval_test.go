package approval

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// plan returns a plan of items like the engine.
func plan(tb testing.TB, head migrate.PlanHead, items ...state.Item) Plan {
	tb.Helper()
	h := migrate.NewPlanHash()
	p := Plan{Head: head, Items: all(items), Noted: Noted{Run: "a run", Made: time.Unix(1e9, 0).UTC(), URL: "https://example.com"}}
	for _, i := range items {
		h.Add(&i)
		p.Tallies = append(p.Tallies, state.Tally{Action: i.Action, Objects: 1, Bytes: i.Size})
	}
	if head.Unchanged > 0 {
		p.Tallies = append(p.Tallies, state.Tally{Action: state.Unchanged, Objects: head.Unchanged, Bytes: head.UnchangedBytes})
	}
	var err error
	p.Hash, err = h.Sum(head)
	must(tb, err)
	return p
}

func all(items []state.Item) iter.Seq2[state.Item, error] {
	return func(yield func(state.Item, error) bool) {
		for _, i := range items {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func written(tb testing.TB, p Plan) string {
	tb.Helper()
	var b bytes.Buffer
	must(tb, Write(&b, p))
	return b.String()
}

func head() migrate.PlanHead {
	r := migrate.DefaultRules()
	r.Include, r.Limit = []string{"*.jpg", "<&>"}, 3
	return migrate.PlanHead{
		Source: "photos", SourceLocation: "/srv/photos", Destination: "environment/workspace", Rules: r,
		Categories: []migrate.NewCategory{{Name: "Other files", Extensions: []string{"odd", "ö"}}}, Metadata: "abc", Unchanged: 2, UnchangedBytes: 30,
	}
}

func items() []state.Item {
	return []state.Item{
		{Object: sources.Object{Key: "a/<b>&.jpg", Size: 1, Time: time.Date(2026, 5, 1, 12, 30, 15, 123456789, time.UTC), VersionTag: `"etag"`},
			Action: state.Create, Reason: "new", Category: "c1", Folder: "a", Name: "<b>&.jpg"},
		{Object: sources.Object{Key: "a/caf\xe9.jpg", Size: 2, VersionTag: "\xff"}, Action: state.Conflict, Reason: "its key", Folder: "a", Name: "caf\xe9.jpg"},
		{Object: sources.Object{Key: "a/caf\ufffd.jpg", Time: time.Unix(0, 0).UTC()}, Action: state.Adopt, Reason: "equal", Category: "c1", Folder: "a", Name: "x", Asset: "id"},
		{Object: sources.Object{Key: "b\x00\n\"\u2028.odd", Size: 1 << 40, Time: time.Unix(0, -1).UTC()}, Action: state.Skip, Reason: "left out"},
	}
}

// A file is read unchanged, whatever its content, any number of times.
func TestRoundTrip(t *testing.T) {
	p := plan(t, head(), items()...)
	f, err := read(strings.NewReader(written(t, p)), "plan")
	must(t, err)
	if diff := cmp.Diff(p.Head, f.Head, cmp.AllowUnexported(migrate.KeyList{})); diff != "" || f.Hash != p.Hash {
		t.Errorf("head, hash %s, want %s:\n%s", f.Hash, p.Hash, diff)
	}
	if diff := cmp.Diff(p.Noted, f.Noted); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		var got []state.Item
		for i, err := range f.Items() {
			must(t, err)
			got = append(got, i)
		}
		if diff := cmp.Diff(items(), got); diff != "" {
			t.Error(diff)
		}
	}
}

// JSON changes globs that are not valid UTF-8. The hash must not depend on that.
func TestGlobThatIsNotText(t *testing.T) {
	h := head()
	h.Rules.Exclude = []string{"caf\xe9*"}
	_, err := read(strings.NewReader(written(t, plan(t, h))), "plan")
	must(t, err)
}

// The first line of a plan describes its content.
func TestHeaderIsReadable(t *testing.T) {
	first, _, _ := strings.Cut(written(t, plan(t, head(), items()...)), "\n")
	for _, want := range []string{`"type":"approval-plan","version":1,"hash":"`, `"source":"photos"`, `"items":4,`,
		`"actions":{"adopt":{"objects":1,"bytes":0},"conflict":{"objects":1,"bytes":2},"create":{"objects":1,"bytes":1},"skip":{"objects":1,"bytes":1099511627776}}`,
		`"unchanged":{"objects":2,"bytes":30}`, `"made":"2001-09-09T01:46:40Z"`} {
		if !strings.Contains(first, want) {
			t.Errorf("%s is missing in %s", want, first)
		}
	}
}

// Any change to a file is detected and reported, with its line if possible.
func TestDamage(t *testing.T) {
	good := written(t, plan(t, head(), items()...))
	lines := strings.SplitAfter(strings.TrimSuffix(good, "\n"), "\n")
	replace := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for name, c := range map[string]struct {
		text, want string
		err        error
	}{
		"nothing":                 {"", "plan: this is not", ErrNoPlan},
		"something else":          {"a,b,c\n", "plan: this is not", ErrNoPlan},
		"other JSON":              {`{"type":"summary","version":1}` + "\n", "plan: this is not", ErrNoPlan},
		"no lines":                {strings.Repeat("x", mostBytes+1), "plan: this is not", ErrNoPlan},
		"of a later version":      {replace(`"version":1`, `"version":2`), "line 1: another version of assetferry wrote this plan: its format is 2", ErrVersion},
		"an unknown rule":         {replace(`"rules":{`, `"rules":{"mood":"good",`), `line 1: the plan was changed after it was written: json: unknown field "mood"`, ErrChanged},
		"another hash":            {replace(`"hash":"`, `"hash":"0`), "its content does not match the hash in its header", ErrChanged},
		"another source":          {replace("photos", "pictures"), "its content does not match the hash in its header", ErrChanged},
		"another URL":             {replace("/srv/photos", "/home/photos"), "its content does not match the hash in its header", ErrChanged},
		"another destination":     {replace("environment/", "production/"), "its content does not match the hash in its header", ErrChanged},
		"another rule":            {replace(`"on_existing":"conflict"`, `"on_existing":"adopt"`), "its content does not match the hash in its header", ErrChanged},
		"another new category":    {replace(`["odd",`, `["even",`), "its content does not match the hash in its header", ErrChanged},
		"other unchanged objects": {replace(`"unchanged":{"objects":2`, `"unchanged":{"objects":3`), "its content does not match the hash in its header", ErrChanged},
		"other sums":              {replace(`"adopt":{"objects":1`, `"adopt":{"objects":2`), "the totals in its header do not match its items", ErrChanged},
		"another size":            {replace(`"size":2`, `"size":3`), "its content does not match the hash in its header", ErrChanged},
		"another time":            {replace(`.123456789Z`, `.123456788Z`), "its content does not match the hash in its header", ErrChanged},
		"another action":          {replace(`"action":"skip"`, `"action":"create"`), "its content does not match the hash in its header", ErrChanged},
		"a made-up action":        {replace(`"action":"skip"`, `"action":"burn"`), "line 5: the plan was changed after it was written: the line is not an item of a plan", ErrChanged},
		"another asset":           {replace(`"asset":"id"`, `"asset":"other"`), "its content does not match the hash in its header", ErrChanged},
		"another type":            {replace(`"size":2`, `"size":"2"`), `line 3: the plan was changed after it was written: "size" cannot be a string`, ErrChanged},
		"two objects on a line":   {good[:len(good)-1] + "{}\n", "line 5: the plan was changed after it was written: the line has more than one object", ErrChanged},
		"cut within a line":       {good[:len(good)-20], "line 5: the plan was changed after it was written: the line is not complete", ErrChanged},
		"cut between lines":       {strings.Join(lines[:3], ""), "it ends after 2 of 4 items", ErrChanged},
		"only the header":         {lines[0], "it ends after 0 of 4 items", ErrChanged},
		"a line is gone":          {lines[0] + lines[1] + lines[3] + lines[4], "it ends after 3 of 4 items", ErrChanged},
		"a line is there twice":   {lines[0] + lines[1] + lines[1] + lines[2] + lines[3] + lines[4], "line 3: the plan was changed after it was written: the keys are not in order", ErrChanged},
		"lines in another order":  {lines[0] + lines[2] + lines[1] + lines[3] + lines[4], "line 3: the plan was changed after it was written: the keys are not in order", ErrChanged},
		"a line more":             {good + `{"key":"z","action":"create","reason":"new","size":1}` + "\n", "it has 5 items", ErrChanged},
		"an empty line":           {lines[0] + "\n" + strings.Join(lines[1:], ""), "line 2: the plan was changed after it was written: the line is not complete", ErrChanged},
		"an action twice":         {replace(`"action":"skip"`, `"action":"create","action":"skip"`), "line 5: the plan was changed after it was written: the line has another spelling", ErrChanged},
		"a key in capitals":       {replace(`"action":"skip"`, `"Action":"skip"`), "line 5: the plan was changed after it was written: the line has another spelling", ErrChanged},
		"a rule twice":            {replace(`"on_existing":`, `"on_existing":"adopt","on_existing":`), "line 1: the plan was changed after it was written: the line has another spelling", ErrChanged},
		"white space":             {replace(`"action":"skip"`, `"action": "skip"`), "line 5: the plan was changed after it was written: the line has another spelling", ErrChanged},
		"another metadata table":  {replace(`"metadata_sha256":"a`, `"metadata_sha256":"b`), "its content does not match the hash in its header", ErrChanged},
		"no metadata table":       {replace(`"metadata_sha256":"abc",`, ""), "its content does not match the hash in its header", ErrChanged},
		"a key in bad base64":     {replace("{\"base64\":\"", "{\"base64\":\"!"), "line 3: the plan was changed after it was written: decode text in base64", ErrChanged},
		"a key of other bytes":    {replace("caf\ufffd", "caf\U0001f600"), "its content does not match the hash in its header", ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(strings.NewReader(c.text), "plan")
			if err == nil || !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %v: %s", err, c.err, c.want)
			}
		})
	}
}

// A file that is changed after it was opened is detected when it is read again.
func TestChangedWhileOpen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "plan")
	text := written(t, plan(t, head(), items()...))
	must(t, os.WriteFile(name, []byte(text), 0o600))
	f, err := Open(name)
	must(t, err)
	defer f.Close()
	must(t, os.WriteFile(name, []byte(strings.Replace(text, `"size":2`, `"size":3`, 1)), 0o600))
	for _, err = range f.Items() {
	}
	if !errors.Is(err, ErrChanged) {
		t.Errorf("another item: %v", err)
	}
	// Another plan with its own hash is intact, but not the one that was opened.
	must(t, os.WriteFile(name, []byte(written(t, plan(t, head(), items()[:1]...))), 0o600))
	err = nil
	var i state.Item
	for i, err = range f.Items() {
		if err == nil {
			t.Errorf("another plan: got the item %q", i.Key)
		}
	}
	if !errors.Is(err, ErrChanged) {
		t.Errorf("another plan: %v", err)
	}
}

func TestMissing(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "plan")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoFile) {
		t.Errorf("a folder: %v", err)
	}
}

// Unsupported types block a plan only if the rules say so.
func TestUnsupported(t *testing.T) {
	i := state.Item{Object: sources.Object{Key: "a.odd"}, Action: state.Skip, Reason: string(migrate.ReasonUnsupportedType)}
	for policy, want := range map[string]int64{"stop": 1, "skip": 0} {
		h := head()
		h.Rules.Unsupported = policy
		f, err := read(strings.NewReader(written(t, plan(t, h, i))), "plan")
		must(t, err)
		if f.Unsupported != want {
			t.Errorf("%s: %d, want %d", policy, f.Unsupported, want)
		}
	}
}

// The items of the state database must match the hash.
func TestOtherItems(t *testing.T) {
	p := plan(t, head(), items()...)
	p.Items = all(items()[1:])
	if err := Write(new(bytes.Buffer), p); !errors.Is(err, errOther) {
		t.Error(err)
	}
}

// Every accepted plan is unchanged when it is written again.
func FuzzRead(f *testing.F) {
	good := written(f, plan(f, head(), items()...))
	f.Add([]byte(good))
	f.Add([]byte(good[:len(good)/2]))
	f.Add([]byte(strings.Replace(good, `"size":2`, `"size":2.5`, 1)))
	f.Add([]byte(`{"type":"approval-plan","version":1}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := read(bytes.NewReader(text), "plan")
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("%v names no file", err)
			}
			return
		}
		var found []state.Item
		for i, err := range file.Items() {
			must(t, err)
			found = append(found, i)
		}
		again, err := read(strings.NewReader(written(t, plan(t, file.Head, found...))), "plan")
		must(t, err)
		if again.Hash != file.Hash {
			t.Errorf("hash %s, want %s", again.Hash, file.Hash)
		}
	})
}

// Keys are any bytes, and different keys are written differently.
func FuzzText(f *testing.F) {
	f.Add("a/b.jpg", "caf\xe9")
	f.Add("\ufffd", "\xff")
	f.Add(`{"base64":"/w=="}`, "\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		var written [2]string
		for n, s := range []string{a, b} {
			j, err := text(s).MarshalJSON()
			must(t, err)
			var back text
			must(t, back.UnmarshalJSON(j))
			if string(back) != s {
				t.Errorf("%q comes back as %q", s, back)
			}
			written[n] = string(j)
		}
		if (a == b) != (written[0] == written[1]) {
			t.Errorf("%q and %q are written %s and %s", a, b, written[0], written[1])
		}
	})
}

// A plan may replace only a plan or an empty file.
func TestIsPlan(t *testing.T) {
	for text, want := range map[string]bool{
		"":                     true,
		begin:                  true,
		begin + `,"version":9`: true,
		begin[:5]:              false,
		"\x89PNG":              false,
		`{"type":"summary"}`:   false,
	} {
		if got, err := IsPlan(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("%q: %v (%v)", text, got, err)
		}
	}
}
