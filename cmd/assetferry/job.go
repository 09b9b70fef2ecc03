package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"assetferry/internal/config"
)

// sourceOrJob takes SOURCE, which may be left out where a job has it.
func sourceOrJob(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("job") {
		return atMostOne("SOURCE")(cmd, args)
	}
	if len(args) == 0 {
		return usage(fmt.Errorf("%s: SOURCE is missing", cmd.Name()), "name it, or a job of the configuration with --job; "+cmd.CommandPath()+" --help shows how")
	}
	return one("SOURCE")(cmd, args)
}

// sourceWork is what a command does about a source.
type sourceWork func(ctx context.Context, cmd *cobra.Command, source string) error

// doSource wraps a command's work, as do does, for one that takes SOURCE or a job.
func (a *app) doSource(w sourceWork) func(*cobra.Command, []string) error {
	return a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		source, err := a.sourceOf(args)
		if err != nil {
			return err
		}
		return w(ctx, cmd, source)
	})
}

// sourceOf is the source that a command is about: its argument, or that of its job. Both
// are taken only where they are the same one: settings of a job that are used for another
// source are a mistake, and what it may trash there is not what somebody meant.
func (a *app) sourceOf(args []string) (string, error) {
	of := a.settings.Source
	switch {
	case len(args) == 0:
		return of, nil
	case a.settings.Job == "" || sameSource(args[0], of):
		return args[0], nil
	}
	return "", usage(fmt.Errorf("SOURCE is not the source of job %q", a.settings.Job), "leave out SOURCE or --job")
}

func sameSource(one, other string) bool {
	if isTable(one) && isTable(other) {
		one, errOne := tableName(one)
		other, errOther := tableName(other)
		return errOne == nil && errOther == nil && one == other
	}
	if config.IsAddress(one) || config.IsAddress(other) {
		return one == other
	}
	one, errOne := filepath.Abs(one)
	other, errOther := filepath.Abs(other)
	return errOne == nil && errOther == nil && one == other
}

// offerJobs offers the jobs in the configuration.
func (a *app) offerJobs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	flags := given(cmd)
	delete(flags, "job") // what is typed so far may be none
	settings, err := config.Load(flags, a.lookup)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []string
	for _, name := range slices.Sorted(maps.Keys(settings.Jobs)) {
		offered = append(offered, cobra.CompletionWithDesc(name, settings.Jobs[name].Source))
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}
