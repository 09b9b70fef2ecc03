package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// TestLockRace has eight goroutines open, write and close a state database fifty times each. It
// verifies that two never have it at once, that no write is lost, and that each gets it in the end.
func TestLockRace(t *testing.T) {
	const rivals, rounds = 8, 50
	path := filepath.Join(t.TempDir(), "state.db")
	var owners, writes atomic.Int64
	round := func(who, n int) error {
		s, err := Open(background, path)
		if errors.Is(err, ownership.ErrInUse) {
			return nil
		} else if err != nil {
			return err
		}
		if now := owners.Add(1); now != 1 {
			t.Errorf("%d have it at once", now)
		}
		_, err = s.Pair(background, fmt.Sprintf("source %d-%d", who, n), "destination", "")
		if err == nil {
			writes.Add(1)
		}
		owners.Add(-1)
		return errors.Join(err, s.Close())
	}
	var racing sync.WaitGroup
	for who := range rivals {
		racing.Go(func() {
			for n := range rounds {
				if err := round(who, n); err != nil {
					t.Errorf("rival %d, round %d: %v", who, n, err)
				}
			}
		})
	}
	racing.Wait()
	s := open(t, path)
	pairs, err := s.Pairs(t.Context())
	must(t, err)
	if int64(len(pairs)) != writes.Load() || len(pairs) == 0 {
		t.Errorf("%d writes were confirmed, %d are there", writes.Load(), len(pairs))
	}
}

// written creates a state database with a number of writes and closes it.
func written(t *testing.T, path string, writes int) {
	t.Helper()
	s, err := Open(t.Context(), path)
	must(t, err)
	for n := range writes {
		_, err := s.Pair(t.Context(), fmt.Sprint(n), "destination", "")
		must(t, err)
	}
	must(t, s.Close())
}

// TestMarkThatCannotBeWritten verifies that committed writes count if the disk refuses the mark,
// and that no other write starts until the mark is written.
func TestMarkThatCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	good := s.mark.File
	bad, err := os.Open(path + disk.LockSuffix) // for reading
	must(t, err)
	defer bad.Close()
	s.mark.File = bad
	_, err = s.Pair(t.Context(), "source", "destination", "")
	must(t, err)
	if _, err := s.Pair(t.Context(), "another", "destination", ""); err == nil {
		t.Error("it was written without a mark")
	}
	s.mark.File = good
	_, err = s.Pair(t.Context(), "another", "destination", "")
	must(t, err)
	pairs, err := s.Pairs(t.Context())
	must(t, err)
	left, err := s.mark.Read()
	must(t, err)
	h, err := ownership.Read(t.Context(), s.r.DB)
	must(t, err)
	if len(pairs) != 2 || left.Seq != h.Seq {
		t.Errorf("%d pairs, and the mark says %d of %d writes", len(pairs), left.Seq, h.Seq)
	}
}

// lockMark returns the mark in the lock file of a state database.
func lockMark(t *testing.T, path string) *ownership.Mark {
	t.Helper()
	f, err := os.OpenFile(path+disk.LockSuffix, os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return ownership.NewMark(path, f)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, content, 0o600))
}

// TestDistrust verifies that a state database that another program changed is refused with an error
// that suggests a takeover, and that the takeover works.
func TestDistrust(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, path string)
		says   string
	}{
		"its lock file is gone": {func(t *testing.T, path string) {
			must(t, os.Remove(path+disk.LockSuffix))
		}, "not created on this machine"},
		"its lock file is garbage": {func(t *testing.T, path string) {
			must(t, os.WriteFile(path+disk.LockSuffix, []byte(strings.Repeat("x", len(ownership.Trace{}.Line()))), 0o600))
		}, "not created on this machine"},
		"its lock file is torn": {func(t *testing.T, path string) {
			must(t, os.Truncate(path+disk.LockSuffix, int64(len(ownership.Trace{}.Line())-3)))
		}, "not created on this machine"},
		"an older copy was put back": {func(t *testing.T, path string) {
			copyFile(t, path, path+".old")
			written(t, path, 4)
			copyFile(t, path+".old", path)
		}, "lacks its last 4 writes"},
		"a copy of all its files was put back": {func(t *testing.T, path string) {
			for _, f := range []string{path, path + disk.LockSuffix} {
				copyFile(t, f, f+".old")
				must(t, os.Rename(f+".old", f))
			}
		}, "seems to be a copy"},
		"a copy of all its files was put back in place": {touch, "its files were changed since"},
		"older copies of all its files were put back at once": {func(t *testing.T, path string) {
			putBack := copyAll(t, path)
			written(t, path, 4)
			putBack()
		}, "older copies of all its files"},
		"older copies of all its files were put back at once after a kill": {func(t *testing.T, path string) {
			execute(t, path, `UPDATE owner SET epoch = 'dead'`)
			putBack := copyAll(t, path)
			written(t, path, 4)
			putBack()
		}, "older copies of all its files"},
		"it is another state database": {func(t *testing.T, path string) {
			written(t, path+".other", 9)
			copyFile(t, path+".other", path)
		}, "another state database"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			written(t, path, 3)
			tc.change(t, path)
			for range 2 { // the first refusal changes nothing
				_, err := Open(t.Context(), path)
				hinted, _ := errors.AsType[*ownership.DistrustError](err)
				if !errors.Is(err, ownership.ErrDistrust) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(hinted.Hint(), "state takeover") {
					t.Fatalf("got %v, want one that says %q", err, tc.says)
				}
			}
			must(t, Takeover(t.Context(), path))
			written(t, path, 1)
		})
	}
}

// copyAll copies all files of a state database. The returned function replaces the present files by
// the copies.
func copyAll(t *testing.T, path string) (putBack func()) {
	t.Helper()
	backup := filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(backup, os.DirFS(filepath.Dir(path))))
	return func() {
		t.Helper()
		must(t, filepath.WalkDir(backup, func(from string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(backup, from)
			must(t, err)
			copyFile(t, from, filepath.Join(filepath.Dir(path), name))
			return nil
		}))
	}
}

// TestLateTimeAfterAPowerCut verifies that a state database is accepted after a kill or a power cut
// although the time of the lock file is later than its content: the content may have been synced
// last.
func TestLateTimeAfterAPowerCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	written(t, path, 3)
	execute(t, path, `UPDATE owner SET epoch = 'dead'`)
	touch(t, path)
	written(t, path, 1)
}

// touch has a mark say that it was written a minute ago.
func touch(t *testing.T, path string) {
	t.Helper()
	rewrite(t, lockMark(t, path), func(left *ownership.Trace) { left.At = time.Now().Add(-time.Minute) })
}

// rewrite changes the content of a mark.
func rewrite(t *testing.T, m *ownership.Mark, change func(left *ownership.Trace)) {
	t.Helper()
	left, err := m.Read()
	must(t, err)
	change(&left)
	left.Born = m.Born
	_, err = m.File.WriteAt([]byte(left.Line()), 0)
	must(t, err)
}

// TestTouched verifies that a state database whose files another user changed is reported as a
// possible copy, or as files with another owner only.
func TestTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	written(t, path, 3)
	touch(t, path)
	_, err := Open(t.Context(), path)
	if e, ok := errors.AsType[*ownership.DistrustError](err); !ok || !e.Touched {
		t.Errorf("got %v, want that it was touched", err)
	}
	must(t, Takeover(t.Context(), path))
	written(t, path, 1)

	m := lockMark(t, path) // the file system does not record when a file was created
	m.Born = 0
	rewrite(t, m, func(left *ownership.Trace) { left.At = time.Now().Add(-time.Minute) })
	_, err = Open(t.Context(), path)
	if e, ok := errors.AsType[*ownership.DistrustError](err); !ok || e.Touched {
		t.Errorf("got %v, want that it may be a copy", err)
	}
}

// TestTakeoverThatFails verifies that if a takeover of the state database fails or is killed, the
// reason for refusing it remains.
func TestTakeoverThatFails(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  error
	}{
		"no lock file": {func(t *testing.T, path string) { must(t, os.Remove(path+disk.LockSuffix)) }, ownership.ErrDistrust},
		"touched":      {touch, ownership.ErrDistrust},
		"from another machine": {func(t *testing.T, path string) {
			execute(t, path, `UPDATE owner SET host = 'elsewhere', pid = 4711, epoch = 'x'`)
		}, ownership.ErrInUse},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			written(t, path, 3)
			tc.spoil(t, path)
			execute(t, path, `ALTER TABLE ours RENAME TO hidden`)
			if err := Takeover(t.Context(), path); err == nil {
				t.Fatal("it was taken over without forgetting anything")
			}
			execute(t, path, `ALTER TABLE hidden RENAME TO ours`)
			if _, err := Open(t.Context(), path); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			must(t, Takeover(t.Context(), path))
			written(t, path, 1)
		})
	}
}

func TestTakeoverTrustsNothing(t *testing.T) {
	j := begin(t)
	j.apply("a")
	must(t, j.SaveNewFolder(t.Context(), j.pair, "category", "folder", "id"))
	path := j.Path()
	if err := Takeover(t.Context(), path); !errors.Is(err, ownership.ErrInUse) {
		t.Fatalf("a living owner: got %v, want ErrInUse", err)
	}
	must(t, j.Close())
	must(t, Takeover(t.Context(), path))
	s, err := Open(t.Context(), path)
	must(t, err)
	*j.Store = *s // the journey closes its store at the end of the test
	run, err := s.Run(t.Context(), j.run.ID)
	if err != nil || !run.Stale {
		t.Errorf("the run is %+v (%v), want it stale", run, err)
	}
	if ours, err := s.IsOurs(t.Context(), j.pair.ID, "category", "folder"); err != nil || ours {
		t.Errorf("a folder counts as ours: %v, %v", ours, err)
	}
	must(t, s.Relist(t.Context(), run.Num))
	if run, err = s.Run(t.Context(), j.run.ID); err != nil || run.Stale {
		t.Errorf("the run is %+v (%v), want it listed anew", run, err)
	}
}

// TestSignsOfLifeThatFail verifies that a failed or interrupted sign of life, such as on a full
// disk, is not taken for a change by another process.
func TestSignsOfLifeThatFail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	_, err := s.Pair(t.Context(), "source", "destination", "")
	must(t, err)
	good := s.mark.Folder
	s.mark.Folder = filepath.Join(t.TempDir(), "none")
	for range 3 {
		s.Alive()
	}
	_, err = s.Pair(t.Context(), "another", "destination", "")
	must(t, err)
	there := frozen(t, path)
	failFirstSign(t, there)
	if got := outcome(t, there, 2); got != "works" {
		t.Errorf("its next owner killed in its first sign of life, too: it is %s", got)
	}
	if got := outcome(t, frozen(t, path), 2); got != "works" {
		t.Errorf("killed: it is %s", got)
	}
	s.mark.Folder = good
	s.Alive()
	left, err := s.mark.Read()
	must(t, err)
	if left.Entry != left.Generation {
		t.Errorf("once signs of life went well again, the mark says %d, and its entry %d", left.Generation, left.Entry)
	}
}

// failFirstSign has an owner begin, whose entry in the folder cannot follow its mark.
func failFirstSign(t *testing.T, path string) {
	t.Helper()
	m := lockMark(t, path)
	left, err := m.Read()
	must(t, err)
	m.Folder = path + disk.LockSuffix // no folder
	if err := m.Begin(left, left.ID, left.Seq, time.Now()); err == nil {
		t.Fatal("it went well")
	}
}

// TestOwnerOnAnotherMachine verifies that an owner on another machine counts as alive, because its
// process cannot be checked.
func TestOwnerOnAnotherMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	written(t, path, 1)
	execute(t, path, `UPDATE owner SET host = 'elsewhere'`)
	written(t, path, 1) // the previous store was closed
	execute(t, path, `UPDATE owner SET host = 'elsewhere', pid = 4711, epoch = 'x'`)
	_, err := Open(t.Context(), path)
	e, _ := errors.AsType[*ownership.InUseError](err)
	if !errors.Is(err, ownership.ErrInUse) || e.Owner.Host != "elsewhere" || !strings.Contains(e.Hint(), "state takeover") {
		t.Fatalf("got %v", err)
	}
	must(t, Takeover(t.Context(), path))
	written(t, path, 1)
}

// TestDeadOwnersNeverBlock verifies that the files of a process that was killed at any instant are
// never taken for a state database that another program changed.
func TestDeadOwnersNeverBlock(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, path string){
		"before anything": func(t *testing.T, path string) {
			must(t, os.WriteFile(path, nil, 0o600))
		},
		"before the mark": func(t *testing.T, path string) {
			written(t, path, 0)
			execute(t, path, `DELETE FROM owner`)
			must(t, os.Truncate(path+disk.LockSuffix, 0))
		},
		"before the owner": func(t *testing.T, path string) {
			written(t, path, 0)
			execute(t, path, `DELETE FROM owner`)
		},
		"in the place of a state database that was deleted": func(t *testing.T, path string) {
			written(t, path, 3)
			must(t, os.Rename(path, path+disk.WALSuffix)) // a write-ahead log without a state database
			s := &Store{path: path, mark: lockMark(t, path)}
			_, err := s.prepareFile()
			must(t, err)
		},
		"between a write and its mark": func(t *testing.T, path string) {
			written(t, path, 3)
			execute(t, path, `UPDATE owner SET seq = seq + 1, epoch = 'dead'`)
		},
		"after a write": func(t *testing.T, path string) {
			written(t, path, 3)
			execute(t, path, `UPDATE owner SET epoch = 'dead'`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			leave(t, path)
			written(t, path, 1)
			written(t, path, 1)
		})
	}
}

func TestFormerAlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(t.Context(), path)
	must(t, err)
	if !s.FormerAlive().IsZero() {
		t.Errorf("nobody had it before: got %v", s.FormerAlive())
	}
	death := time.Now().Add(-ownership.ChangeSlack / 2).Truncate(time.Millisecond)
	s.now = func() time.Time { return death }
	s.Alive()
	s.owns = false // so it is not closed in good order
	must(t, s.Close())

	s, err = Open(t.Context(), path)
	must(t, err)
	if !s.FormerAlive().Equal(death) {
		t.Errorf("got %v, want %v", s.FormerAlive(), death)
	}
	must(t, s.Close())
	if s = open(t, path); !s.FormerAlive().IsZero() {
		t.Errorf("it was closed in good order: got %v", s.FormerAlive())
	}
}

// TestHolder shows a state database at work from one that was killed and one that was closed.
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(t.Context(), path)
	must(t, err)
	holder := func() Holder {
		t.Helper()
		r, err := OpenReadOnly(t.Context(), path)
		must(t, err)
		defer r.Close()
		h, err := r.Holder(t.Context())
		must(t, err)
		if h.PID != os.Getpid() || h.Since.IsZero() || h.Host == "" {
			t.Errorf("got %+v", h)
		}
		return h
	}
	if h := holder(); !h.Open || !h.Alive {
		t.Errorf("at work: got %+v", h)
	}
	must(t, s.lock.Release()) // as when the process dies
	if h := holder(); !h.Open || h.Alive {
		t.Errorf("killed: got %+v", h)
	}
	s.lock = nil
	must(t, s.Close())
	if h := holder(); h.Open || h.Alive {
		t.Errorf("closed: got %+v", h)
	}
}
