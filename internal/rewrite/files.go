package rewrite

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// extensions are those of files in which addresses are looked for in a folder.
var extensions = [...]string{
	".htm", ".html", ".xhtml", ".md", ".markdown", ".css", ".scss", ".less", ".js", ".mjs", ".ts", ".json", ".jsonl", ".ndjson",
	".xml", ".svg", ".sql", ".txt", ".csv", ".tsv", ".yml", ".yaml", ".toml", ".php", ".twig", ".vue", ".jsx", ".tsx",
}

// Extensions are those of files in which addresses are looked for in a folder.
func Extensions() []string { return extensions[:] }

// Why a file is left out.
const (
	SkipLink   = "symbolic link"
	SkipBinary = "binary"
	SkipKept   = "original that a former rewrite kept"
	SkipDraft  = "left behind by a rewrite that was interrupted"
)

// A File is one in which addresses are to be replaced, or left out.
type File struct {
	Path string
	Skip string // why it is left out; empty if it is not
}

// originalEnding comes after the name of a file that a rewrite kept.
const originalEnding = ".orig"

const draftEnding = ".assetferry-draft"

// Files yields the files that paths name, and those in folders that they name: with an
// ending in Extensions, or all. An error is of one path; the next ones may follow.
func Files(paths []string, all bool) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		for _, path := range paths {
			info, err := os.Stat(path)
			switch {
			case err != nil:
				if !yield(File{Path: path}, err) {
					return
				}
			case !info.IsDir():
				f, err := named(path)
				if !yield(f, err) {
					return
				}
			case !inFolder(path, all, yield):
				return
			}
		}
	}
}

// named is a file that was named, so that its ending does not matter.
func named(path string) (File, error) {
	real, err := filepath.EvalSymlinks(path) // so that a link stays one
	if err != nil {
		return File{Path: path}, err
	}
	binary, err := isBinary(real)
	if binary {
		return File{path, SkipBinary}, err
	}
	return File{Path: real}, err
}

func inFolder(root string, all bool, yield func(File, error) bool) (more bool) {
	more = true
	// It fails only if the function does.
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		f := File{Path: path}
		switch {
		case err != nil:
		case d.IsDir():
			if slices.Contains([]string{".git", ".hg", ".svn"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		case strings.HasSuffix(path, draftEnding):
			f.Skip = SkipDraft
		case isOriginal(path):
			f.Skip = SkipKept
		case !all && !slices.Contains(extensions[:], strings.ToLower(filepath.Ext(path))):
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			f.Skip = SkipLink
		case !d.Type().IsRegular():
			return nil
		default:
			var binary bool
			if binary, err = isBinary(path); binary {
				f.Skip = SkipBinary
			}
		}
		if more = yield(f, err); !more {
			return fs.SkipAll
		}
		return nil
	})
	return more
}

func isOriginal(path string) bool {
	rest := strings.TrimRight(path, "0123456789")
	return strings.HasSuffix(path, originalEnding) || rest != path && strings.HasSuffix(rest, originalEnding+".")
}

// isBinary reports whether a file has a zero byte at its beginning, which no text has but
// that of UTF-16.
func isBinary(path string) (_ bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, 8000)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return bytes.IndexByte(head[:n], 0) >= 0, err
}

// ErrChanged says that a file was written to while it was read, and is left as it is.
var ErrChanged = errors.New("it was written to while it was read, and was left as it is")

// Replace replaces a file by what it is rewritten to, unless nothing changes, and keeps the
// original: see keep. The file is one or the other at any time, as a whole, with the same
// permissions and owner.
func Replace(path string, rewrite func(io.Reader, io.Writer) (changes bool, err error)) (original string, err error) {
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+rand.Text()+draftEnding)
	before, changes, err := writeDraft(path, draft, rewrite)
	if err == nil && changes {
		err = isSame(path, before)
	}
	if err == nil && changes {
		original, err = keep(path, before)
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

// writeDraft writes what a file is to become.
func writeDraft(path, draft string, rewrite func(io.Reader, io.Writer) (bool, error)) (before fs.FileInfo, changes bool, err error) {
	from, err := os.Open(path)
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
		err = errors.Join(sameAccess(to, before), to.Sync())
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

// keep gives a file a second name, FILE.orig, or the first of FILE.orig.1, FILE.orig.2 that
// is free: what was kept before is never replaced. After a crash the second name may be
// there already.
func keep(path string, info fs.FileInfo) (original string, err error) {
	for n := 0; ; n++ {
		original = path + originalEnding
		if n > 0 {
			original += "." + strconv.Itoa(n)
		}
		there, err := os.Lstat(original)
		switch {
		case err == nil && os.SameFile(there, info):
			return original, nil
		case err == nil:
			continue
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("keep the original: %w", err)
		}
		if err = os.Link(path, original); err == nil {
			err = syncDir(filepath.Dir(path))
		} else if !errors.Is(err, fs.ErrExist) { // some file systems have no links
			err = duplicate(path, original, info)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("keep the original: %w", err)
		}
		if err == nil {
			return original, nil
		}
	}
}

// duplicate copies a file to one that is there as a whole or not at all.
func duplicate(path, to string, info fs.FileInfo) (err error) {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	draft := to + "-" + rand.Text() + draftEnding
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = errors.Join(sameAccess(f, info), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(draft, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	return syncDir(filepath.Dir(to))
}
