package command

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/ui"
)

// WriteOutput writes the file of --output completely or not at all, and replaces an existing one.
// Without a name, or with "-", it writes to stdout.
func (f *Factory) WriteOutput(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		if f.Out.JSON() {
			return exit.Usage(errors.New("--json and the output both write to stdout"), "name a file with --output")
		}
		return buffered(f.Stdout, write)
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return exit.Usage(fmt.Errorf("--output %s is a folder", ui.Sanitize(path)), "name a file in it")
	case err == nil && !info.Mode().IsRegular(): // keeps a pipe or a device
		return writeInto(path, write)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // keeps a link
	}
	return WriteNew(path, true, func(w io.Writer) error { return buffered(w, write) })
}

// ApartFrom refuses an output that would replace a file of a source, or a table that is a source.
func ApartFrom(path, source string) error {
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
		return nil // nothing to replace
	}
	if rest, err := filepath.Rel(source, full); err != nil || !filepath.IsLocal(rest) {
		return nil
	}
	return exit.Usage(fmt.Errorf("--output %s is a file of the source", ui.Sanitize(path)), "name a file outside the source")
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

// WriteFolder writes a folder of files completely or not at all. The folder must not exist, or must
// be empty.
func WriteFolder(path string, write func(dir string) error) (err error) {
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
		return exit.With(exit.CodeError, fmt.Errorf("%s exists and is not a folder", ui.Sanitize(path)), "name another folder")
	case len(there) > 0:
		return exit.With(exit.CodeError, fmt.Errorf("%s exists and is not empty", ui.Sanitize(path)), "name a new or empty folder")
	}
	return nil
}

// WriteNew writes a file completely or not at all. It replaces an existing file only if force is
// set.
func WriteNew(path string, force bool, write func(io.Writer) error) (err error) {
	taken := exit.With(exit.CodeError, fmt.Errorf("%s exists", path), "name another file, or overwrite it with --force")
	if _, err := os.Lstat(path); err == nil && !force {
		return taken // before a useless download
	}
	if err := HasFolder(path); err != nil {
		return err
	}
	name := filepath.Join(filepath.Dir(path), draftName(path))
	draft, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.Remove(draft.Name()); !errors.Is(rerr, fs.ErrNotExist) { // renamed
			err = errors.Join(err, rerr)
		}
	}()
	err = write(draft)
	if err == nil {
		err = draft.Sync()
	}
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(draft.Name(), path)
	}
	// Unlike a rename, a link never replaces a file of another process.
	err = os.Link(draft.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return taken
	}
	if err != nil { // some file systems have no links
		if _, err := os.Lstat(path); err == nil {
			return taken
		}
		return os.Rename(draft.Name(), path)
	}
	return nil
}

// draftName is the name of a file until it is complete, cut to the length that file systems allow.
func draftName(path string) string {
	const most = 200
	base := filepath.Base(path)
	if len(base) > most {
		base = strings.ToValidUTF8(base[:most], "")
	}
	return "." + base + "-" + rand.Text()
}

// HasFolder checks that the folder of a file exists.
func HasFolder(path string) error {
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return exit.With(exit.CodeError, fmt.Errorf("the folder %s for %s does not exist", folder, filepath.Base(path)), "create the folder, or name another file")
	}
	return nil
}

// MayReplaceWith refuses to write a file of one kind over a file of another kind.
func MayReplaceWith(name, flag, kind string, is func(io.Reader) (bool, error)) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return exit.Usage(fmt.Errorf("--%s: %w", flag, err), "name another file with --"+flag)
	}
	defer f.Close()
	isKind, err := is(f)
	if err != nil {
		return exit.Usage(fmt.Errorf("--%s %s: %w", flag, ui.Sanitize(name), err), "name another file with --"+flag)
	}
	if !isKind {
		return exit.Usage(fmt.Errorf("--%s %s exists and is not %s", flag, ui.Sanitize(name), kind), "name another file: a file of another kind is never replaced")
	}
	return nil
}
