package command

import (
	"slices"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
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
	other, _, err := f.Called.Root().Find([]string{command})
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
