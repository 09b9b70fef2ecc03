package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/config"
	"assetferry/internal/wizard"
	"assetferry/state"
)

// offeredRuns is the number of runs per source that a shell offers, the newest first.
const offeredRuns = 20

// isCompletion reports whether a shell asks for completions. Only then the commands get them,
// because that takes a third of the time of a start.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// addCompletions adds completions of flags and arguments. They send no request and change nothing,
// and mistakes are silent.
func addCompletions(f *command.Factory, root *cobra.Command) {
	var each func(*cobra.Command)
	each = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if offer := offer(f, flag); offer != nil {
				// It fails only for a flag that does not exist or was registered before.
				_ = c.RegisterFlagCompletionFunc(flag.Name, offer)
			}
			_, flag.Usage = cmdline.Describe(flag) // shells show it as it is, with its back quotes
		})
		if c.ValidArgsFunction != nil && strings.Contains(c.Use, "SOURCE") {
			c.ValidArgsFunction = offerSources(f, c.ValidArgsFunction)
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(root)
	if help, _, err := root.Find([]string{"help"}); err == nil {
		offerTopics(help)
	}
}

// offer returns the completion of a flag; nil for files, which shells complete themselves.
func offer(f *command.Factory, flag *pflag.Flag) cobra.CompletionFunc {
	switch flag.Name {
	case "run":
		return func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return offerRuns(f, cmd, p1, p2)
		}
	case "to":
		return func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return offerDestinations(f, cmd, p1, p2)
		}
	case "job":
		return func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return offerJobs(f, cmd, p1, p2)
		}
	}
	if v := cmdline.Values(flag.Name); v != nil {
		return cobra.FixedCompletions(v, cobra.ShellCompDirectiveNoFileComp)
	}
	switch value, _ := pflag.UnquoteUsage(flag); value {
	case "file":
		return nil
	case "folder", "directory":
		return cmdline.Directories
	}
	return cobra.NoFileCompletions
}

// offerSources offers the remotes of rclone after "rclone:", and otherwise what folders does.
func offerSources(f *command.Factory, folders cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if !command.IsRclone(begun) || !loadQuietly(f, cmd) {
			return folders(cmd, args, begun)
		}
		names, err := f.RcloneSources(context.Background())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// offerRuns offers the runs in the state database.
func offerRuns(f *command.Factory, cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	const nothing = cobra.ShellCompDirectiveNoFileComp
	if !loadQuietly(f, cmd) {
		return nil, nothing
	}
	ctx := context.Background()
	path, err := f.StatePath(ctx)
	if err != nil || command.MustExist(path) != nil {
		return nil, nothing
	}
	store, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, nothing
	}
	defer store.Close()
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return nil, nothing
	}
	var offered []string
	for _, p := range pairs {
		runs, err := store.RunsOf(ctx, p.ID, offeredRuns)
		if err != nil {
			return nil, nothing
		}
		for _, r := range runs {
			about := fmt.Sprintf("%s, %s, %s", r.Command, r.State, r.StartedAt.Local().Format(time.DateTime))
			offered = append(offered, cobra.CompletionWithDesc(r.ID, about))
		}
	}
	return offered, nothing | cobra.ShellCompDirectiveKeepOrder
}

// offerDestinations offers the destinations in the configuration.
func offerDestinations(f *command.Factory, cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	offered := []string{wizard.Sandbox}
	if loadQuietly(f, cmd) {
		offered = append(slices.Sorted(maps.Keys(f.Settings.Destinations)), offered...)
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// loadQuietly loads the settings. It fails if they would run a program, which may ask for something
// or take long.
func loadQuietly(f *command.Factory, cmd *cobra.Command) bool {
	settings, err := config.Load(cmdline.Given(cmd), f.Lookup)
	if err != nil {
		return false
	}
	f.Settings = settings
	d, err := settings.Destination()
	return err != nil || !d.Environment.IsCommand()
}

// offerTopics completes the arguments of help: commands and topics.
func offerTopics(help *cobra.Command) {
	commands := help.ValidArgsFunction
	help.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		offered, directive := commands(cmd, args, begun)
		for _, c := range cmd.Root().Commands() {
			if name := c.Annotations[topic]; len(args) == 0 && name != "" && strings.HasPrefix(name, begun) {
				offered = append(offered, cobra.CompletionWithDesc(name, c.Short))
			}
		}
		return offered, directive
	}
}
