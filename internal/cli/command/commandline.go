package command

import (
	"slices"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
)

// Again writes a command for what this call is about: with the switches that this one was
// called with, as far as the other takes them, and with some more.
func (f *Factory) Again(command string, args []string, more ...string) string {
	return cmdline.Line(command, append(f.Carried(command, more), more...), args...)
}

// SourceArgument is the source as an argument; nothing if a job has it.
func (f *Factory) SourceArgument(source string) []string {
	if f.Settings.Job != "" {
		return nil
	}
	return []string{source}
}

// Carried are the switches of this call that another command takes as well, but for those
// that it is given anyway.
func (f *Factory) Carried(command string, but []string) (switches []string) {
	return f.CarriedBut(command, but, cmdline.OnlyHere)
}

// CarriedBut is carried for a command to which other switches than OnlyHere matter.
func (f *Factory) CarriedBut(command string, but, here []string) (switches []string) {
	other, _, err := f.Called.Root().Find([]string{command})
	if err != nil {
		return nil
	}
	f.Called.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(here, flag.Name) || slices.Contains(but, "--"+flag.Name) || !cmdline.Takes(other, flag.Name) {
			return
		}
		switches = append(switches, cmdline.FlagWords(flag)...)
	})
	return switches
}
