package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetferry/internal/seedtest"
)

// A disk that is full costs what was being written and nothing else: once there is
// space the same journal goes on.
func TestFullDisk(t *testing.T) {
	j := begin(t)
	j.apply(numbered(50)...)
	keys := j.take(50)
	limit := func(pages int) {
		var n int
		must(t, j.w.QueryRowContext(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)).Scan(&n))
	}
	limit(1)
	var outcomes []Outcome
	for _, key := range keys {
		outcomes = append(outcomes, done(key))
	}
	err := j.record(outcomes...)
	full, _ := errors.AsType[*DiskError](err)
	if !errors.Is(err, ErrFull) || !strings.Contains(full.Hint(), "make space") {
		t.Fatalf("got %v, want ErrFull", err)
	}
	if got := j.stateOf(keys[0]); got != ItemSending {
		t.Errorf("an item is %s, want it as it was", got)
	}
	limit(1 << 30)
	must(t, j.record(outcomes...))
}

func TestKindsOfTrouble(t *testing.T) {
	for _, tc := range []struct {
		err, want error
	}{
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EROFS}, ErrUnwritable},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, ErrUnwritable},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, ErrFull},
		{&fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}, ErrDisk},
		{errors.New("else"), nil},
		{fs.ErrNotExist, nil},
	} {
		err := diskError("journal.db", tc.err)
		for _, kind := range []error{ErrFull, ErrUnwritable, ErrDamaged, ErrDisk} {
			if got := errors.Is(err, kind); got != (kind == tc.want) {
				t.Errorf("%v: is %v: %v", tc.err, kind, got)
			}
		}
		if !errors.Is(err, tc.err) {
			t.Errorf("%v does not tell its cause", err)
		}
	}
}

// killed gives the files of a journal as they are when its owner is killed: the
// latest writes are in its write-ahead log.
func killed(t *testing.T) (path string, writes int) {
	t.Helper()
	alive := filepath.Join(t.TempDir(), "journal.db")
	s := open(t, alive)
	writes = 40
	for n := range writes {
		_, err := s.Pair(t.Context(), fmt.Sprint(n), strings.Repeat("destination", 50), "")
		must(t, err)
	}
	return frozen(t, alive), writes
}

// frozen gives the files of a journal as they are at this instant, in another place
// where they pass for the same files.
func frozen(t *testing.T, path string) (there string) {
	t.Helper()
	there = filepath.Join(t.TempDir(), "journal.db")
	for _, f := range []string{"", "-wal", lockSuffix} {
		copyFile(t, path+f, there+f)
	}
	m := lockMark(t, there)
	left, err := m.read()
	must(t, err)
	must(t, m.written(left.id, left.seq, left.at))
	return there
}

// outcome opens a journal that something happened to. It works and has everything,
// or it is refused for a reason that people are told the remedy of.
func outcome(t *testing.T, path string, writes int) string {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		for name, want := range map[string]error{"damaged": ErrDamaged, "distrusted": ErrDistrust, "foreign": ErrForeign, "newer": ErrNewer, "in use": ErrInUse} {
			if errors.Is(err, want) {
				return name
			}
		}
		t.Errorf("refused for no reason that is known: %v", err)
		return "?"
	}
	defer s.Close()
	pairs, err := s.Pairs(t.Context())
	switch {
	case errors.Is(err, ErrDamaged):
		return "damaged"
	case err != nil:
		t.Errorf("cannot be read: %v", err)
	case len(pairs) != writes:
		t.Errorf("has %d of %d writes and says nothing", len(pairs), writes)
	}
	return "works"
}

func TestKilledOwner(t *testing.T) {
	path, writes := killed(t)
	if got := outcome(t, path, writes); got != "works" {
		t.Errorf("it is %s", got)
	}
}

// A write-ahead log that is gone, or cut off anywhere, is the loss of writes that
// had been confirmed, so that what was sent would be sent again.
func TestTruncatedLog(t *testing.T) {
	path, writes := killed(t)
	info, err := os.Stat(path + "-wal")
	must(t, err)
	dice := seedtest.Rand(t)
	for n := range 40 {
		cut := dice.Int64N(info.Size())
		if n == 0 {
			cut = 0
		}
		there := frozen(t, path)
		must(t, os.Truncate(there+"-wal", cut))
		if cut == 0 {
			must(t, os.Remove(there+"-wal"))
		}
		if got := outcome(t, there, writes); got != "distrusted" && got != "damaged" && got != "works" {
			t.Errorf("cut off at %d it is %s", cut, got)
		}
	}
}

// Bits flip anywhere in a journal that was not closed. SQLite finds out about those
// in its structure; one within a text, so that it is another text, it cannot know
// of. The log has sums: what does not fit is lost, and that is found out.
func TestFlippedBits(t *testing.T) {
	path, writes := killed(t)
	dice := seedtest.Rand(t)
	seen := map[string]int{}
	for n := range 150 {
		there := frozen(t, path)
		which := there
		if n%2 == 0 {
			which += "-wal"
		}
		content, err := os.ReadFile(which)
		must(t, err)
		at := dice.IntN(len(content))
		content[at] ^= 1 << dice.IntN(8)
		must(t, os.WriteFile(which, content, 0o600))
		seen[outcome(t, there, writes)]++
		if t.Failed() {
			t.Fatalf("bit flipped at %d of %s", at, filepath.Base(which))
		}
	}
	t.Log(seen)
}

// A checkpoint that came to no end, for want of space, leaves a file that is too
// short for its header, and a log that has the rest.
func TestUnfinishedCheckpoint(t *testing.T) {
	path, writes := killed(t)
	s, err := Open(t.Context(), path)
	must(t, err)
	_, err = s.w.ExecContext(t.Context(), `PRAGMA wal_checkpoint(PASSIVE)`)
	must(t, err)
	there := frozen(t, path)
	must(t, s.Close())
	must(t, os.Truncate(there, 4096))
	if got := outcome(t, there, writes); got != "works" {
		t.Errorf("it is %s", got)
	}
}

// A check notices that a journal lacks what had been written to it.
func TestCheckOfAnOlderJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	written(t, path, 3)
	copyFile(t, path, path+".old")
	written(t, path, 4)
	for _, tc := range []struct{ journal, want string }{{path, "[]"}, {path + ".old", "[it lacks its last 4 writes: an older copy was put back, or its write-ahead log got lost]"}} {
		copyFile(t, tc.journal, path+".copy")
		must(t, os.Rename(path+".copy", path))
		s, err := OpenReadOnly(t.Context(), path)
		must(t, err)
		if problems, err := s.Check(t.Context()); err != nil || fmt.Sprint(problems) != tc.want {
			t.Errorf("got %q (%v), want %s", problems, err, tc.want)
		}
		must(t, s.Close())
	}
}

func TestTruncatedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	written(t, path, 30)
	content, err := os.ReadFile(path)
	must(t, err)
	for _, keep := range []int{1, 50, 100, 4096, 5000, len(content) / 2, len(content) - 1} {
		must(t, os.WriteFile(path, content[:keep], 0o600))
		if got := outcome(t, path, 30); got != "damaged" && got != "foreign" {
			t.Errorf("with %d of %d bytes it is %s", keep, len(content), got)
		}
	}
}

func TestCheck(t *testing.T) {
	j := begin(t)
	j.apply("a", "b", "c")
	j.take(2)
	must(t, j.record(done("a")))
	check := func() []string {
		t.Helper()
		problems, err := j.Check(t.Context())
		must(t, err)
		return problems
	}
	if problems := check(); len(problems) != 0 {
		t.Errorf("a good journal has %v", problems)
	}
	for _, tc := range []struct{ do, undo, want string }{
		{`UPDATE receipts SET key = 'x' WHERE key = 'a'`, `UPDATE receipts SET key = 'a'`, "a is done and has no receipt"},
		{`UPDATE runs SET state = 'finished', finished_at = 1`, `UPDATE runs SET state = 'applying', finished_at = NULL`, "b is being sent in a run that has ended"},
		{`INSERT INTO attempts VALUES (99, 'k', 1, 1, '', '')`, `DELETE FROM attempts WHERE run = 99`, "names one of runs that is not there"},
	} {
		execute(t, j.Path(), tc.do)
		if problems := check(); len(problems) != 1 || !strings.Contains(problems[0], tc.want) {
			t.Errorf("%s: got %q, want %q", tc.do, problems, tc.want)
		}
		execute(t, j.Path(), tc.undo)
	}
}

// A journal on a disk that is read-only can be read, if it is at rest.
func TestReadingWhereNothingCanBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	written(t, path, 3)
	db, err := connect(path, immutable, 1)
	must(t, err)
	defer db.Close()
	if h, err := readHeld(t.Context(), db); err != nil || h.seq != 3 {
		t.Errorf("got %+v (%v)", h, err)
	}
}

func TestBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	must(t, os.WriteFile(backupDraft(path), []byte("left by somebody who was killed"), 0o600))
	written(t, path, 3)
	s, err := Open(t.Context(), path)
	must(t, err)
	must(t, s.SaveOurs(t.Context(), 1, "category", ""))
	backup, err := s.Backup(t.Context())
	must(t, err)
	if backup != path+".backup" {
		t.Errorf("it is at %s", backup)
	}
	before, err := os.Stat(backup)
	must(t, err)
	must(t, os.Chtimes(backup, time.Time{}, before.ModTime().Add(-time.Hour)))
	_, err = s.Backup(t.Context())
	must(t, err)
	if again, err := os.Stat(backup); err != nil || again.ModTime().After(before.ModTime().Add(-time.Minute)) {
		t.Errorf("it was made again although nothing was written (%v)", err)
	}
	_, err = s.Pair(t.Context(), "another", "destination", "")
	must(t, err)
	must(t, s.Close())
	for _, f := range []string{backupDraft(path), path + "-wal"} {
		if _, err := os.Stat(f); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left (%v)", f, err)
		}
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v (%v)", info.Mode(), err)
	}

	copyFile(t, backup, path) // the drill
	if _, err := Open(t.Context(), path); !errors.Is(err, ErrDistrust) {
		t.Fatalf("an older copy: got %v, want ErrDistrust", err)
	}
	must(t, Takeover(t.Context(), path))
	s = open(t, path)
	if pairs, err := s.Pairs(t.Context()); err != nil || len(pairs) != 3 {
		t.Errorf("it has %d pairs (%v), want 3", len(pairs), err)
	}
	if ours, err := s.IsOurs(t.Context(), 1, "category", ""); err != nil || ours {
		t.Errorf("it relies on what it knew of the destination (%v)", err)
	}
}

func TestCompact(t *testing.T) {
	j := begin(t)
	j.apply(numbered(3000)...)
	must(t, j.Supersede(t.Context(), j.run.Num))
	before, after, err := j.Compact(t.Context())
	if err != nil || after >= before || after == 0 {
		t.Errorf("from %d to %d bytes (%v)", before, after, err)
	}
	if problems, err := j.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("after it: %v (%v)", problems, err)
	}
}
