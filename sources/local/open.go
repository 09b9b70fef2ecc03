package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"assetferry/sources"
)

// Open implements sources.Source.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if offset < 0 || offset > o.Size {
		return nil, s.fail("open", o.Key, fmt.Errorf("offset %d is not between 0 and %d", offset, o.Size))
	}
	file, err := s.openFile(o)
	if err != nil {
		return nil, s.fail("open", o.Key, err)
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		file.Close()
		return nil, s.fail("open", o.Key, err)
	}
	return &reader{ctx: ctx, source: s, object: o, file: file, left: o.Size - offset}, nil
}

// openFile opens the file of an object and makes sure on the handle that it is
// the one that was listed.
func (s *Source) openFile(o sources.Object) (*os.File, error) {
	path, err := toPath(o.Key)
	if err != nil {
		return nil, err
	}
	root, err := openDirectory(os.OpenRoot, s.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// A look first: opening alone is an event for a pipe or a device.
	info, err := root.Stat(path)
	if err == nil && !isListed(info, o) {
		return nil, sources.ErrChanged
	}
	if err != nil {
		return nil, explain(root, path, err)
	}
	// A pipe may have come since then, and must not make this hang.
	file, err := root.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, explain(root, path, err)
	}
	if err := checkListed(file, o); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// explain says what an error of a file that was there once means.
func explain(root *os.Root, path string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: a file took the place of its directory", fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if info, e := root.Lstat(path); e == nil && !info.Mode().IsRegular() {
		return sources.ErrChanged
	}
	return err
}

// checkListed compares an open file with what was listed.
func checkListed(file *os.File, o sources.Object) error {
	info, err := file.Stat()
	if err == nil && !isListed(info, o) {
		err = sources.ErrChanged
	}
	return err
}

// isListed looks at what a file is known by, its size and time. Who writes over it
// and puts both back is not noticed; if that happens while it is read, a mix of both
// contents is delivered.
func isListed(info fs.FileInfo, o sources.Object) bool {
	return info.Mode().IsRegular() && info.Size() == o.Size && modified(info).Equal(o.Time)
}

// modified is when a file was last changed, or zero for a time so far off that
// nothing can be told by it: state databases count nanoseconds, from 1678 to 2262.
func modified(info fs.FileInfo) time.Time {
	t := info.ModTime().UTC()
	if y := t.Year(); y < 1678 || y >= 2262 {
		return time.Time{}
	}
	return t
}
