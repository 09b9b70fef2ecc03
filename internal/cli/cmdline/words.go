package cmdline

import (
	"slices"
	"strings"

	"assetferry/internal/shell"
	"assetferry/internal/ui"
)

// Line returns a command line for the shell. Arguments that begin with a dash come last, after two
// dashes.
func Line(command string, switches []string, args ...string) string {
	words := strings.Fields(command)
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		words = slices.Concat(words, switches, []string{"--"}, args)
	} else {
		words = slices.Concat(words, args, switches)
	}
	for n, word := range words {
		words[n] = shell.Word(word)
	}
	return ProgramName() + " " + ui.Sanitize(strings.Join(words, " "))
}

// WithValue returns a flag with its value.
func WithValue(name, value string) []string {
	if strings.HasPrefix(value, "-") {
		return []string{"--" + name + "=" + value}
	}
	return []string{"--" + name, value}
}
