package state

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"assetferry/state/actionlog"
	"assetferry/state/disk"
	"assetferry/state/ownership"
	"assetferry/state/pagesums"

	"assetferry/sources"
)

func TestSchemaVersion(t *testing.T) {
	s := newStore(t)
	var version, id int
	must(t, s.r.QueryRowContext(t.Context(), `SELECT v.user_version, a.application_id FROM pragma_user_version v, pragma_application_id a`).Scan(&version, &id))
	if version != schemaVersion || id != applicationID {
		t.Errorf("got version %d and id %x", version, id)
	}
}

func TestPragmas(t *testing.T) {
	s := newStore(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		var got string
		must(t, s.w.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "state.db")
	s, err := Open(t.Context(), path)
	must(t, err)
	want, err := s.Pair(t.Context(), "a", "b", "c")
	must(t, err)
	must(t, s.Close())
	again := open(t, path)
	if got, err := again.Pairs(t.Context()); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	if again.Path() != path {
		t.Errorf("got path %s", again.Path())
	}
}

func TestFilesThatAreNoStateDatabase(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(t *testing.T, path string)
		want error
	}{
		{"text", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte("dear diary, today nothing happened"), 0o600))
		}, ErrForeign},
		{"short text", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("x"), 0o600)) }, ErrForeign},
		{"another database", func(t *testing.T, path string) { execute(t, path, `CREATE TABLE photos (id INTEGER)`) }, ErrForeign},
		{"another database with an id", func(t *testing.T, path string) {
			execute(t, path, `PRAGMA application_id = 42`, `CREATE TABLE photos (id INTEGER)`)
		}, ErrForeign},
		{"an empty database of another program", func(t *testing.T, path string) { execute(t, path, `PRAGMA application_id = 42`) }, ErrForeign},
		{"newer", madeWith(schemaVersion + 1), ErrNewer},
		{"without a version", madeWith(0), ErrForeign},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			tc.make(t, path)
			before, err := os.ReadFile(path)
			must(t, err)
			if s, err := Open(t.Context(), path); !errors.Is(err, tc.want) {
				t.Errorf("Open: got %v, %v; want %v", s, err, tc.want)
			}
			if s, err := OpenReadOnly(t.Context(), path); !errors.Is(err, tc.want) {
				t.Errorf("OpenReadOnly: got %v, %v; want %v", s, err, tc.want)
			}
			after, err := os.ReadFile(path)
			must(t, err)
			if !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

// madeWith creates a state database with another version of the schema.
func madeWith(version int) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		s, err := Open(t.Context(), path)
		must(t, err)
		must(t, s.Close())
		execute(t, path, fmt.Sprintf(`PRAGMA user_version = %d`, version))
	}
}

// execute changes a state database as no user but its owner may, and without the page sums that
// would report it.
func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	must(t, pagesums.Drop(path))
	db := raw(t, path)
	for _, stmt := range statements {
		_, err := db.ExecContext(t.Context(), stmt)
		must(t, err)
	}
}

func TestDirectoryIsNoStateDatabase(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(t.Context(), dir); !errors.Is(err, ErrForeign) {
		t.Errorf("Open: got %v", err)
	}
	if _, err := OpenReadOnly(t.Context(), dir); !errors.Is(err, ErrForeign) {
		t.Errorf("OpenReadOnly: got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("made %v (%v)", entries, err)
	}
}

// TestUnbornStateDatabases verifies that a file without a schema is completed: a process may be
// killed after it created the file.
func TestUnbornStateDatabases(t *testing.T) {
	for name, create := range map[string]func(*testing.T, string){
		"empty file":     func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o600)) },
		"empty database": func(t *testing.T, path string) { execute(t, path, `PRAGMA journal_mode = WAL`, `VACUUM`) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			create(t, path)
			if _, err := OpenReadOnly(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("OpenReadOnly: got %v, want fs.ErrNotExist", err)
			}
			s := open(t, path)
			if _, err := s.Pairs(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReadOnlyOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.db")
	if _, err := OpenReadOnly(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made (%v)", err)
	}
}

func TestOneOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	first, err := Open(t.Context(), path)
	must(t, err)
	_, err = Open(t.Context(), path)
	var used *ownership.InUseError
	if !errors.Is(err, ownership.ErrInUse) || !errors.As(err, &used) {
		t.Fatalf("got %v, want ErrInUse", err)
	}
	if used.Owner.PID != os.Getpid() || used.Owner.Host == "" || time.Since(used.Owner.Since) > time.Minute || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("got %+v: %v", used.Owner, err)
	}
	must(t, first.Close())
	second := open(t, path)
	if _, err := second.Pair(t.Context(), "a", "b", "c"); err != nil {
		t.Error(err)
	}
}

func TestReadWhileOwned(t *testing.T) {
	j := begin(t)
	r, err := OpenReadOnly(t.Context(), j.Path())
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	if run, err := r.Run(t.Context(), j.run.ID); err != nil || run.Num != j.run.Num {
		t.Errorf("got %+v (%v)", run, err)
	}
	j.stage("a", "b")
	if items := collect(t, r.Items(t.Context(), j.run.Num)); len(items) != 2 {
		t.Errorf("a reader sees %d items, want those just written", len(items))
	}
	if unfinished, err := r.Unfinished(t.Context(), j.pair); err != nil || unfinished.ID != j.run.ID {
		t.Errorf("got %+v (%v)", unfinished, err)
	}
	for name, write := range j.writes() {
		if err := write(r); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: got %v, want ErrReadOnly", name, err)
		}
	}
}

// writes returns all methods that write.
func (j *journey) writes() map[string]func(*Store) error {
	ctx, run, pair := j.Context(), j.run.Num, j.pair.ID
	return map[string]func(*Store) error{
		"Pair":          func(s *Store) error { _, err := s.Pair(ctx, "x", "y", "z"); return err },
		"Begin":         func(s *Store) error { _, err := s.Begin(ctx, j.pair, "plan", json.RawMessage("{}")); return err },
		"Relist":        func(s *Store) error { return s.Relist(ctx, run) },
		"OutdateOthers": func(s *Store) error { return s.OutdateOthers(ctx, j.run, nil) },
		"LogAction": func(s *Store) error {
			return s.Write(ctx, "log", func(ctx context.Context, tx *sql.Tx) error {
				return s.LogAction(ctx, tx, actionlog.Entry{Kind: actionlog.Verified})
			})
		},
		"Note":             func(s *Store) error { _, err := s.Note(ctx, actionlog.Entry{Kind: actionlog.Verified}); return err },
		"StartUndo":        func(s *Store) error { return s.StartUndo(ctx, j.run) },
		"Supersede":        func(s *Store) error { return s.Supersede(ctx, run) },
		"SetRunState":      func(s *Store) error { return s.SetRunState(ctx, run, Scanning, Planning) },
		"FinishPlan":       func(s *Store) error { return s.FinishPlan(ctx, run, "", nil) },
		"FinishRun":        func(s *Store) error { return s.FinishRun(ctx, run) },
		"Stage":            func(s *Store) error { return s.Stage(ctx, run, Page{}) },
		"Decided":          func(s *Store) error { return s.Decided(ctx, run, nil) },
		"Take":             func(s *Store) error { _, err := s.Take(ctx, run, Next{After: "", N: 1, Time: time.Now()}); return err },
		"Resend":           func(s *Store) error { return s.Resend(ctx, run, []sources.Key{"a"}, time.Now()) },
		"Release":          func(s *Store) error { return s.Release(ctx, run, []sources.Key{"a"}) },
		"Interrupted":      func(s *Store) error { _, err := s.Interrupted(ctx, run); return err },
		"Record":           func(s *Store) error { return s.Record(ctx, run, pair, nil) },
		"SaveChoices":      func(s *Store) error { return s.SaveChoices(ctx, "d", map[string]string{"a": "b"}) },
		"SaveFolder":       func(s *Store) error { return s.SaveFolder(ctx, "d", "c", "p", "i") },
		"SaveNewFolder":    func(s *Store) error { return s.SaveNewFolder(ctx, Pair{}, "c", "p", "i") },
		"SaveOurs":         func(s *Store) error { return s.SaveOurs(ctx, 1, "c", "p") },
		"StageInventory":   func(s *Store) error { return s.StageInventory(ctx, 1, nil) },
		"DropInventory":    func(s *Store) error { return s.DropInventory(ctx, 1) },
		"SaveVerification": func(s *Store) error { return s.SaveVerification(ctx, Verification{Pair: pair, Level: "listing"}, nil) },
	}
}

// TestStolenOwnership verifies that a process cannot write after another one has taken its state
// database over.
func TestStolenOwnership(t *testing.T) {
	j := begin(t)
	j.stage("a")
	execute(t, j.Path(), `UPDATE owner SET epoch = 'another'`)
	for name, write := range j.writes() {
		if err := write(j.Store); !errors.Is(err, ownership.ErrNotOwner) {
			t.Errorf("%s: got %v, want ErrNotOwner", name, err)
		}
	}
	if j.stateOf("a") != ItemStaged {
		t.Error("something was written")
	}
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space", "50%", "a#b", "a?b=c&mode=ro", "ünïcødé 文", "a%20b", "%zz", "'quote'", "a+b;c"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name, name+".db")
			s := open(t, path)
			_, err := s.Pair(t.Context(), "a", "b", "c")
			must(t, err)
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("the file is elsewhere: %v", err)
			}
			for _, f := range disk.Files(path)[1:3] {
				if _, err := os.Stat(f); err != nil {
					t.Error(err)
				}
			}
			r, err := OpenReadOnly(t.Context(), path)
			must(t, err)
			defer r.Close()
			if pairs, err := r.Pairs(t.Context()); err != nil || len(pairs) != 1 {
				t.Errorf("got %v (%v)", pairs, err)
			}
		})
	}
}

// TestCancellation verifies that an interrupted call returns the cause, whatever error the driver
// makes of it.
func TestCancellation(t *testing.T) {
	j := begin(t)
	cause := errors.New("the plug was pulled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := j.Stage(ctx, j.run.Num, Page{}); !errors.Is(err, cause) {
		t.Errorf("write: got %v", err)
	}
	if _, err := j.Pairs(ctx); !errors.Is(err, cause) {
		t.Errorf("read: got %v", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	keys := numbered(3000)
	page := Page{Done: true}
	for _, key := range keys {
		page.Items = append(page.Items, staged(key))
	}
	began := make(chan struct{})
	go func() { <-began; cancel(cause) }()
	close(began)
	err := j.Stage(ctx, j.run.Num, page)
	if err != nil && !errors.Is(err, cause) {
		t.Errorf("in the middle of a write: got %v", err)
	}
	items := len(collect(t, j.Items(t.Context(), j.run.Num)))
	if err != nil && items != 0 || err == nil && items != len(keys) {
		t.Errorf("%d items were staged, and the error is %v", items, err)
	}
}

// TestFilesAreKeptFromOthers verifies that only the owner may read the files of a state database,
// and that opening a file of another kind creates no files next to it.
func TestFilesAreKeptFromOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows has no such modes
	}
	s := newStore(t)
	for _, name := range disk.Files(s.Path()) {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must(t, err)
		if info.Mode().Perm() != 0o600 && !(info.IsDir() && info.Mode().Perm() == 0o700) {
			t.Errorf("%s has mode %v", filepath.Base(name), info.Mode())
		}
	}
	foreign := filepath.Join(t.TempDir(), "notes.txt")
	must(t, os.WriteFile(foreign, []byte("mine"), 0o644))
	if _, err := Open(t.Context(), foreign); !errors.Is(err, ErrForeign) {
		t.Fatalf("got %v, want ErrForeign", err)
	}
	if beside, err := os.ReadDir(filepath.Dir(foreign)); err != nil || len(beside) != 1 {
		t.Errorf("left beside it: %v (%v)", beside, err)
	}
}
