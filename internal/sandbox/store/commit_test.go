package store

import "testing"

// TestChangesDoNotShareTheirFate verifies that a failed change does not affect others in the same
// commit.
func TestChangesDoNotShareTheirFate(t *testing.T) {
	st, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	insert := func(id string) func(*Session) error {
		return func(s *Session) error {
			_, err := s.Exec("INSERT INTO workspaces (id, environment, name, created_at) VALUES (?, 'e', 'n', 0)", id)
			return err
		}
	}
	orphan := func(s *Session) error { // it fails only at the commit
		_, err := s.conn.ExecContext(t.Context(), `
			INSERT INTO workspaces (id, environment, name, created_at) VALUES ('o', 'e', 'n', 0);
			INSERT INTO categories (id, workspace_id, name, private) VALUES ('c', 'o', 'n', 0);
			INSERT INTO folders (id, category_id, parent_id, name, created_at, updated_at) VALUES ('f', 'c', 'none', 'n', 0, 0)`)
		return err
	}
	var changes []*change
	for _, do := range []func(*Session) error{insert("a"), insert("a"), orphan, insert("b")} {
		changes = append(changes, &change{do: do, done: make(chan error, 1)})
	}
	st.commit(changes)
	for i, want := range []bool{true, false, false, true} {
		if err := <-changes[i].done; (err == nil) != want {
			t.Errorf("change %d: %v", i, err)
		}
	}
	var n int
	if err := st.Read(func(s *Session) error { return s.Row("SELECT count(*) FROM workspaces", nil, &n) }); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	if err := st.Write(insert("c")); err != ErrClosed {
		t.Errorf("after the end: %v", err)
	}
}
