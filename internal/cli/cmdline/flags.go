package cmdline

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
)

// Given returns the flags that a command was called with, by name.
func Given(cmd *cobra.Command) map[string][]string {
	values := map[string][]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values[f.Name] = list.GetSlice()
		} else {
			values[f.Name] = []string{f.Value.String()}
		}
	})
	return values
}

// OnlyHere lists flags that no other call needs to do the same to the same objects: flags for the
// output, and flags that accept something once. URLs of --notify are secrets.
var OnlyHere = []string{
	"json", "quiet", "verbose", "progress", "log-file", "metrics", "notify", "notify-file", "watch", "rescan",
	"dry-run", "output", "exit-code", "probe", "restart", "yes", "accept-rules", "accept-deletes", "accept-changes", "approved-by", "hash", "approval", "approval-request", "approval-expires",
	"run", "apply", "source",
}

// FlagWords returns a flag with its value, or with each of its values.
func FlagWords(f *pflag.Flag) (words []string) {
	list, isList := f.Value.(pflag.SliceValue)
	switch {
	case isList:
		for _, value := range list.GetSlice() {
			words = append(words, WithValue(f.Name, value)...)
		}
		return words
	case f.NoOptDefVal != "" && f.Value.String() == f.NoOptDefVal:
		return []string{"--" + f.Name}
	case f.NoOptDefVal != "":
		return []string{"--" + f.Name + "=" + f.Value.String()}
	}
	return WithValue(f.Name, f.Value.String())
}

// Takes reports whether a command has a flag, its own or a global one.
func Takes(c *cobra.Command, name string) bool {
	return c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil
}

// Values lists the values of a flag with a choice.
func Values(name string) []string {
	for _, k := range config.Keys() {
		if k.Flag == name {
			return k.Values
		}
	}
	return nil
}

// Directories completes SOURCE.
func Directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// IsGlobal reports whether a flag is global.
func IsGlobal(c *cobra.Command, f *pflag.Flag) bool {
	return c.InheritedFlags().Lookup(f.Name) != nil
}

// Together refuses two flags that contradict each other.
func Together(cmd *cobra.Command, one, other, hint string) error {
	if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
		return exit.Usage(fmt.Errorf("--%s and --%s cannot be used together", one, other), hint)
	}
	return nil
}

// Setting adds the flag of a setting. The help shows the default, but the flag has none: a flag
// that is not given leaves the setting to the environment and the file.
func Setting(f *pflag.FlagSet, name, help string) {
	for _, k := range config.Keys() {
		if k.Flag != name {
			continue
		}
		if len(k.Values) > 1 {
			help = "`" + strings.Join(k.Values, "|") + "`: " + help
		}
		if k.Env != "" {
			help += " [$" + k.Env + "]"
		}
		if k.Default != "" {
			help += fmt.Sprintf(" (default %s)", k.Default)
		}
	}
	f.String(name, "", help)
}

// SingleRunFlags lists the flags of sync for a single run. A schedule must not repeat them.
var SingleRunFlags = []string{"dry-run", "restart", "limit", "retry-exhausted", "only", "repair", "accept-rules", "accept-deletes", "accept-changes",
	"approval-request", "approval-expires"}
