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
// none is similar.
func didYouMean(typed string, names []string) string {
	return question("", closest(typed, names))
}

// closest returns the name that is most similar to a mistyped one, or "". A name that begins like
// the mistyped one wins.
func closest(typed string, names []string) string {
	for _, name := range names {
		if len(typed) > 1 && strings.HasPrefix(name, typed) {
			return name
		}
	}
	return strictyaml.Closest(typed, names)
}

// question suggests a name, if there is one, with a prefix.
func question(prefix, name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", prefix+name)
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
	return question("--", closest(strings.TrimLeft(typed, "-"), names)) // equal dashes are no similarity
}
