// Package schedule writes a systemd service and timer, or a cron line, for a daily sync. A Job is the
// sync with its requirements and the steps to prepare it. A Task is its form for systemd and cron,
// with the quoting of each.
package schedule

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Task is a command with its time and its requirements.
type Task struct {
	Name    string   // of the units, without extensions
	About   string   // description
	Command []string // a program by its path, and its arguments

	Hour, Minute int
	Limit        time.Duration // maximum duration

	Folder      string       // working directory; empty: any
	Environment []Variable   // public variables
	SecretFile  string       // file with secret variables; empty: none
	Credentials []Credential // for systemd only
	Log         string       // file for the output, for cron

	Read    []string // paths that it reads, without the program
	Written []string // folders that it writes to
	Helpers bool     // it starts unknown programs
	Large   bool     // they hold whole listings in memory

	Account string // user; empty: the owner of the user units
}

// A Variable is an environment variable.
type Variable struct{ Name, Value string }

// A Credential is a file with a secret. systemd passes it as another file that only the service can
// read.
type Credential struct {
	ID       string // file name in the folder of credentials
	File     string // path of the secret
	Variable string // environment variable with the path for the program
}

// check refuses texts that neither systemd nor cron accepts.
func (t Task) check() error {
	texts := slices.Concat(t.Command, t.Read, t.Written, []string{t.About, t.Folder, t.SecretFile, t.Log, t.Account})
	for _, c := range t.Credentials {
		texts = append(texts, c.File)
	}
	for _, v := range t.Environment {
		texts = append(texts, v.Value)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return &UnwritableError{Text: text, Why: "it contains a control character or is not UTF-8"}
		}
	}
	return nil
}

// An UnwritableError reports a text that a unit or a crontab cannot contain.
type UnwritableError struct {
	Text string // empty: the whole command
	Why  string
	Try  string // the next step; empty: another name
}

func (e *UnwritableError) Error() string {
	if e.Text == "" {
		return "cannot schedule the command: " + e.Why
	}
	return fmt.Sprintf("cannot schedule a command with %q: %s", e.Text, e.Why)
}

// Hint returns the next step.
func (e *UnwritableError) Hint() string { return cmp.Or(e.Try, "rename it or use a symbolic link") }

// needs returns all paths that must exist.
func (t Task) needs() []string {
	return slices.Concat(t.Command[:1], t.Read, t.Written, []string{t.Folder})
}

// needsBelow reports whether a required path is in one of these folders.
func (t Task) needsBelow(folders ...string) bool {
	return slices.ContainsFunc(t.needs(), func(path string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return isBelow(path, folder) })
	})
}

func isBelow(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rest)
}
