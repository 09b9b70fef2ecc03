package rewrite

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// extensions are those of files in which addresses are looked for in a folder.
var extensions = [...]string{
	".htm", ".html", ".xhtml", ".md", ".markdown", ".css", ".scss", ".less", ".js", ".mjs", ".ts", ".json", ".jsonl", ".ndjson",
	".xml", ".svg", ".sql", ".txt", ".csv", ".tsv", ".yml", ".yaml", ".toml", ".php", ".twig", ".vue", ".jsx", ".tsx",
}

// Why a file is left out.
const (
	SkipLink   = "symbolic link"
	SkipBinary = "binary"
	SkipKept   = "original that was kept"
	SkipDraft  = "left behind by a rewrite that was interrupted"
)

// Why a file that was named, or that looks like a text, cannot be looked into.
var (
	ErrNoFile     = errors.New("it is no file: give - as PATH, and have it come from stdin")
	ErrBinary     = errors.New("it is binary, and addresses are looked for in texts only")
	ErrCompressed = errors.New("it is compressed: unpack it first, or have it unpacked into a pipe")
	ErrUTF16      = errors.New("it is UTF-16: convert it to UTF-8 first, for instance with iconv")
)

// A File is one in which addresses are to be replaced, or left out.
type File struct {
	Path string
	Skip string // why it is left out; empty if it is not
}

// originalEnding comes after the name of a file that a program kept, as patch does.
const originalEnding = ".orig"

const draftEnding = ".assetferry-draft"

// Files yields the files that paths name, and those in folders that they name: with an
// ending in Extensions, or all. An error is of one path; the next ones may follow.
func Files(paths []string, all bool) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		named := files{}
		for _, path := range paths {
			info, err := os.Stat(path)
			switch {
			case err != nil:
				if !yield(File{Path: path}, err) {
					return
				}
			case info.IsDir():
				if !inFolder(path, all, yield) {
					return
				}
			default:
				if !yield(named.add(path, info)) {
					return
				}
			}
		}
		named.drafts(yield)
	}
}

// Files that were named, by folder.
type files map[string][]string

// add takes a file that was named, so that its ending does not matter.
func (n files) add(path string, info fs.FileInfo) (File, error) {
	if !info.Mode().IsRegular() {
		return File{Path: path}, ErrNoFile
	}
	real, err := filepath.EvalSymlinks(path) // so that a link stays one
	if err != nil {
		return File{Path: path}, err
	}
	dir, name := filepath.Split(real)
	n[dir] = append(n[dir], name)
	return File{Path: real}, isText(real)
}

// drafts yields what former rewritings of the files left behind.
func (n files) drafts(yield func(File, error) bool) {
	for _, dir := range slices.Sorted(maps.Keys(n)) {
		entries, _ := os.ReadDir(cmp.Or(dir, ".")) // none is missed where nobody can look
		for _, e := range entries {
			isOne := func(name string) bool { return strings.HasPrefix(e.Name(), draftBeginning(name)) }
			if isDraft(e.Name()) && slices.ContainsFunc(n[dir], isOne) && !yield(File{dir + e.Name(), SkipDraft}, nil) {
				return
			}
		}
	}
}

func inFolder(root string, all bool, yield func(File, error) bool) (more bool) {
	more = true
	// It fails only if the function does. The slash is for a folder that is named by a link.
	_ = filepath.WalkDir(root+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		f := File{Path: path}
		switch {
		case err != nil:
		case d.IsDir():
			if slices.Contains([]string{".git", ".hg", ".svn"}, d.Name()) || strings.HasSuffix(d.Name(), backupEnding) {
				return fs.SkipDir
			}
			return nil
		case isDraft(path):
			f.Skip = SkipDraft
		case isOriginal(path):
			f.Skip = SkipKept
		case d.Type()&fs.ModeSymlink != 0 && (isWanted(path, all) || isFolder(path)):
			f.Skip = SkipLink
		case !d.Type().IsRegular() || !isWanted(path, all):
			return nil
		default:
			if err = isText(path); errors.Is(err, ErrBinary) || errors.Is(err, ErrCompressed) {
				f.Skip, err = SkipBinary, nil
			}
		}
		if more = yield(f, err); !more {
			return fs.SkipAll
		}
		return nil
	})
	return more
}

func isWanted(path string, all bool) bool {
	return all || slices.Contains(extensions[:], strings.ToLower(filepath.Ext(path)))
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isDraft(path string) bool { return strings.HasSuffix(path, draftEnding) }

func isOriginal(path string) bool {
	rest := strings.TrimRight(path, "0123456789")
	return strings.HasSuffix(path, originalEnding) || rest != path && strings.HasSuffix(rest, originalEnding+".")
}

// isText reports why there is no text in a file, by its beginning.
func isText(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, 8000)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if head = head[:n]; bytes.HasPrefix(head, []byte("%PDF-")) || bytes.IndexByte(head, 0) >= 0 {
		return cmp.Or(encoded(head), ErrBinary)
	}
	return encoded(head)
}

// Decoded gives a text from its beginning on, or reports why it must be decoded first.
func Decoded(from io.Reader) (io.Reader, error) {
	b := bufio.NewReader(from)
	head, err := b.Peek(len(firstBytes[0].bytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	return b, encoded(head)
}

// firstBytes are what texts begin with that must be decoded first; the longest come first.
var firstBytes = [...]struct {
	bytes string
	err   error
}{
	{"\xfd7zXZ\x00", ErrCompressed}, {"\x28\xb5\x2f\xfd", ErrCompressed}, {"PK\x03\x04", ErrCompressed}, {"BZh", ErrCompressed},
	{"\x1f\x8b", ErrCompressed}, {"\xff\xfe", ErrUTF16}, {"\xfe\xff", ErrUTF16}, {"<\x00", ErrUTF16}, {"\x00<", ErrUTF16},
}

func encoded(head []byte) error {
	for _, f := range firstBytes {
		if bytes.HasPrefix(head, []byte(f.bytes)) {
			return f.err
		}
	}
	return nil
}

// ErrChanged says that a file was written to while it was read, and is left as it is.
var ErrChanged = errors.New("it was written to while it was read, and was left as it is")

// Replace replaces a file by what it is rewritten to, unless nothing changes, and keeps the
// original in a backup. The file is one or the other at any time, as a whole, with the same
// permissions and owner.
func Replace(path string, to *Backup, rewrite func(io.Reader, io.Writer) (changes bool, err error)) (original string, err error) {
	draft := draftOf(path)
	before, changes, err := writeDraft(path, draft, rewrite)
	if err == nil && changes {
		err = isSame(path, before)
	}
	if err == nil && changes {
		original, err = to.keep(path)
	}
	if err != nil || !changes {
		if rerr := os.Remove(draft); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return "", err
	}
	if err := os.Rename(draft, path); err != nil {
		return "", errors.Join(err, os.Remove(draft))
	}
	return original, syncDir(filepath.Dir(path))
}

// draftOf gives a new name beside a file, for what is not all there yet.
func draftOf(path string) string {
	dir, name := filepath.Split(path)
	return dir + draftBeginning(name) + rand.Text() + draftEnding
}

// draftBeginning is what the names of all drafts of a file begin with. Of a long name there
// is a part, so that a draft may have one, too.
func draftBeginning(name string) string {
	const most = 200
	return "." + strings.ToValidUTF8(name[:min(len(name), most)], "") + "-"
}

// writeDraft writes what a file is to become. Who may not write a file may not replace it
// either, whatever the folder permits.
func writeDraft(path, draft string, rewrite func(io.Reader, io.Writer) (bool, error)) (before fs.FileInfo, changes bool, err error) {
	from, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if before, err = from.Stat(); err != nil {
		return nil, false, err
	}
	to, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, false, err
	}
	changes, err = rewrite(from, to)
	if err == nil && changes {
		err = errors.Join(sameAccess(to, from), to.Sync())
	}
	return before, changes, errors.Join(err, to.Close())
}

// isSame reports whether a path is still the file that it was.
func isSame(path string, before fs.FileInfo) error {
	now, err := os.Stat(path)
	if err == nil && (!os.SameFile(now, before) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())) {
		err = ErrChanged
	}
	return err
}

// duplicate copies a file to one that is there as a whole or not at all.
func duplicate(path, to string) (err error) {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	draft := draftOf(to)
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = errors.Join(sameAccess(f, from), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(draft, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	return nil
}
