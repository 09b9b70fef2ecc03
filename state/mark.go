package state

import (
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

// A mark is what the lock file of a journal says about it: which journal it is, how
// far it was written, how often it changed hands, when its owner last lived, and which
// file it was written into, so that a copy of all the files is not taken for them. It is
// one short line of fixed length, with a checksum, written at once.
//
// Two counters say more than the time of a file could:
//
// The number of writes is committed and synced in the journal before it is noted here.
// So after a kill or a power cut the mark says as much as the journal, or less. If it
// says more, the journal lost writes or is an older copy.
//
// The generation counts up with each sign of life, at taking and giving up ownership
// too. It is synced here before the name of the entry in the generation folder follows,
// and that is synced as well. So after a kill or a power cut the mark is as far as the
// entry, or one ahead. Files that are copied back over these ones bring their own lower
// generation in the mark, but do not remove the entry with the higher one.
type mark struct {
	f      *os.File
	folder string // of the generation
	born   int64  // see birthOf

	mu     sync.Mutex
	now    trace
	behind error // why the mark does not say now

	living sync.Mutex // held while a sign of life gets to the disk
}

// A trace is the content of a mark.
type trace struct {
	id         string
	seq        int64
	at         time.Time
	born       int64 // of the file that it was written into; 0 if that is not known
	generation int64

	entry int64 // the generation by the folder, which is not in the mark; 0 if it has none
}

const (
	markForm   = "assetferry journal %26s %019d %019d %019d %019d" // id, seq, at in milliseconds, born, generation
	markLength = len("assetferry journal ") + 26 + 4*(1+19) + len(" 01234567\n")
)

// newMark is the mark in the lock file of the journal at path.
func newMark(path string, lock *os.File) *mark {
	return &mark{f: lock, folder: path + generationSuffix, born: birthOf(lock)}
}

// read gives what the mark says; nothing if there is none, or none that makes
// sense. The entry is read first, so that it is not ahead of the mark when the owner is
// at work.
func (m *mark) read() (t trace, err error) {
	entries, err := m.entries()
	if err != nil {
		return t, err
	}
	line := make([]byte, markLength)
	if _, err := io.ReadFull(io.NewSectionReader(m.f, 0, int64(markLength)), line); err == nil {
		t = parseMark(string(line))
	} else if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return t, err
	}
	for _, e := range entries {
		t.entry = max(t.entry, e)
	}
	return t, nil
}

func parseMark(line string) trace {
	words := strings.Fields(line)
	if len(words) != 8 || sealed(line[:markLength-len(" 01234567\n")]) != line {
		return trace{}
	}
	var numbers [4]int64
	for i := range numbers {
		n, err := strconv.ParseInt(words[3+i], 10, 64)
		if err != nil {
			return trace{}
		}
		numbers[i] = n
	}
	return trace{id: words[2], seq: numbers[0], at: fromMillis(numbers[1]), born: numbers[2], generation: numbers[3]}
}

// sealed adds the checksum to the text of a mark.
func sealed(text string) string {
	return fmt.Sprintf("%s %08x\n", text, crc32.Checksum([]byte(text), castagnoli))
}

// entries are the generations that the folder names: one, or more where files were
// copied into it.
func (m *mark) entries() (all []int64, err error) {
	found, err := os.ReadDir(m.folder)
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

// written notes how far the journal was written. It is not synced. Where it fails, the write
// has been committed all the same, and the mark may say less: catchUp tries again.
func (m *mark) written(id string, seq int64, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.id, m.now.seq, m.now.at, m.now.born = id, seq, at, m.born
	m.behind = m.write()
}

// catchUp writes the mark if that failed last. What is begun without it could not be told
// from an older copy later.
func (m *mark) catchUp() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.behind != nil {
		m.behind = m.write()
	}
	return m.behind
}

// begin begins the mark of a new owner, after the one that was left.
func (m *mark) begin(left trace, id string, seq int64, at time.Time) error {
	m.mu.Lock()
	m.now = trace{id: id, seq: seq, born: m.born, generation: max(left.generation, left.entry), entry: left.entry}
	m.mu.Unlock()
	if err := makeDir(m.folder); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(m.folder)); err != nil { // which has the lock file
		return err
	}
	return m.alive(at)
}

// alive notes a sign of life and begins a new generation. When it returns, both
// have reached the disk. A generation whose entry could not follow is finished before:
// the mark is never more than one ahead, however often a sign of life fails.
func (m *mark) alive(at time.Time) error {
	m.living.Lock()
	defer m.living.Unlock()
	m.mu.Lock()
	m.now.at = at
	unfinished := m.now.generation > m.now.entry
	m.mu.Unlock()
	if unfinished {
		if err := m.advance(0); err != nil {
			return err
		}
	}
	return m.advance(1)
}

// advance writes the mark of the generation that is by so many later, and has its entry
// follow.
func (m *mark) advance(by int64) error {
	m.mu.Lock()
	m.now.generation += by
	generation, err := m.now.generation, m.write()
	m.mu.Unlock() // writes do not wait for the disk
	if err != nil {
		return err
	}
	if err := m.f.Sync(); err != nil {
		return err
	}
	if err := m.follow(generation); err != nil {
		return err
	}
	m.mu.Lock()
	m.now.entry = generation
	m.mu.Unlock()
	return nil
}

// follow has the one entry of the folder name a generation.
func (m *mark) follow(generation int64) error {
	name := func(n int64) string { return filepath.Join(m.folder, strconv.FormatInt(n, 10)) }
	err := os.Rename(name(generation-1), name(generation))
	if errors.Is(err, fs.ErrNotExist) {
		err = makeFile(name(generation))
	}
	if err != nil {
		return err
	}
	entries, err := m.entries()
	for _, e := range entries { // those that copies brought along
		if e != generation {
			err = errors.Join(err, os.Remove(name(e)))
		}
	}
	return errors.Join(err, syncDir(m.folder))
}

// forget empties the mark, where there is no journal that it could tell of.
func (m *mark) forget() error { return errors.Join(m.f.Truncate(0), m.f.Sync()) }

// changeSlack is how much later than its mark says the file of a journal that was closed
// may have been written.
const changeSlack = 10 * time.Second

// isCopied reports whether what a trace says was written into another file.
func (m *mark) isCopied(t trace) bool {
	return t.born != 0 && m.born != 0 && t.born != m.born
}

// isTouched reports whether somebody else changed the file since a trace was written
// into it: put a copy back in place, or gave it an owner, permissions, a second name.
// Nobody can tell which. Where it is not known when a file was made it may as well be
// another one.
func (m *mark) isTouched(t trace) bool {
	return t.id != "" && changedAt(m.f).After(t.at.Add(changeSlack))
}

func (m *mark) write() error {
	t := m.now
	_, err := m.f.WriteAt([]byte(sealed(fmt.Sprintf(markForm, t.id, t.seq, t.at.UnixMilli(), t.born, t.generation))), 0)
	return err
}
