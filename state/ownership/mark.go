package ownership

import (
	"assetferry/state/disk"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Mark is the content of the lock file of a state database: the ID of the state database, the
// number of its writes, the number of changes of ownership, the last sign of life of its owner, and
// the file that it was written into, so that a copy of all files is detected. It is one short line
// of fixed length, with a checksum, and is written at once.
//
// Two counters are more reliable than the time of a file:
//
// The number of writes is committed and synced in the state database before it is written here.
// After a kill or a power cut the mark is as far as the state database, or behind. If it is ahead,
// the state database has lost writes or is an older copy.
//
// The generation increases with each sign of life, and when ownership is taken or released. It is
// synced here before the name of the entry in the generation folder follows, which is then synced,
// too. After a kill or a power cut the mark is as far as the entry, or one ahead. Restored copies
// of the files contain a lower generation, but do not remove the entry with the higher one.
type Mark struct {
	File   *os.File
	Folder string // of the generation
	Born   int64  // see birthOf

	mu     sync.Mutex
	now    Trace
	behind error // why the mark does not say now

	living sync.Mutex // held while a sign of life gets to the disk
}

// A Trace is the content of a mark.
type Trace struct {
	ID         string
	Seq        int64
	At         time.Time
	Born       int64 // birthOf the file that it was written into; 0 if unknown
	Generation int64

	Entry int64 // the generation by the folder, which is not in the mark; 0 if it has none
}

// Line returns a trace in the format of the mark.
func (t Trace) Line() string {
	return sealed(fmt.Sprintf(markFormat, t.ID, t.Seq, t.At.UnixMilli(), t.Born, t.Generation))
}

const (
	markFormat = "assetferry state %26s %019d %019d %019d %019d" // id, seq, at in milliseconds, born, generation
	markLength = len("assetferry state ") + 26 + 4*(1+19) + len(" 01234567\n")
)

// NewMark returns the mark in the lock file of the state database at path.
func NewMark(path string, lock *os.File) *Mark {
	return &Mark{File: lock, Folder: path + disk.GenerationSuffix, Born: birthOf(lock)}
}

// Read returns the content of the mark, or nothing if there is no valid one. It reads the entry
// first, so that the entry is not ahead of the mark while an owner is active.
func (m *Mark) Read() (t Trace, err error) {
	entries, err := m.entries()
	if err != nil {
		return t, err
	}
	line := make([]byte, markLength)
	if _, err := io.ReadFull(io.NewSectionReader(m.File, 0, int64(markLength)), line); err == nil {
		t = parseMark(string(line))
	} else if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return t, err
	}
	for _, e := range entries {
		t.Entry = max(t.Entry, e)
	}
	return t, nil
}

func parseMark(line string) Trace {
	words := strings.Fields(line)
	if len(words) != 8 || sealed(line[:markLength-len(" 01234567\n")]) != line {
		return Trace{}
	}
	var numbers [4]int64
	for i := range numbers {
		n, err := strconv.ParseInt(words[3+i], 10, 64)
		if err != nil {
			return Trace{}
		}
		numbers[i] = n
	}
	return Trace{ID: words[2], Seq: numbers[0], At: time.UnixMilli(numbers[1]).UTC(), Born: numbers[2], Generation: numbers[3]}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealed adds the checksum to the text of a mark.
func sealed(text string) string {
	return fmt.Sprintf("%s %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

// entries returns the generations in the folder: one, or more if files were copied into it.
func (m *Mark) entries() (all []int64, err error) {
	found, err := os.ReadDir(m.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range found {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all, err
}

// Written records the number of writes to the state database. It does not sync. If it fails, the
// write is committed anyway, and the mark may be behind: CatchUp tries again.
func (m *Mark) Written(id string, seq int64, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.ID, m.now.Seq, m.now.At, m.now.Born = id, seq, at, m.Born
	m.behind = m.write()
}

// CatchUp writes the mark if the last write of it failed. A write without it would make this state
// database look like an older copy.
func (m *Mark) CatchUp() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.behind != nil {
		m.behind = m.write()
	}
	return m.behind
}

// Begin starts the mark of a new owner, after the previous one.
func (m *Mark) Begin(left Trace, id string, seq int64, at time.Time) error {
	m.mu.Lock()
	m.now = Trace{ID: id, Seq: seq, Born: m.Born, Generation: max(left.Generation, left.Entry), Entry: left.Entry}
	m.mu.Unlock()
	if err := disk.MakeDir(m.Folder); err != nil {
		return err
	}
	if err := disk.SyncDir(filepath.Dir(m.Folder)); err != nil { // which has the lock file
		return err
	}
	return m.Alive(at)
}

// Alive notes a sign of life and begins a new generation. When it returns, both
// have reached the disk. A generation whose entry could not follow is finished before:
// the mark is never more than one ahead, however often a sign of life fails.
func (m *Mark) Alive(at time.Time) error {
	m.living.Lock()
	defer m.living.Unlock()
	m.mu.Lock()
	m.now.At = at
	unfinished := m.now.Generation > m.now.Entry
	m.mu.Unlock()
	if unfinished {
		if err := m.advance(0); err != nil {
			return err
		}
	}
	return m.advance(1)
}

// advance writes the mark with a generation increased by a number, and renames the entry
// accordingly.
func (m *Mark) advance(by int64) error {
	m.mu.Lock()
	m.now.Generation += by
	generation, err := m.now.Generation, m.write()
	m.mu.Unlock() // writes do not wait for the disk
	if err != nil {
		return err
	}
	if err := m.File.Sync(); err != nil {
		return err
	}
	if err := m.follow(generation); err != nil {
		return err
	}
	m.mu.Lock()
	m.now.Entry = generation
	m.mu.Unlock()
	return nil
}

// follow has the one entry of the folder name a generation.
func (m *Mark) follow(generation int64) error {
	name := func(n int64) string { return filepath.Join(m.Folder, strconv.FormatInt(n, 10)) }
	err := os.Rename(name(generation-1), name(generation))
	if errors.Is(err, fs.ErrNotExist) {
		err = disk.MakeFile(name(generation))
	}
	if err != nil {
		return err
	}
	entries, err := m.entries()
	for _, e := range entries { // entries that came with copied files
		if e != generation {
			err = errors.Join(err, os.Remove(name(e)))
		}
	}
	return errors.Join(err, disk.SyncDir(m.Folder))
}

// Forget empties the mark, if there is no state database for it.
func (m *Mark) Forget() error { return errors.Join(m.File.Truncate(0), m.File.Sync()) }

// ChangeSlack is how much later than the time in its mark the file of a closed state database may
// have been written.
const ChangeSlack = 10 * time.Second

// isCopied reports whether the mark was written into another file than this one.
func (m *Mark) isCopied(t Trace) bool {
	return t.Born != 0 && m.Born != 0 && t.Born != m.Born
}

// isTouched reports whether another user changed the file since a trace was written into it:
// restored a copy, or changed the owner, the permissions or the number of names. These cases cannot
// be distinguished. If the creation time is unknown, the file may also be another one.
func (m *Mark) isTouched(t Trace) bool {
	return t.ID != "" && changedAt(m.File).After(t.At.Add(ChangeSlack))
}

func (m *Mark) write() error {
	_, err := m.File.WriteAt([]byte(m.now.Line()), 0)
	return err
}
