package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/config"
)

// offerJobs offers the jobs in the configuration.
func offerJobs(f *command.Factory, cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	flags := cmdline.Given(cmd)
	delete(flags, "job") // it may be incomplete
	settings, err := config.Load(flags, f.Lookup)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var offered []string
	for _, name := range slices.Sorted(maps.Keys(settings.Jobs)) {
		offered = append(offered, cobra.CompletionWithDesc(name, settings.Jobs[name].Source))
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}
