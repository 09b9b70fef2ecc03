package sandbox

import (
	"database/sql"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzToken holds that nothing gets in without the signature of its own text.
func FuzzToken(f *testing.F) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	rules := tokenRules{
		keys: map[string]AccessKey{"env": "key"}, service: "ckbox", age: time.Hour,
		workspace: func(environment, id string) bool { return environment == "env" && id == "env" },
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
		who, err := rules.verify(token, now)
		// The same text, signed well: whatever it claims, nothing may panic.
		_, _ = rules.verify(text+"."+base64.RawURLEncoding.EncodeToString(sign("key", text)), now)
		if err != nil {
			return
		}
		signed, signature, _ := cutLast(token)
		if signature != base64.RawURLEncoding.EncodeToString(sign("key", signed)) {
			t.Errorf("accepted %q", token)
		}
		if who.environment != "env" || who.user == "" || who.role == nobody || !slices.Equal(who.workspaces, []string{"env"}) {
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

func TestWidths(t *testing.T) {
	for width, want := range map[int]string{
		1:    "[1]",
		80:   "[80]",
		81:   "[80 81]",
		376:  "[80 160 240 320 376]",
		800:  "[80 160 240 320 400 480 560 640 720 800]",
		1024: "[103 206 309 412 515 618 721 824 927 1024]",
		1920: "[192 384 576 768 960 1152 1344 1536 1728 1920]",
	} {
		if got := fmt.Sprint(widths(width)); got != want {
			t.Errorf("%d: %s, want %s", width, got, want)
		}
	}
	for w := range 20000 {
		if ws := widths(w + 1); len(ws) > 10 || !slices.IsSorted(ws) {
			t.Fatalf("%d: %v", w+1, ws)
		}
	}
}

func TestOtherDatabases(t *testing.T) {
	for statement, says := range map[string]string{
		"PRAGMA user_version = 99":  "the data is of a newer sandbox (schema 99, this one knows 7): use a newer program",
		"PRAGMA user_version = 6":   "the data is of an older sandbox (schema 6, this one knows 7): use a new folder",
		"PRAGMA application_id = 5": "this is not a sandbox's database",
		"PRAGMA application_id = 0": "this is not a sandbox's database", // one that names no program, with tables
	} {
		dir := t.TempDir()
		s, err := New(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, storeFile))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // also: a failed start gives the directory back
			_, err = New(Options{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, does not say %q", statement, err, says)
			}
		}
	}
}

// TestChangesDoNotShareTheirFate commits changes together of which one fails.
func TestChangesDoNotShareTheirFate(t *testing.T) {
	st, err := openMemoryStore()
	if err != nil {
		t.Fatal(err)
	}
	insert := func(id string) func(*session) error {
		return func(s *session) error {
			_, err := s.exec("INSERT INTO workspaces (id, environment, name, created_at) VALUES (?, 'e', 'n', 0)", id)
			return err
		}
	}
	orphan := func(s *session) error { // fails at the commit only
		_, err := s.conn.ExecContext(t.Context(), `
			INSERT INTO workspaces (id, environment, name, created_at) VALUES ('o', 'e', 'n', 0);
			INSERT INTO categories (id, workspace_id, name, private) VALUES ('c', 'o', 'n', 0);
			INSERT INTO folders (id, category_id, parent_id, name, created_at, updated_at) VALUES ('f', 'c', 'none', 'n', 0, 0)`)
		return err
	}
	var changes []*change
	for _, do := range []func(*session) error{insert("a"), insert("a"), orphan, insert("b")} {
		changes = append(changes, &change{do: do, done: make(chan error, 1)})
	}
	st.commit(changes)
	for i, want := range []bool{true, false, false, true} {
		if err := <-changes[i].done; (err == nil) != want {
			t.Errorf("change %d: %v", i, err)
		}
	}
	var n int
	if err := st.read(func(s *session) error { return s.row("SELECT count(*) FROM workspaces", nil, &n) }); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
	if err := st.close(); err != nil {
		t.Error(err)
	}
	if err := st.write(insert("c")); err != errClosed {
		t.Errorf("after the end: %v", err)
	}
}

// However many copies of a name there are, the next one has the next number, and
// finding it takes a few looks.
func TestFreeName(t *testing.T) {
	s, err := New(Options{Environments: []Environment{{ID: "env", AccessKey: "key"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	long := strings.Repeat("ä", maxName)
	err = s.store.write(func(ses *session) error {
		category, err := categoryFor(ses, "env", "txt")
		if err != nil {
			return err
		}
		for _, name := range []string{"a", long} {
			for n := range 70 {
				a := asset{ID: newAssetID(), Workspace: "env", Category: category, Name: name, Extension: "txt", Tags: []byte("[]"), Attributes: []byte("{}")}
				if n > 0 {
					if a.Name, err = freeName(ses, a); err != nil {
						return err
					}
					if want := numbered(name, n); a.Name != want || utf8.RuneCountInString(want) > maxName {
						t.Errorf("the name is %q, want %q", a.Name, want)
					}
				}
				a.stored = stored{revision: newUUID(), number: 1, content: newContentID(), picture: picture{state: "no"}}
				if err := insertAsset(ses, a); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
