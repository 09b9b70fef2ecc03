// Package rclone runs the user's own rclone as a child process, and calls its API.
//
// One rclone runs per command, with rcd --rc-serve, on a Unix socket in a folder that only this
// account can open. Where rclone or the system has no such sockets, it listens on a port of the
// loopback interface and demands a random password. It ends with this process in every case. The
// package starts, calls and ends no other rclone.
package rclone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"assetferry/internal/pattern"
)

// Oldest is the oldest version that can be used: earlier ones lack parts of the API.
var Oldest = Version{Major: 1, Minor: 60}

// firstWithSockets is the first version that listens on Unix sockets.
var firstWithSockets = Version{Major: 1, Minor: 61}

// A Version is a version of rclone.
type Version struct {
	Major, Minor, Patch int
	Suffix              string // such as "-DEV" or "-beta.8456.0a1b2c3d4"
}

func (v Version) String() string {
	return fmt.Sprintf("%d.%d.%d%s", v.Major, v.Minor, v.Patch, v.Suffix)
}

// Before reports whether v is older than other. The suffix does not count: a beta of a version has
// the API of that version.
func (v Version) Before(other Version) bool {
	return cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor), cmp.Compare(v.Patch, other.Patch)) < 0
}

// A Program is an installed rclone.
type Program struct {
	Path    string // absolute
	Version Version
}

// A ProgramError reports an rclone that is missing, too old or broken.
type ProgramError struct {
	Path string // as given, or "" if none was given
	Err  error
	Try  string
}

func (e *ProgramError) Error() string {
	return cmp.Or(e.Path, "rclone") + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *ProgramError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *ProgramError) Hint() string { return e.Try }

const (
	hintInstall = "install rclone (https://rclone.org/install/), or name the program with --rclone FILE"
	hintUpdate  = "install a newer rclone (https://rclone.org/install/), and name it with --rclone FILE if it is not the first in PATH"
)

// errTooOld means that rclone lacks parts of the API.
var errTooOld = errors.New("too old")

// Find returns the rclone at path, or the first in PATH if path is empty. It runs the program with
// environ to learn its version.
func Find(ctx context.Context, path string, environ []string) (Program, error) {
	name := cmp.Or(path, "rclone")
	found, err := exec.LookPath(name)
	if err != nil {
		if e, ok := errors.AsType[*exec.Error](err); ok {
			err = e.Err
		}
		return Program{}, &ProgramError{path, err, hintInstall}
	}
	if found, err = filepath.Abs(found); err != nil {
		return Program{}, &ProgramError{path, err, hintInstall}
	}
	if confined(found) {
		return Program{}, &ProgramError{found, errors.New("a snap package cannot share a private folder with assetferry"), hintInstall}
	}
	v, err := versionOf(ctx, found, environ)
	if err != nil {
		return Program{}, &ProgramError{found, err, "check the program:\n  " + found + " version"}
	}
	if v.Before(Oldest) {
		return Program{}, &ProgramError{found, fmt.Errorf("version %s is %w: at least %d.%d is needed", v, errTooOld, Oldest.Major, Oldest.Minor), hintUpdate}
	}
	return Program{found, v}, nil
}

// confined reports whether a program is a snap package. Its file system is not ours, and the system
// does not end it together with its parent.
func confined(path string) bool {
	target, err := filepath.EvalSymlinks(path)
	return err == nil && filepath.Base(target) == "snap"
}

// versionTimeout is long enough for a program on a slow network file system.
const versionTimeout = 30 * time.Second

func versionOf(ctx context.Context, path string, environ []string) (Version, error) {
	out, err := output(ctx, versionTimeout, path, environ, "version")
	if err != nil {
		return Version{}, err
	}
	return ParseVersion(out)
}

// output runs a short command of rclone and returns what it prints.
func output(ctx context.Context, limit time.Duration, path string, environ []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, _ = childEnvironment(environ)
	cmd.WaitDelay = time.Second // a grandchild may keep the pipe open
	out, err := cmd.Output()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return "", fmt.Errorf("%s: %w", args[0], err)
	}
	return string(out), nil
}

var versionLine = pattern.Lazy(`(?m)^rclone v(\d+)\.(\d+)(?:\.(\d+))?(\S*)`)

// ParseVersion returns the version in the output of rclone version.
func ParseVersion(output string) (Version, error) {
	m := versionLine().FindStringSubmatch(output)
	if m == nil {
		return Version{}, errors.New("it does not print a version of rclone")
	}
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // digits, or nothing
		return n
	}
	return Version{number(m[1]), number(m[2]), number(m[3]), m[4]}, nil
}
