package state

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/state/pagesums"

	"assetferry/internal/test/longtest"
	"assetferry/internal/test/seedtest"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// TestFullDisk verifies that a full disk fails only the present write, and that the same state
// database can be written again once there is space.
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
	full, _ := errors.AsType[*disk.Error](err)
	if !errors.Is(err, disk.ErrFull) || !strings.Contains(full.Hint(), "free space") {
		t.Fatalf("got %v, want ErrFull", err)
	}
	if got := j.stateOf(keys[0]); got != ItemSending {
		t.Errorf("an item is %s, want it as it was", got)
	}
	limit(1 << 30)
	must(t, j.record(outcomes...))
}

// killed returns the files of a state database as after its owner was killed: the latest writes are
// in the write-ahead log.
func killed(t *testing.T) (path string, writes int) {
	t.Helper()
	alive := filepath.Join(t.TempDir(), "state.db")
	s := open(t, alive)
	writes = 40
	for n := range writes {
		_, err := s.Pair(t.Context(), fmt.Sprint(n), strings.Repeat("destination", 50), "")
		must(t, err)
	}
	return frozen(t, alive), writes
}

// frozen copies the files of a state database in their present state to another folder, where they
// are accepted as the original.
func frozen(t *testing.T, path string) (there string) {
	t.Helper()
	there = filepath.Join(t.TempDir(), "state.db")
	for _, f := range []string{"", disk.WALSuffix, disk.LockSuffix, disk.SumsSuffix} {
		if _, err := os.Stat(path + f); err == nil {
			copyFile(t, path+f, there+f)
		}
	}
	must(t, os.CopyFS(there+disk.GenerationSuffix, os.DirFS(path+disk.GenerationSuffix)))
	m := lockMark(t, there)
	rewrite(t, m, func(*ownership.Trace) {}) // into another file
	return there
}

// outcome opens a damaged state database. It must work and be complete, or be refused with a reason
// that has a remedy.
func outcome(t *testing.T, path string, writes int) string {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		for name, want := range map[string]error{"damaged": disk.ErrDamaged, "distrusted": ownership.ErrDistrust, "foreign": ErrForeign, "newer": ErrNewer, "in use": ownership.ErrInUse} {
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
	case errors.Is(err, disk.ErrDamaged):
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

// TestTruncatedLog verifies that a deleted or truncated write-ahead log is detected. It lost
// confirmed writes, so objects would be uploaded again.
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

// TestFlippedBits verifies that a flipped bit anywhere in a closed or killed state database is
// detected, in the database or in its write-ahead log, or has no effect because the log contains
// the page.
func TestFlippedBits(t *testing.T) {
	seed := seedtest.Seed(t)
	for name, path := range map[string]string{"closed": closedState(t), "killed": halfMoved(t), "all in the log": killedAlone(t)} {
		t.Run(name, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 0))
			logged := pagesInLog(t, path)
			before, seen := dump(t, frozen(t, path)), map[string]int{}
			for n := range longtest.Size(30, 120) {
				there := frozen(t, path)
				which, at := flip(t, dice, there, n)
				got := outcome(t, there, len(before))
				if got == "works" && (which == there && !logged[uint32(at/4096+1)] || !slices.Equal(dump(t, there), before)) {
					t.Errorf("what it holds was changed, and it says nothing")
				}
				if seen[got]++; t.Failed() {
					t.Fatalf("bit flipped at %d of %s", at, which)
				}
			}
			t.Log(seen)
		})
	}
}

// pagesInLog returns the pages in the write-ahead log of a state database. Its frames have the salt
// of the log header, the page number comes first, and a commit frame has the size of the database.
func pagesInLog(t *testing.T, path string) map[uint32]bool {
	t.Helper()
	log, err := os.ReadFile(path + disk.WALSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	pages := map[uint32]bool{}
	var open []uint32 // of the transaction that is being read
	for frame := range slices.Chunk(log[min(32, len(log)):], 24+4096) {
		if len(frame) < 24+4096 || !bytes.Equal(frame[8:16], log[16:24]) {
			break
		}
		open = append(open, binary.BigEndian.Uint32(frame))
		if binary.BigEndian.Uint32(frame[4:]) > 0 {
			for _, number := range open {
				pages[number] = true
			}
			open = nil
		}
	}
	return pages
}

// TestRefusedFileIsNotChanged verifies that a refused state database is not changed, so that it is
// refused the next time, too.
func TestRefusedFileIsNotChanged(t *testing.T) {
	path := killedAlone(t)
	must(t, os.WriteFile(path+disk.SumsSuffix, []byte("assetferry sumz\n\x00\x10\x00\x00"), 0o600))
	files := []string{"", disk.WALSuffix, disk.SumsSuffix}
	before := map[string][]byte{}
	for _, f := range files {
		content, err := os.ReadFile(path + f)
		must(t, err)
		before[f] = content
	}
	for n := range 2 {
		if _, err := Open(t.Context(), path); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("attempt %d: got %v, want ErrDamaged", n, err)
		}
		for _, f := range files {
			if content, err := os.ReadFile(path + f); err != nil || !bytes.Equal(content, before[f]) {
				t.Errorf("attempt %d: state.db%s was changed (%v)", n, f, err)
			}
		}
	}
}

// flip flips a bit in one of the files of a state database.
func flip(t *testing.T, dice *rand.Rand, path string, n int) (file string, at int) {
	t.Helper()
	for ; ; n++ {
		file = [...]string{"", disk.WALSuffix, disk.LockSuffix, disk.SumsSuffix}[n%4]
		content, err := os.ReadFile(path + file)
		if err != nil || len(content) == 0 {
			continue
		}
		at = dice.IntN(len(content))
		content[at] ^= 1 << dice.IntN(8)
		must(t, os.WriteFile(path+file, content, 0o600))
		return path + file, at
	}
}

func closedState(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	written(t, path, 40)
	return path
}

func killedAlone(t *testing.T) string {
	t.Helper()
	path, _ := killed(t)
	return path
}

// halfMoved returns a state database whose owner was killed when half of its writes were in the
// database and half in the log.
func halfMoved(t *testing.T) string {
	t.Helper()
	alive := filepath.Join(t.TempDir(), "state.db")
	s := open(t, alive)
	for n := range 60 {
		_, err := s.Pair(t.Context(), fmt.Sprint(n), strings.Repeat("destination", 50), "")
		must(t, err)
		if n == 30 {
			must(t, s.checkpoint(t.Context()))
		}
	}
	return frozen(t, alive)
}

// dump returns the content of a state database.
func dump(t *testing.T, path string) (all []string) {
	t.Helper()
	s, err := OpenReadOnly(t.Context(), path)
	must(t, err)
	defer s.Close()
	pairs, err := s.Pairs(t.Context())
	must(t, err)
	for _, p := range pairs {
		all = append(all, fmt.Sprint(p))
	}
	return all
}

// TestKilledInACheckpoint verifies that the page checksums are correct after a kill at any time
// during a checkpoint.
func TestKilledInACheckpoint(t *testing.T) {
	alive := filepath.Join(t.TempDir(), "state.db")
	s := open(t, alive)
	for n := range 60 {
		_, err := s.Pair(t.Context(), fmt.Sprint(n), strings.Repeat("destination", 50), "")
		must(t, err)
		if n == 30 {
			must(t, s.checkpoint(t.Context()))
		}
	}
	must(t, pagesums.Record(s.path))
	if got := outcome(t, frozen(t, alive), 60); got != "works" {
		t.Errorf("after the sums: it is %s", got)
	}
	there := frozen(t, alive)
	must(t, s.checkpoint(t.Context()))
	moved, err := os.ReadFile(alive)
	must(t, err)
	old, err := os.ReadFile(there)
	must(t, err)
	must(t, os.WriteFile(there, append(moved[:2*4096], old[2*4096:]...), 0o600)) // two pages were moved
	if got := outcome(t, there, 60); got != "works" {
		t.Errorf("in the middle: it is %s", got)
	}
}

// TestCutToNothing verifies that a state database that was truncated to 0 bytes is not replaced by
// a new one, whichever other files exist.
func TestCutToNothing(t *testing.T) {
	closed, unclosed := closedState(t), killedAlone(t)
	for name, tc := range map[string]struct {
		path    string
		removed []string
	}{
		"closed":              {closed, nil},
		"killed":              {unclosed, nil},
		"without a lock file": {closed, []string{disk.LockSuffix, disk.GenerationSuffix}},
		"without page sums":   {closed, []string{disk.SumsSuffix}},
		"with the log alone":  {unclosed, []string{disk.LockSuffix, disk.GenerationSuffix, disk.SumsSuffix}},
	} {
		t.Run(name, func(t *testing.T) {
			path := frozen(t, tc.path)
			for _, f := range tc.removed {
				must(t, os.RemoveAll(path+f))
			}
			must(t, os.Truncate(path, 0))
			_, err := Open(t.Context(), path)
			_, reading := OpenReadOnly(t.Context(), path)
			for _, err := range []error{err, reading, Takeover(t.Context(), path)} {
				if e, ok := errors.AsType[*disk.Error](err); !ok || !errors.Is(err, disk.ErrEmptied) || !errors.Is(err, disk.ErrDamaged) ||
					!strings.Contains(e.Hint(), "restore the backup") || !strings.Contains(err.Error(), "cut to 0 bytes") {
					t.Errorf("got %v, want ErrEmptied", err)
				}
			}
			must(t, os.Remove(path)) // the way out without a backup
			written(t, path, 1)
		})
	}
}

// TestOtherProgramAfterAKill verifies the error after another program opened the state database of
// a killed owner. That program moves the log, which makes the page checksums wrong. This looks like
// damage, but there is a way to continue.
func TestOtherProgramAfterAKill(t *testing.T) {
	path := halfMoved(t)
	other, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = other.ExecContext(t.Context(), `SELECT count(*) FROM pairs`)
	must(t, errors.Join(err, other.Close()))
	wantTakeover(t, path, 60)
}

// TestNewBackupInItsPlace verifies that an up-to-date backup can replace the state database,
// although it has the same content in other pages.
func TestNewBackupInItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	written(t, path, 40)
	s, err := Open(t.Context(), path)
	must(t, err)
	backup, err := s.Backup(t.Context())
	must(t, errors.Join(err, s.Close()))
	copyFile(t, backup, path)
	wantTakeover(t, path, 40)
}

// wantTakeover expects that a state database is refused for its pages, and that a takeover is the
// way on.
func wantTakeover(t *testing.T, path string, writes int) {
	t.Helper()
	_, err := Open(t.Context(), path)
	if e, ok := errors.AsType[*disk.Error](err); !ok || e.Kind != disk.ErrDamaged || !strings.Contains(e.Hint(), "\n  assetferry state takeover") {
		t.Errorf("got %v, want that it may be damaged, and what to do if it is not", err)
	}
	must(t, Takeover(t.Context(), path))
	if got := outcome(t, path, writes); got != "works" {
		t.Errorf("after a takeover it is %s", got)
	}
}

// TestDamagedHeader verifies that a header which is no longer that of a state database counts as
// damage.
func TestDamagedHeader(t *testing.T) {
	path := closedState(t)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("X"), 68) // of the application id
	must(t, errors.Join(err, f.Close()))
	if _, err := Open(t.Context(), path); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
	if _, err := OpenReadOnly(t.Context(), path); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("reading: got %v, want ErrDamaged", err)
	}
}

// TestRoomOfTheLog verifies the maximum size of the write-ahead log.
func TestRoomOfTheLog(t *testing.T) {
	j := begin(t)
	pages := j.fillLog(60)
	if moved, err := os.Stat(j.Path()); err != nil || moved.Size() < pages-LogRoom {
		t.Errorf("the database has %d bytes of %d (%v)", moved.Size(), pages, err)
	}
}

// fillLog writes more than the log may contain, and returns the resulting number of pages.
func (j *journey) fillLog(writes int) (pages int64) {
	j.Helper()
	for n := range writes {
		p := benchPage(n)
		for k := range p.Items {
			p.Items[k].VersionTag = strings.Repeat("x", 500)
		}
		must(j, j.Stage(j.Context(), j.run.Num, p))
	}
	pages, err := j.size(j.Context())
	must(j, err)
	info, err := os.Stat(j.Path() + disk.WALSuffix)
	must(j, err)
	if info.Size() > LogRoom || pages < LogRoom {
		j.Errorf("the log takes %d bytes, the state database %d", info.Size(), pages)
	}
	return pages
}

// TestRoomOfTheLogUnderReaders verifies that overlapping readers do not keep the log from starting
// again.
func TestRoomOfTheLogUnderReaders(t *testing.T) {
	j := begin(t)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				_, err := query(ctx, j.r, "read", scanText, `SELECT key FROM items WHERE run = ? LIMIT 1000`, j.run.Num)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	j.fillLog(60)
	stop()
	readers.Wait()
}

// TestRoomOfTheLogAfterAReader verifies that the log does not double after a reader has delayed a
// checkpoint.
func TestRoomOfTheLogAfterAReader(t *testing.T) {
	j := begin(t)
	reader, err := j.r.BeginTx(t.Context(), nil)
	must(t, err)
	defer reader.Rollback()
	var n int
	must(t, reader.QueryRowContext(t.Context(), `SELECT count(*) FROM items`).Scan(&n))
	for n := 0; j.due == 0; n++ {
		must(t, j.Stage(t.Context(), j.run.Num, benchPage(1000+n)))
	}
	must(t, reader.Rollback())
	j.fillLog(60)
}

// TestCheckOfPages verifies that a check finds a changed page, and that it does not disturb an
// active owner.
func TestCheckOfPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	first, err := Open(t.Context(), path)
	must(t, err)
	_, err = first.Pair(t.Context(), "source", "destination", "unmistakable")
	must(t, errors.Join(err, first.Close()))
	content, err := os.ReadFile(path)
	must(t, err)
	at := bytes.Index(content, []byte("unmistakable"))
	content[at] ^= 1
	must(t, os.WriteFile(path, content, 0o600))
	s, err := OpenReadOnly(t.Context(), path)
	must(t, err)
	defer s.Close()
	want := fmt.Sprintf("page %d was changed: ", at/4096+1)
	if problems, err := s.Check(t.Context()); err != nil || len(problems) != 1 || !strings.HasPrefix(problems[0], want) {
		t.Errorf("got %q (%v)", problems, err)
	}
	content[at] ^= 1
	must(t, os.WriteFile(path, content, 0o600))
	owner := open(t, path)
	_, err = owner.Pair(t.Context(), "another", "destination", "")
	must(t, err)
	if problems, err := s.Check(t.Context()); err != nil || len(problems) != 0 {
		t.Errorf("while somebody is at work: %q (%v)", problems, err)
	}
}

// TestUnfinishedCheckpoint verifies that a state database can be used after a checkpoint that ran
// out of space. The file is too short for its header, and the log has the rest.
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

// TestCheckOfAnOlderStateDatabase verifies that a check detects an older copy of the state
// database.
func TestCheckOfAnOlderStateDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	written(t, path, 3)
	copyFile(t, path, path+".old")
	written(t, path, 4)
	for _, tc := range []struct{ store, want string }{{path, "[]"}, {path + ".old", "[it lacks its last 4 writes: an older copy was restored, or its write-ahead log was lost]"}} {
		copyFile(t, tc.store, path+".copy")
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
	path := filepath.Join(t.TempDir(), "state.db")
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
		t.Errorf("a good state database has %v", problems)
	}
	for _, tc := range []struct{ do, undo, want string }{
		{`UPDATE receipts SET key = 'x' WHERE key = 'a'`, `UPDATE receipts SET key = 'a'`, "a is done and has no upload record"},
		{`UPDATE runs SET state = 'finished', finished_at = 1`, `UPDATE runs SET state = 'applying', finished_at = NULL`, "b is in progress in a run that has ended"},
		{`INSERT INTO attempts VALUES (99, 'k', 1, 1, '', '')`, `DELETE FROM attempts WHERE run = 99`, "refers to a missing row of runs"},
	} {
		execute(t, j.Path(), tc.do)
		if problems := check(); len(problems) != 1 || !strings.Contains(problems[0], tc.want) {
			t.Errorf("%s: got %q, want %q", tc.do, problems, tc.want)
		}
		execute(t, j.Path(), tc.undo)
	}
}

// TestReadingWhereNothingCanBeWritten verifies that a closed state database on a read-only disk can
// be read.
func TestReadingWhereNothingCanBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	written(t, path, 3)
	db, err := connect(path, immutable, 1)
	must(t, err)
	defer db.Close()
	if h, err := ownership.Read(t.Context(), db); err != nil || h.Seq != 3 {
		t.Errorf("got %+v (%v)", h, err)
	}
}

func TestBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	must(t, os.WriteFile(disk.BackupDraft(path), []byte("left by somebody who was killed"), 0o600))
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
	for _, f := range []string{disk.BackupDraft(path), path + "-wal"} {
		if _, err := os.Stat(f); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left (%v)", f, err)
		}
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v (%v)", info.Mode(), err)
	}

	copyFile(t, backup, path) // the drill
	if _, err := Open(t.Context(), path); !errors.Is(err, ownership.ErrDistrust) {
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
