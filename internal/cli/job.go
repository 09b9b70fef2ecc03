package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/config"
)

// sourceOrJob takes SOURCE, which may be left out where a job has it: see useDefaultJob.
func sourceOrJob(cmd *cobra.Command, args []string) error { return atMostOne("SOURCE")(cmd, args) }

// Commands that use the default job where nothing says what they are about.
var (
	needSource  = []string{"plan", "migrate", "sync", "adopt", "schedule"}
	mayUseAJob  = []string{"doctor", "verify", "report"} // status is about all sources
	saysWhatFor = []string{"job", "run", "source"}       // flags
)

// loadSettings loads the settings of a command. Where it is told neither a source nor a job
// it is as if --job had named the default job, also for the commands that it prints.
func (a *app) loadSettings(cmd *cobra.Command) (err error) {
	if a.settings, err = config.Load(given(cmd), a.lookup); err != nil {
		return err
	}
	needs := isOneOf(cmd, needSource)
	if !needs && !isOneOf(cmd, mayUseAJob) || cmd.Flags().NArg() > 0 || slices.ContainsFunc(saysWhatFor, cmd.Flags().Changed) {
		return nil
	}
	job := a.settings.DefaultJob()
	if job == "" && needs {
		return a.missingSource(cmd)
	} else if job == "" {
		return nil
	}
	if err := cmd.Flags().Set("job", job); err != nil {
		return err
	}
	if a.settings, err = config.Load(given(cmd), a.lookup); err != nil {
		return err
	}
	a.settings.JobIsDefault = true
	return nil
}

func isOneOf(cmd *cobra.Command, names []string) bool {
	return cmd.Parent() == cmd.Root() && slices.Contains(names, cmd.Name())
}

// missingSource is the error of a command that is told neither a source nor a job.
func (a *app) missingSource(cmd *cobra.Command) error {
	jobs := slices.Sorted(maps.Keys(a.settings.Jobs))
	if len(jobs) == 0 {
		return usage(fmt.Errorf("%s: SOURCE is missing", cmd.Name()), "name it, or a job of the configuration with --job; "+cmd.CommandPath()+" --help shows how")
	}
	hint := fmt.Sprintf("name it, or a job of the configuration with --job; default_job: NAME in %s chooses one:", a.settings.File)
	for _, job := range jobs {
		hint += "\n    " + a.again(cmd.Name(), nil, "--job", job)
	}
	return usage(fmt.Errorf("%s: SOURCE is missing, and %s has several jobs: %s", cmd.Name(), a.settings.File, strings.Join(jobs, ", ")), hint)
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
