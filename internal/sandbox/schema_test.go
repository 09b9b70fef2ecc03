package sandbox

import (
	"strings"
	"testing"
)

func TestForeignDatabase(t *testing.T) {
	dir := t.TempDir()
	st, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = st.write(func(s *session) error { _, err := s.exec("PRAGMA application_id = 7"); return err })
	if err != nil {
		t.Fatal(err)
	}
	if err := st.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(dir); err == nil || !strings.Contains(err.Error(), "not a sandbox's database") {
		t.Errorf("got %v", err)
	}
}
