package rclone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ConfigFile returns the path of the configuration that rclone uses, whether it exists or not. It is
// empty if the configuration is in memory only. It needs no password.
func ConfigFile(ctx context.Context, program Program, environ []string) (string, error) {
	out, err := output(ctx, versionTimeout, program.Path, environ, "config", "file", "--ask-password=false")
	if err != nil {
		return "", err
	}
	// The path is the last line, behind a sentence.
	lines := strings.Split(strings.TrimSpace(out), "\n")
	path := strings.TrimSpace(lines[len(lines)-1])
	if !filepath.IsAbs(path) {
		return "", nil
	}
	return path, nil
}

// RemoteNames returns the names of the remotes in the configuration of the rclone at path, or of the
// first in PATH. It starts no server.
func RemoteNames(ctx context.Context, path string, environ []string) ([]string, error) {
	out, err := output(ctx, versionTimeout, cmp.Or(path, "rclone"), environ, "listremotes", "--ask-password=false")
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.FieldsFuncSeq(out, func(r rune) bool { return r == '\n' || r == '\r' }) {
		names = append(names, strings.TrimSuffix(name, ":"))
	}
	return names, nil
}

// A ConfigError means that rclone cannot store a renewed token in its configuration.
type ConfigError struct {
	Path string
	Err  error
	Try  string
}

func (e *ConfigError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ConfigError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *ConfigError) Hint() string { return e.Try }

// CheckWritable returns a *ConfigError if rclone could not replace its configuration at path. Storages
// that renew their tokens need this: the former token is often invalid then. A missing file is an
// fs.ErrNotExist.
func CheckWritable(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // rclone replaces the file behind a link
	}
	if err := checkReplaceable(path); err != nil {
		return &ConfigError{path, unwrapPath(err), "make the file writable for this account, or set RCLONE_CONFIG to a copy of it that is"}
	}
	dir := filepath.Dir(path)
	draft, err := os.CreateTemp(dir, filepath.Base(path)+".assetferry-*")
	if err != nil {
		return &ConfigError{path, fmt.Errorf("rclone replaces the file, but the folder is not writable: %w", unwrapPath(err)), "make the folder " + dir + " writable for this account, or set RCLONE_CONFIG to a copy in another folder"}
	}
	return errors.Join(draft.Close(), os.Remove(draft.Name()))
}

// checkReplaceable returns an error if a file cannot be replaced, whatever the permissions of its
// folder: it is locked, for example. That it is read-only does not matter, as rclone does not write into it.
func checkReplaceable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, syscall.EACCES) {
		f, err = os.Open(path)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func unwrapPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
