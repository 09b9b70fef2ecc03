package command

import (
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/shell"
	"assetferry/state/actionlog"
)

// Again returns another command line about the same thing: with the flags of this call that the
// other command takes, and with more flags.
func (f *Factory) Again(command string, args []string, more ...string) string {
	return cmdline.Line(command, append(f.Carried(command, more), more...), args...)
}

// SourceArgument returns the source as an argument; nothing if a job names it.
func (f *Factory) SourceArgument(source string) []string {
	if f.Settings.Job != "" {
		return nil
	}
	return []string{source}
}

// Carried returns the flags of this call that another command takes too, except for the given ones.
func (f *Factory) Carried(command string, but []string) (flags []string) {
	return f.CarriedBut(command, but, cmdline.OnlyHere)
}

// CarriedBut is Carried with a list of flags to omit other than OnlyHere.
func (f *Factory) CarriedBut(command string, but, here []string) (flags []string) {
	other, _, err := f.Called.Root().Find(strings.Fields(command))
	if err != nil {
		return nil
	}
	f.Called.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(here, flag.Name) || slices.Contains(but, "--"+flag.Name) || !cmdline.Takes(other, flag.Name) {
			return
		}
		flags = append(flags, cmdline.FlagWords(flag)...)
	})
	return flags
}

// actor returns this call for the action log: its command line without secrets and keys of objects,
// and the flags that pass a safety check or a question.
func (f *Factory) actor(args []string) actionlog.Actor {
	a := actionlog.Actor{Version: cmdline.Version(), Config: f.Settings.FileChecksum()}
	words := strings.Fields(strings.TrimPrefix(f.Command, "assetferry "))
	f.Called.Flags().Visit(func(flag *pflag.Flag) {
		given := cmdline.FlagWords(flag)
		switch {
		case isOverride(flag.Name):
			a.Overrides = append(a.Overrides, f.loggedLine(given))
		case slices.Contains([]string{"notify", "include", "exclude", "sentinel", "scan-command"}, flag.Name): // secrets, and names of objects
			given = []string{"--" + flag.Name, hidden}
		}
		words = append(words, given...)
	})
	for _, arg := range args {
		if strings.Contains(f.Called.Use, "KEY") {
			arg = hidden
		}
		words = append(words, arg)
	}
	a.Command = f.loggedLine(words)
	return a
}

// hidden replaces words of a command line that the action log must not contain.
const hidden = "…"

// maxLogged is the maximum length of a command line in the action log in bytes.
const maxLogged = 4096

// loggedLine quotes words for a shell, without secrets.
func (f *Factory) loggedLine(words []string) string {
	quoted := make([]string, len(words))
	for n, w := range words {
		if w = withoutCredentials(w); w != hidden {
			w = shell.Word(w)
		}
		quoted[n] = w
	}
	line := f.Redactor.Text(strings.Join(quoted, " "))
	if len(line) > maxLogged {
		line = strings.ToValidUTF8(line[:maxLogged], "") + hidden
	}
	return line
}

// withoutCredentials removes the user and the query from a URL, and the options of a remote of
// rclone.
func withoutCredentials(word string) string {
	if strings.HasPrefix(word, "rclone:") && strings.Contains(word, "=") {
		return "rclone:" + hidden
	}
	if !strings.Contains(word, "://") {
		return word
	}
	name := ""
	if before, after, found := strings.Cut(word, "="); found && strings.HasPrefix(word, "--") {
		name, word = before+"=", after
	}
	u, err := url.Parse(word)
	if err != nil {
		return name + hidden
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return name + u.String()
}

// isOverride reports whether a flag passes a safety check, a question or an unfinished run.
func isOverride(name string) bool {
	return strings.HasPrefix(name, "accept-") || name == "yes" || name == "restart"
}
