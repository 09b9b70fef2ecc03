// Package schedule has our sync started every day: as a service and a timer of systemd, or as
// a line of cron. A Job is what is started, with what it needs and what has to be seen to
// before; a Task is that for systemd and cron, which knows what each of them makes of a text.
package schedule

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Task is what is started, when, and what it needs.
type Task struct {
	Name    string   // of the units, without their endings
	About   string   // what it does, for people
	Command []string // a program by its path, and its arguments

	Hour, Minute int
	Limit        time.Duration // after which it is ended

	Folder      string       // that it is started in; empty: any
	Environment []Variable   // none of them secret
	SecretFile  string       // a file with further variables; empty: there are none
	Credentials []Credential // for systemd only
	Log         string       // a file for what it prints, of cron

	Read    []string // what it reads besides its program
	Written []string // folders that it writes to
	Helpers bool     // it starts programs that we know nothing of

	Account string // that it runs as; empty: the one whose own services these are
}

// A Variable is one of the environment.
type Variable struct{ Name, Value string }

// A Credential is a file with a secret that systemd reads and passes on as another file,
// which only the service can read.
type Credential struct {
	ID       string // its name in the folder of credentials
	File     string // where it comes from
	Variable string // names the file to the program
}

// check refuses what neither systemd nor cron can be told.
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
			return &UnwritableError{text, "it has a control character, or is not UTF-8"}
		}
	}
	return nil
}

// An UnwritableError tells of a text that cannot stand in a unit or a crontab.
type UnwritableError struct{ Text, Why string }

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("%q can be told to nobody: %s", e.Text, e.Why)
}

// needs lists all paths that have to be there as they are now.
func (t Task) needs() []string {
	return slices.Concat(t.Command[:1], t.Read, t.Written, []string{t.Folder})
}

// needsBelow reports whether anything that is needed is in one of these folders.
func (t Task) needsBelow(folders ...string) bool {
	return slices.ContainsFunc(t.needs(), func(path string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return isBelow(path, folder) })
	})
}

func isBelow(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rest)
}
