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
	if err := o.CheckOffset(offset); err != nil {
		return nil, s.fail("open", o.Key, err)
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

// Find returns an object without a listing, or fs.ErrNotExist. It does not check what is excluded from
// the source.
func (s *Source) Find(ctx context.Context, key sources.Key) (sources.Object, error) {
	if ctx.Err() != nil {
		return sources.Object{}, context.Cause(ctx)
	}
	o, err := s.find(key)
	if err != nil {
		return sources.Object{}, s.fail("look at", key, err)
	}
	return o, nil
}

func (s *Source) find(key sources.Key) (sources.Object, error) {
	path, err := toPath(key)
	if err != nil {
		return sources.Object{}, err
	}
	root, err := openDirectory(os.OpenRoot, s.root)
	if err != nil {
		return sources.Object{}, err
	}
	defer root.Close()
	look := root.Lstat
	if s.follow {
		look = root.Stat
	}
	info, err := look(path)
	switch {
	case err != nil:
		return sources.Object{}, explain(root, path, err)
	case !info.Mode().IsRegular():
		return sources.Object{Key: key, Obstacle: sources.Special}, nil
	}
	return sources.Object{Key: key, Size: info.Size(), Time: modified(info)}, nil
}

// openFile opens the file of an object, and checks on the handle that it is the listed one.
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
	// Stat first, because opening a pipe or a device has side effects.
	info, err := root.Stat(path)
	if err == nil && !isListed(info, o) {
		return nil, sources.ErrChanged
	}
	if err != nil {
		return nil, explain(root, path, err)
	}
	// A pipe may have been created since then, and must not block.
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

// explain converts an error of a file that was listed.
func explain(root *os.Root, path string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: its directory is now a file", fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if info, e := root.Lstat(path); e == nil && !info.Mode().IsRegular() {
		return sources.ErrChanged
	}
	return err
}

// checkListed compares an open file with the listed object.
func checkListed(file *os.File, o sources.Object) error {
	info, err := file.Stat()
	if err == nil && !isListed(info, o) {
		err = sources.ErrChanged
	}
	return err
}

// isListed compares size and time. It does not detect a write that restores both. If that happens
// during reading, the reader delivers a mix of both contents.
func isListed(info fs.FileInfo, o sources.Object) bool {
	return info.Mode().IsRegular() && info.Size() == o.Size && modified(info).Equal(o.Time)
}

// modified returns the time of the last change, or zero outside the range of state databases, which
// count nanoseconds from 1678 to 2262.
func modified(info fs.FileInfo) time.Time {
	t := info.ModTime().UTC()
	if y := t.Year(); y < 1678 || y >= 2262 {
		return time.Time{}
	}
	return t
}
