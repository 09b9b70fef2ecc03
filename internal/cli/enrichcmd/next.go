package enrichcmd

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
)

// printNext prints the command to run next. It keeps the global flags of this call, and --to.
func printNext(f *command.Factory, command string, args []string, more ...string) {
	f.Out.Next("", cmdline.Line(command, append(keptFlags(f, false, more), more...), args...))
}

// printRepeat prints this call with other flags as the command to run next.
func printRepeat(f *command.Factory, more ...string) {
	command := strings.TrimPrefix(f.Command, "assetferry ")
	f.Out.Next("", cmdline.Line(command, append(keptFlags(f, true, more), more...), f.Called.Flags().Args()...))
}

// keptFlags returns the flags of this call for the next command, without those in but.
func keptFlags(f *command.Factory, local bool, but []string) (words []string) {
	f.Called.Flags().Visit(func(flag *pflag.Flag) {
		isKept := local || flag.Name == "to" || cmdline.IsGlobal(f.Called, flag)
		if isKept && !slices.Contains(cmdline.OnlyHere, flag.Name) && !slices.Contains(but, "--"+flag.Name) {
			words = append(words, cmdline.FlagWords(flag)...)
		}
	})
	return words
}
