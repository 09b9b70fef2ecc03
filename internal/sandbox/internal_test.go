package sandbox

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sandbox/tokens"
)

func TestOtherDatabases(t *testing.T) {
	for statement, says := range map[string]string{
		"PRAGMA user_version = 99":  "a newer sandbox wrote the data (schema 99; this version supports 8): use a newer version",
		"PRAGMA user_version = 6":   "an older sandbox wrote the data (schema 6; this version supports 8): use a new folder",
		"PRAGMA application_id = 5": "the file is not a database of the sandbox",
		"PRAGMA application_id = 0": "the file is not a database of the sandbox", // without an application ID, but with tables
	} {
		dir := t.TempDir()
		s, err := New(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, store.File))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a failed start also unlocks the directory
			_, err = New(Options{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, does not say %q", statement, err, says)
			}
		}
	}
}

// The test verifies that the next copy of a name has the next number, and that few queries find it,
// for any number of copies.
func TestFreeName(t *testing.T) {
	s, err := New(Options{Environments: []tokens.Environment{{ID: "env", AccessKey: "key"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	long := strings.Repeat("ä", naming.MaxName)
	err = s.store.Write(func(ses *store.Session) error {
		category, err := records.CategoryFor(ses, "env", "txt")
		if err != nil {
			return err
		}
		for _, name := range []string{"a", long} {
			for n := range 70 {
				a := records.Asset{ID: naming.NewAssetID(), Workspace: "env", Category: category, Name: name, Extension: "txt", Tags: []byte("[]"), Attributes: []byte("{}")}
				if n > 0 {
					if a.Name, err = records.FreeName(ses, a); err != nil {
						return err
					}
					if want := records.Numbered(name, n); a.Name != want || utf8.RuneCountInString(want) > naming.MaxName {
						t.Errorf("the name is %q, want %q", a.Name, want)
					}
				}
				a.Stored = records.Stored{Revision: standin.NewUUID(), Number: 1, Content: naming.NewContentID(), Picture: records.Picture{State: "no"}}
				if err := records.InsertAsset(ses, a); err != nil {
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
