package store

import (
	"strings"
	"testing"
)

func TestForeignDatabase(t *testing.T) {
	dir := t.TempDir()
	st, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = st.Write(func(s *Session) error { _, err := s.Exec("PRAGMA application_id = 7"); return err })
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "not a database of the sandbox") {
		t.Errorf("got %v", err)
	}
}
