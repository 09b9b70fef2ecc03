package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/shell"
)

// A command is a program that reads an object from stdin. Its exit code is the answer: 0 accepts
// it, 1 refuses it, and all others are errors. The first line that it prints is the reason.
type command struct{ argv []string }

// newCommand returns the program of a command line, which is split into words like in a shell.
func newCommand(line string) (*command, error) {
	argv, err := shell.Split(line)
	if err != nil {
		return nil, err
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("names no program")
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, err
	}
	return &command{argv}, nil
}

func (c *command) scan(ctx context.Context, o Object, content *meter) error {
	var printed, complained limited
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env = environment(os.Environ(), o)
	cmd.Stdout, cmd.Stderr = &printed, &complained
	cmd.WaitDelay = time.Second // a process that it leaves behind may keep its output open
	isolate(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, stdin.Close())
	}
	defer context.AfterFunc(ctx, func() { _ = stdin.Close() })() // a write that blocks
	_, _ = content.WriteTo(stdin)                                // a program may decide early and read no more
	_ = stdin.Close()
	err = cmd.Wait()
	exit, ended := errors.AsType[*exec.ExitError](err)
	said := strings.TrimSuffix(strings.TrimPrefix(cmp.Or(oneLine(printed.kept), oneLine(complained.kept)), "stream: "), " FOUND") // of clamdscan
	switch {
	case err == nil:
		return nil
	case ended && exit.ExitCode() == 1:
		return &RefusedError{cmp.Or(said, "no reason given")}
	case said != "":
		return fmt.Errorf("%w: %s", err, cmp.Or(oneLine(complained.kept), said))
	}
	return err
}

// passed are the variables that a scanner gets, besides those of the object. All others stay here,
// because any of them may hold a key.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP",
	"SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
}

func environment(environ []string, o Object) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains(passed, strings.ToUpper(name))
	})
	return append(kept, "SCAN_KEY="+o.Key, "SCAN_SIZE="+strconv.FormatInt(o.Size, 10))
}

// limited keeps the beginning of an output and discards the rest.
type limited struct{ kept []byte }

const maxOutput = 4 << 10

func (l *limited) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p[:min(len(p), maxOutput-len(l.kept))]...)
	return len(p), nil
}
