package report

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// FolderOf is the top-level folder of the source that a key is in, empty if in none.
func FolderOf(key string) string {
	folder, _, inside := strings.Cut(key, "/")
	if !inside {
		return ""
	}
	return folder
}

// byFolder walks through all objects of the run, one top-level folder after the other,
// those in none last: that is the order of keys, but for these. line gets the objects,
// and end the sums of the folder they were in.
func (r Report) byFolder(ctx context.Context, begin func(name string) error, line func(Line) error, end func(Folder) error) error {
	for _, within := range []bool{true, false} {
		g := visit{begin: begin, end: end}
		for l, err := range r.Lines(ctx) {
			if err != nil {
				return err
			}
			if folder := FolderOf(l.Key); (folder != "") != within {
				continue
			} else if err := g.enter(folder); err != nil {
				return err
			}
			g.parts.add(l.State, Amount{1, l.Size})
			if err := line(l); err != nil {
				return err
			}
		}
		if err := g.leave(); err != nil {
			return err
		}
	}
	return nil
}

// A visit is to the folder that a walk is in.
type visit struct {
	begin  func(name string) error
	end    func(Folder) error
	inside bool
	name   string
	parts  parts
}

func (g *visit) enter(name string) error {
	if g.inside && g.name == name {
		return nil
	}
	if err := g.leave(); err != nil {
		return err
	}
	g.inside, g.name, g.parts = true, name, newParts()
	return g.begin(name)
}

func (g *visit) leave() error {
	if !g.inside {
		return nil
	}
	g.inside = false
	return g.end(Folder{Name: g.name, Listed: g.parts.total(), Parts: g.parts.list()})
}

// uncounted stands for the unchanged objects that are in no folder's sum, so that the
// sums of all folders add up to that of the run.
func (r Report) uncounted() (Folder, bool) {
	a := Amount{r.lists.run.Unchanged, r.lists.run.UnchangedBytes}
	p := newParts()
	p.add(unchanged, a)
	return Folder{Counted: true, Listed: a, Parts: p.list()}, !r.lists.told && a.Objects > 0
}

// sum is what was listed in a folder, and what became of it.
func (f Folder) sum() []Part { return append([]Part{{Name: "listed", Amount: f.Listed}}, f.Parts...) }

// title is the name of a folder for people. The name itself is not escaped.
func (f Folder) title() string {
	switch {
	case f.Counted:
		return "(unchanged, only counted)"
	case f.Name == "":
		return "(in no folder)"
	}
	return f.Name
}

// Folders sums up every top-level folder of the source, those that are in none last. The
// sums add up to that of the run.
func (r Report) Folders(ctx context.Context) iter.Seq2[Folder, error] {
	return func(yield func(Folder, error) bool) {
		pass := func(f Folder) error {
			if !yield(f, nil) {
				return errEnough
			}
			return nil
		}
		err := r.byFolder(ctx, func(string) error { return nil }, func(Line) error { return nil }, pass)
		if rest, ok := r.uncounted(); ok && err == nil {
			err = pass(rest)
		}
		if err != nil && err != errEnough {
			yield(Folder{}, err)
		}
	}
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// WriteFolders writes the sums of all top-level folders.
func (r Report) WriteFolders(ctx context.Context, w io.Writer, format string, clean func(string) string) error {
	f, err := formOf(format, clean)
	if err != nil {
		return err
	}
	if err := f.beginIndex(w, r); err != nil {
		return err
	}
	for folder, err := range r.Folders(ctx) {
		if err != nil {
			return err
		}
		if err := f.entry(w, folder, ""); err != nil {
			return err
		}
	}
	return f.endIndex(w, r)
}

// SplitByFolder writes a list for each top-level folder of the source into a directory,
// which is there and empty, and an index with their sums. It has the errors of WriteList.
func (r Report) SplitByFolder(ctx context.Context, dir, format string, c Choice) error {
	f, err := formOf(format, nil)
	if err != nil {
		return err
	}
	s := &splitter{report: r, dir: dir, form: f}
	if err := s.open("index" + f.extension()); err != nil {
		return err
	}
	s.index, s.file = s.file, nil
	err = s.write(ctx, c)
	if e := s.index.close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return r.incomplete(f, c)
}

// A splitter writes a list for each folder.
type splitter struct {
	report Report
	dir    string
	form   form
	files  int
	index  *file
	file   *file // of the folder that is being written
}

func (s *splitter) write(ctx context.Context, c Choice) error {
	if err := s.form.beginIndex(s.index, s.report); err != nil {
		return err
	}
	err := s.report.byFolder(ctx, s.beginFolder, func(l Line) error {
		if !c.takes(l) {
			return nil
		}
		return s.form.line(s.file, l)
	}, s.endFolder)
	if err != nil {
		if s.file != nil {
			_ = s.file.close() // the first error says more
		}
		return err
	}
	if rest, ok := s.report.uncounted(); ok {
		if err := s.form.entry(s.index, rest, ""); err != nil {
			return err
		}
	}
	return s.form.endIndex(s.index, s.report)
}

func (s *splitter) beginFolder(name string) error {
	s.files++
	if err := s.open(fileName(s.files, name) + s.form.extension()); err != nil {
		return err
	}
	return s.form.begin(s.file, s.report)
}

func (s *splitter) endFolder(f Folder) error {
	if err := s.form.end(s.file, f); err != nil {
		return err
	}
	done := s.file
	s.file = nil
	if err := done.close(); err != nil {
		return err
	}
	return s.form.entry(s.index, f, filepath.Base(done.f.Name()))
}

// A file is one that is written through a buffer.
type file struct {
	f *os.File
	*bufio.Writer
}

// open makes a file that is not there yet.
func (s *splitter) open(name string) error {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	s.file = &file{f, bufio.NewWriter(f)}
	return nil
}

func (f *file) close() error {
	err := f.Flush()
	if err == nil {
		err = f.f.Sync()
	}
	if e := f.f.Close(); err == nil {
		err = e
	}
	return err
}

// maxFileName bounds the part of a file's name that comes from a folder's.
const maxFileName = 60

// fileName names the file of a folder. The number keeps names apart and away from those
// that an operating system has a meaning for; of the folder's name only letters and
// digits stay, for people.
func fileName(n int, folder string) string {
	var b strings.Builder
	for _, r := range folder {
		if r == unicode.ReplacementChar || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '.' {
			r = '_'
		}
		if b.Len()+len(string(r)) > maxFileName {
			break
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		b.WriteString("in_no_folder")
	}
	return fmt.Sprintf("%04d-%s", n, b.String())
}
