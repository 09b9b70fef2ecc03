package report

import (
	"bufio"
	"cmp"
	"context"
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

// uncounted stands for the unchanged objects that are in no folder's sum, so that the
// sums of all folders add up to that of the run.
func (r Report) uncounted() (Folder, bool) {
	a := Amount{r.lists.run.Unchanged, r.lists.run.UnchangedBytes}
	p := newParts()
	p.add(unchanged, a)
	return Folder{Counted: true, Listed: a, Parts: p.list()}, !r.lists.told && !r.lists.isPruned() && a.Objects > 0
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
		inside, loose := newFolderSum(""), newFolderSum("")
		for f, err := range r.lists.fates(ctx) {
			if err != nil {
				yield(Folder{}, err)
				return
			}
			sum := loose
			if name := FolderOf(string(f.Key)); name != "" {
				if !inside.enter(name, yield) {
					return
				}
				sum = inside
			}
			sum.parts.add(Told(f.Action, f.State), Amount{1, f.Size})
		}
		if !inside.pass(yield) || !loose.pass(yield) {
			return
		}
		if rest, ok := r.uncounted(); ok {
			yield(rest, nil)
		}
	}
}

// A folderSum is what was counted of a folder so far.
type folderSum struct {
	name  string
	parts parts
}

func newFolderSum(name string) folderSum { return folderSum{name, newParts()} }

func (s folderSum) folder() Folder {
	return Folder{Name: s.name, Listed: s.parts.total(), Parts: s.parts.list()}
}

// enter becomes the sum of a folder, after passing on that of another one before.
func (s *folderSum) enter(name string, yield func(Folder, error) bool) bool {
	if name == s.name {
		return true
	}
	if !s.pass(yield) {
		return false
	}
	*s = newFolderSum(name)
	return true
}

// pass passes a folder on, unless there is nothing in it.
func (s folderSum) pass(yield func(Folder, error) bool) bool {
	return len(s.parts) == 0 || yield(s.folder(), nil)
}

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
	s := &splitter{report: r, dir: dir}
	for _, f := range []*form{&s.index.form, &s.folder.form, &s.loose.form} {
		var err error
		if *f, err = formOf(format, nil); err != nil {
			return err
		}
	}
	err := s.write(ctx, c)
	for _, l := range []*list{&s.index, &s.folder, &s.loose} {
		if l.file != nil {
			err = cmp.Or(err, l.file.close()) // the first error says more
		}
	}
	if err != nil {
		return err
	}
	return r.incomplete(c, s.folder.form, s.loose.form)
}

// A splitter writes a list for each folder, and one of what is in none beside it: the
// objects of that stand between the others.
type splitter struct {
	report               Report
	dir                  string
	files                int
	index, folder, loose list
}

// A list is one that is being written; file is nil if none is.
type list struct {
	form form
	file *file
	sum  folderSum
}

// looseDraft is the name of the list of what is in no folder, until it is known how many
// come before it.
const looseDraft = "in_no_folder"

func (s *splitter) write(ctx context.Context, c Choice) error {
	if err := s.open(&s.index, "index"); err != nil {
		return err
	}
	if err := s.index.form.beginIndex(s.index.file, s.report); err != nil {
		return err
	}
	for l, err := range s.report.lists.lines(ctx, Choice{}) {
		if err != nil {
			return err
		}
		to, err := s.listOf(FolderOf(l.Key))
		if err != nil {
			return err
		}
		to.sum.parts.add(l.State, Amount{1, l.Size})
		if !c.takes(l) {
			continue
		}
		if err := to.form.line(to.file, l); err != nil {
			return err
		}
	}
	return s.finish()
}

// listOf finds the list of a folder, and begins it.
func (s *splitter) listOf(folder string) (*list, error) {
	l, name := &s.loose, looseDraft
	if folder != "" {
		l = &s.folder
		if l.file != nil && l.sum.name == folder {
			return l, nil
		}
		if err := s.end(l); err != nil {
			return nil, err
		}
		s.files++
		name = fileName(s.files, folder)
	}
	if l.file != nil {
		return l, nil
	}
	l.sum = newFolderSum(folder)
	if err := s.open(l, name); err != nil {
		return nil, err
	}
	return l, l.form.begin(l.file, s.report)
}

// end ends a list, if it was begun, and enters it into the index.
func (s *splitter) end(l *list) error {
	if l.file == nil {
		return nil
	}
	done, name := l.file, filepath.Base(l.file.f.Name())
	if err := l.form.end(done, l.sum.folder()); err != nil {
		return err
	}
	l.file = nil
	if err := done.close(); err != nil {
		return err
	}
	if l == &s.loose {
		s.files++
		draft := name
		name = fileName(s.files, "") + l.form.extension()
		if err := os.Rename(filepath.Join(s.dir, draft), filepath.Join(s.dir, name)); err != nil {
			return err
		}
	}
	return s.index.form.entry(s.index.file, l.sum.folder(), name)
}

func (s *splitter) finish() error {
	for _, l := range []*list{&s.folder, &s.loose} {
		if err := s.end(l); err != nil {
			return err
		}
	}
	if rest, ok := s.report.uncounted(); ok {
		if err := s.index.form.entry(s.index.file, rest, ""); err != nil {
			return err
		}
	}
	return s.index.form.endIndex(s.index.file, s.report)
}

// A file is one that is written through a buffer.
type file struct {
	f *os.File
	*bufio.Writer
}

// open makes a list's file, which is not there yet.
func (s *splitter) open(l *list, name string) error {
	f, err := os.OpenFile(filepath.Join(s.dir, name+l.form.extension()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	l.file = &file{f, bufio.NewWriterSize(f, 64<<10)}
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
