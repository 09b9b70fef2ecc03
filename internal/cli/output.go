package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"assetferry/internal/config"
	"assetferry/internal/ui"
)

// writeOutput writes what --output names: a file, which is there as a whole or not at all
// and replaces one of that name, or stdout for nothing and for "-".
func (a *app) writeOutput(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		if a.out.JSON() {
			return usage(errors.New("--json and the output both want stdout"), "name a file with --output")
		}
		return buffered(a.stdout, write)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return usage(fmt.Errorf("--output %s is a folder", ui.Sanitize(path)), "name a file in it")
	case err == nil && !info.Mode().IsRegular(): // a pipe or a device, which must stay what it is
		return writeInto(path, write)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	return writeNew(path, true, func(w io.Writer) error { return buffered(w, write) })
}

// apartFrom refuses an output that would replace a file of a source, or a table that is one.
func apartFrom(path, source string) error {
	if table, is := config.TableOf(source); is {
		source = table
	}
	if path == "" || path == "-" || !filepath.IsAbs(source) {
		return nil
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return nil // there is nothing to be replaced
	}
	if rest, err := filepath.Rel(source, full); err != nil || !filepath.IsLocal(rest) {
		return nil
	}
	return usage(fmt.Errorf("--output %s is a file of the source", ui.Sanitize(path)), "name a file that is not among those that were brought over")
}

func writeInto(path string, write func(io.Writer) error) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return buffered(f, write)
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 64<<10)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// writeFolder writes a folder of files, which is there as a whole or not at all. It must
// not be there already, unless it is empty.
func writeFolder(path string, write func(dir string) error) (err error) {
	path = filepath.Clean(path)
	if err := mustBeFree(path); err != nil {
		return err
	}
	draft := filepath.Join(filepath.Dir(path), draftName(path))
	if err := os.Mkdir(draft, 0o777); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }() // nothing once it is renamed
	if err := write(draft); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(draft, path)
}

func mustBeFree(path string) error {
	there, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return with(exitError, fmt.Errorf("%s is there already and is no folder", ui.Sanitize(path)), "name another one")
	case len(there) > 0:
		return with(exitError, fmt.Errorf("%s is there already and not empty", ui.Sanitize(path)), "name a new folder: nothing in it would be overwritten")
	}
	return nil
}
