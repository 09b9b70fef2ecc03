package sandbox

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestMigrationsHaveNoGaps(t *testing.T) {
	steps, err := migrationsOf(migrations)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range steps {
		if m.version != i+1 {
			t.Errorf("step %d has version %d", i+1, m.version)
		}
	}
}

func TestMigrationWithoutVersion(t *testing.T) {
	if _, err := migrationsOf(fstest.MapFS{"migrations/more.sql": {}}); err == nil {
		t.Error("it was accepted")
	}
}

// A folder of an earlier sandbox keeps what is in it.
func TestEarlierSchema(t *testing.T) {
	dir := t.TempDir()
	steps, err := migrationsOf(migrations)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, storeFile)
	st := newStore(0)
	if err := st.connect("file:"+path+pragmas, 1, st.writing); err != nil {
		t.Fatal(err)
	}
	s := <-st.writing
	err = s.exclusively(func() error {
		if err := s.step(steps[:1], 0); err != nil {
			return err
		}
		_, err := s.conn.ExecContext(t.Context(), `
			INSERT INTO workspaces (id, environment, name, created_at) VALUES ('w', 'w', 'kept', 0);
			INSERT INTO categories (id, workspace_id, name, private) VALUES ('c', 'w', 'n', 0);
			INSERT INTO extensions VALUES ('c', 'txt', 'txt', 0);
			INSERT INTO assets VALUES (1, 'a', 'w', 'c', NULL, 'gru' || char(0x308) || 'n', 'txt', 'txt', 5, 'd', 'bytes',
				1000, 2000, 'no', 1000, 0, 0, '', '[]', '{}', NULL),
				(2, 'b', 'w', 'c', NULL, 'b', 'txt', 'txt', 5, 'd', 'picture',
				1000, 2000, 'readable', 3000, 6, 7, '', '[]', '{}', NULL);
			WITH RECURSIVE n (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM n WHERE n < 2500)
			INSERT INTO assets SELECT n, 'a' || n, 'w', 'c', NULL, iif(n % 2, 'o' || char(0x308), 'plain'), 'txt', 'txt', 5,
				'd', 'bytes', 1000, 2000, 'no', 1000, 0, 0, '', '[]', '{}', NULL FROM n`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	st.writing <- s
	if err := st.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	var name string
	var version int
	err = again.read(func(s *session) error {
		if err := s.row("SELECT name FROM workspaces", nil, &name); err != nil {
			return err
		}
		return s.row("PRAGMA user_version", nil, &version)
	})
	if err != nil || name != "kept" || version != steps[len(steps)-1].version {
		t.Errorf("got %q, version %d, %v", name, version, err)
	}
	checkEarlierAsset(t, again)
}

// checkEarlierAsset looks for what assets have had since: a revision, a name to
// be compared by, and a place in the queue for images.
func checkEarlierAsset(t *testing.T, st *store) {
	t.Helper()
	var a, b asset
	var compared string
	var missed int
	err := st.read(func(s *session) (err error) {
		if a, err = selectAsset(s, "a"); err != nil {
			return err
		}
		if b, err = selectAsset(s, "b"); err != nil {
			return err
		}
		if err := s.row("SELECT normal FROM assets WHERE id = 'a'", nil, &compared); err != nil {
			return err
		}
		return s.row("SELECT count(*) FROM assets WHERE instr(normal, char(0x308)) OR normal = ''", nil, &missed)
	})
	if err != nil || a.content != "bytes" || len(a.revision) != 32 || !a.made.Equal(fromMillis(1000)) || a.by != "" {
		t.Errorf("got %+v, %v", a, err)
	}
	if a.Processing != "" || b.Processing != "queued" || b.picture.width != 6 {
		t.Errorf("processing %q, of the image %q", a.Processing, b.Processing)
	}
	if compared != "gr\u00fcn" || missed > 0 {
		t.Errorf("compared as %q; %d others are not in form C", compared, missed)
	}
}

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
