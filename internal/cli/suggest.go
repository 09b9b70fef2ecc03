package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/strictyaml"
)

// didYouMean suggests one of several names in place of one that does not exist; it is empty if
// none is similar. A name that begins like the mistyped one wins.
func didYouMean(typed string, names []string) string {
	for _, name := range names {
		if len(typed) > 1 && strings.HasPrefix(name, typed) {
			return fmt.Sprintf("; did you mean %q?", name)
		}
	}
	return strictyaml.Suggestion(typed, names)
}

// namesBelow lists the commands below one, and the topics below the root.
func namesBelow(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if name := sub.Annotations[topic]; name != "" {
			names = append(names, name)
		} else if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	return names
}

// suggestFlag suggests a flag of a command in place of one that it does not have.
func suggestFlag(c *cobra.Command, typed string) string {
	var names []string
	for _, set := range []*pflag.FlagSet{c.NonInheritedFlags(), c.InheritedFlags()} {
		for _, f := range cmdline.Visible(set) {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return strings.Replace(didYouMean(strings.TrimLeft(typed, "-"), names), `"`, `"--`, 1)
}
