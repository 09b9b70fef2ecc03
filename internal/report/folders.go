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

// FolderOf returns the top-level folder of a key, empty if it is in none.
func FolderOf(key string) string {
	folder, _, inside := strings.Cut(key, "/")
	if !inside {
		return ""
	}
	return folder
}

// uncounted returns a row for the unchanged objects whose folders are unknown, so that all rows
// add up to the results of the run.
func (r Report) uncounted() (Folder, bool) {
	a := Amount{r.lists.run.Unchanged, r.lists.run.UnchangedBytes}
	p := newParts()
	p.add(unchanged, a)
	return Folder{Counted: true, Listed: a, States: p.list()}, !r.lists.knowsUnchanged && !r.lists.isPruned() && a.Objects > 0
}

// sum returns the listed objects of a folder, followed by their states.
func (f Folder) sum() []Part { return append([]Part{{State: "listed", Amount: f.Listed}}, f.States...) }

// title returns the name of a folder, or what its row stands for. The name is not escaped.
func (f Folder) title() string {
	switch {
	case f.Counted:
		return "(unchanged objects in all folders)"
	case f.Name == "":
		return "(not in a folder)"
	}
	return f.Name
}

// Folders counts the objects in each top-level folder of the source, those outside of folders
// last. The rows add up to the results of the run.
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
			sum.parts.add(StateOf(f.Action, f.State), Amount{1, f.Size})
		}
		if !inside.pass(yield) || !loose.pass(yield) {
			return
		}
		if rest, ok := r.uncounted(); ok {
			yield(rest, nil)
		}
	}
}

// A folderSum counts a folder while it is read.
type folderSum struct {
	name  string
	parts parts
}

func newFolderSum(name string) folderSum { return folderSum{name, newParts()} }

func (s folderSum) folder() Folder {
	return Folder{Name: s.name, Listed: s.parts.total(), States: s.parts.list()}
}

// enter begins a folder, after passing on the one before.
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

// pass passes a folder on, unless it is empty.
func (s folderSum) pass(yield func(Folder, error) bool) bool {
	return len(s.parts) == 0 || yield(s.folder(), nil)
}

// WriteFolders writes the counts of all top-level folders.
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

// SplitByFolder writes a list for each top-level folder of the source into a directory, which must
// exist and be empty, and an index with their counts. It returns the errors of WriteList.
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
			err = cmp.Or(err, l.file.close()) // the first error is the cause
		}
	}
	if err != nil {
		return err
	}
	return r.incomplete(c, s.folder.form, s.loose.form)
}

// A splitter writes a list for each folder. At the same time it writes one of the objects outside
// of folders, whose keys come between those of the folders.
type splitter struct {
	report               Report
	dir                  string
	files                int
	index, folder, loose list
}

// A list is being written; file is nil if none is.
type list struct {
	form form
	file *file
	sum  folderSum
}

// looseDraft is the name of the list of objects outside of folders, until the number of lists
// before it is known.
const looseDraft = "outside_of_folders"

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

// listOf returns the list of a folder, and begins it if it is new.
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

// end ends a list, if there is one, and adds it to the index.
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

// A file is written through a buffer.
type file struct {
	f *os.File
	*bufio.Writer
}

// open creates the file of a list, which must not exist.
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

// maxFileName bounds the part of a file name that comes from the folder.
const maxFileName = 60

// fileName returns the file name for a folder. The number makes names unique and avoids names that
// an operating system reserves. Characters other than letters, digits, - and . become _.
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
		b.WriteString(looseDraft)
	}
	return fmt.Sprintf("%04d-%s", n, b.String())
}
