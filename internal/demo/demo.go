// Package demo runs the program on a generated library and a sandbox. Code generates the files,
// with the same bytes on every machine.
//
// The library resembles real ones: photos with metadata, documents, logos, and a few difficult
// files, such as names that differ only in case.
package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Summary counts the files that were written.
type Summary struct {
	Files int
	Bytes int64
	Notes []string // files that this file system does not allow
}

// A file is one file of the library.
type file struct {
	name    string // with slashes
	time    time.Time
	content func() ([]byte, error)
	small   func() ([]byte, error) // the same photo with fewer pixels; nil for other files

	// caseVariant means that another file has a name that differs only in case. Many file systems
	// cannot store both.
	caseVariant bool
}

// WriteLibrary writes the library into dir, and creates dir if necessary. It overwrites nothing.
func WriteLibrary(dir string) (Summary, error) {
	l, err := MakeLibrary()
	if err != nil {
		return Summary{}, err
	}
	return l.Write(dir)
}

// A Library is the generated library in memory, about 10 MB.
type Library struct {
	files    []file
	contents [][]byte // in the order of files
}

// MakeLibrary generates all files in memory.
func MakeLibrary() (Library, error) { return makeLibrary(library()) }

// MakeSmallLibrary generates photos with a sixteenth of the pixels, for tests of other things.
func MakeSmallLibrary() (Library, error) {
	files := library()
	for i, f := range files {
		if f.small != nil {
			files[i].content = f.small
		}
	}
	return makeLibrary(files)
}

func makeLibrary(files []file) (Library, error) {
	contents, err := makeAll(files)
	return Library{files, contents}, err
}

// Write writes the library into dir, as [WriteLibrary] does.
func (l Library) Write(dir string) (Summary, error) {
	var s Summary
	for i, f := range l.files {
		err := f.write(dir, l.contents[i])
		if f.caseVariant && errors.Is(err, fs.ErrExist) {
			s.Notes = append(s.Notes, f.name+" is not written: this file system ignores case")
			continue
		}
		if err != nil {
			return s, fmt.Errorf("demo library: %w", err)
		}
		s.Files++
		s.Bytes += int64(len(l.contents[i]))
	}
	return s, nil
}

// makeAll generates the contents of all files, on all processors.
func makeAll(files []file) ([][]byte, error) {
	contents := make([][]byte, len(files))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range files {
		group.Go(func() error {
			content, err := f.content()
			if err != nil {
				return fmt.Errorf("demo library: %s: %w", f.name, err)
			}
			contents[i] = content
			return nil
		})
	}
	return contents, group.Wait()
}

func (f file) write(dir string, content []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(f.name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.Chtimes(path, f.time, f.time)
}
