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

// extensions are the extensions of text files, which are read in folders.
var extensions = [...]string{
	".htm", ".html", ".xhtml", ".md", ".markdown", ".css", ".scss", ".less", ".js", ".mjs", ".ts", ".json", ".jsonl", ".ndjson",
	".xml", ".svg", ".sql", ".txt", ".csv", ".tsv", ".yml", ".yaml", ".toml", ".php", ".twig", ".vue", ".jsx", ".tsx",
}

// Reasons for skipping a file.
const (
	SkipLink   = "symbolic link"
	SkipBinary = "binary"
	SkipKept   = "original"
	SkipDraft  = "draft of an interrupted rewrite"
)

// Reasons why a named file, or a text file, cannot be read.
var (
	ErrNoFile     = errors.New("not a regular file: pipe it into rewrite with - as PATH")
	ErrBinary     = errors.New("binary file: rewrite changes only text files")
	ErrCompressed = errors.New("compressed file: unpack it, or unpack it into a pipe")
	ErrUTF16      = errors.New("UTF-16 file: convert it to UTF-8, for example with iconv")
)

// A File is a file to rewrite or to skip.
type File struct {
	Path string
	Skip string // the reason for skipping it, or ""
}

// originalEnding ends the names of originals that programs such as patch keep.
const originalEnding = ".orig"

const draftEnding = ".assetferry-draft"

// Files yields named files, and the files of named folders: text files by extension, or all. An error
// concerns one path; more files may follow.
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

// files are named files by folder.
type files map[string][]string

// add adds a named file, whatever its extension.
func (n files) add(path string, info fs.FileInfo) (File, error) {
	if !info.Mode().IsRegular() {
		return File{Path: path}, ErrNoFile
	}
	real, err := filepath.EvalSymlinks(path) // replace the target, not the link
	if err != nil {
		return File{Path: path}, err
	}
	dir, name := filepath.Split(real)
	n[dir] = append(n[dir], name)
	return File{Path: real}, isText(real)
}

// drafts yields drafts that interrupted rewrites of the files left.
func (n files) drafts(yield func(File, error) bool) {
	for _, dir := range slices.Sorted(maps.Keys(n)) {
		entries, _ := os.ReadDir(cmp.Or(dir, ".")) // an unreadable folder has no drafts to remove
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
	// It returns only errors of the function. The separator follows a link to a folder.
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

// isText returns an error if the beginning of a file is not text.
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

// Decoded returns a reader of the whole text, or an error if it must be decoded first.
func Decoded(from io.Reader) (io.Reader, error) {
	b := bufio.NewReader(from)
	head, err := b.Peek(len(firstBytes[0].bytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	return b, encoded(head)
}

// firstBytes are the beginnings of files that must be decoded, the longest first.
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

// ErrChanged means that a file changed while it was read, and was not replaced.
var ErrChanged = errors.New("changed while it was read: run rewrite again")

// Replace replaces a file by its rewritten text if that differs, and keeps the original in a backup.
// The replacement is atomic and keeps permissions and owner.
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

// draftOf returns a new name beside a file for its draft.
func draftOf(path string) string {
	dir, name := filepath.Split(path)
	return dir + draftBeginning(name) + rand.Text() + draftEnding
}

// draftBeginning returns the common beginning of the names of all drafts of a file. A long name is cut
// so that the name of the draft is not too long.
func draftBeginning(name string) string {
	const most = 200
	return "." + strings.ToValidUTF8(name[:min(len(name), most)], "") + "-"
}

// writeDraft writes the new text of a file. It fails without write permission for the file, even if
// the folder allows the replacement.
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

// isSame returns ErrChanged if a path does not lead to the same unchanged file any more.
func isSame(path string, before fs.FileInfo) error {
	now, err := os.Stat(path)
	if err == nil && (!os.SameFile(now, before) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())) {
		err = ErrChanged
	}
	return err
}

// duplicate copies a file. The copy is complete or missing.
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
