package command

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
)

// SourceOrJob takes SOURCE, which is optional with a job: see loadSettings.
func SourceOrJob(cmd *cobra.Command, args []string) error {
	return cmdline.AtMostOne("SOURCE")(cmd, args)
}

// Commands that use the default job if no argument or flag names another.
var (
	needSource   = []string{"plan", "migrate", "sync", "adopt", "schedule"}
	mayUseAJob   = []string{"doctor", "verify", "report"} // status shows all sources
	namesSubject = []string{"job", "run", "source"}       // flags
)

// loadSettings loads the settings of a command. Without a source and a job, the default job counts
// as if --job named it, also in the commands that are printed.
func (f *Factory) loadSettings(cmd *cobra.Command) (err error) {
	if f.Settings, err = config.Load(cmdline.Given(cmd), f.Lookup); err != nil {
		return err
	}
	needs := isOneOf(cmd, needSource)
	if !needs && !isOneOf(cmd, mayUseAJob) || cmd.Flags().NArg() > 0 || slices.ContainsFunc(namesSubject, cmd.Flags().Changed) {
		return nil
	}
	job := f.Settings.DefaultJob()
	if job == "" && needs {
		return f.missingSource(cmd)
	} else if job == "" {
		return nil
	}
	if err := cmd.Flags().Set("job", job); err != nil {
		return err
	}
	if f.Settings, err = config.Load(cmdline.Given(cmd), f.Lookup); err != nil {
		return err
	}
	f.Settings.JobIsDefault = true
	return nil
}

func isOneOf(cmd *cobra.Command, names []string) bool {
	return cmd.Parent() == cmd.Root() && slices.Contains(names, cmd.Name())
}

// missingSource is the error of a command without a source and without a job.
func (f *Factory) missingSource(cmd *cobra.Command) error {
	jobs := slices.Sorted(maps.Keys(f.Settings.Jobs))
	if len(jobs) == 0 {
		return exit.Usage(fmt.Errorf("%s: SOURCE is missing", cmd.Name()), "name a source, or a job of the configuration with --job. To show the usage:\n  "+cmd.CommandPath()+" --help")
	}
	hint := fmt.Sprintf("name a source, or choose a job (default_job: NAME in %s makes one the default):", f.Settings.File)
	for _, job := range jobs {
		hint += "\n  " + f.Again(cmd.Name(), nil, "--job", job)
	}
	return exit.Usage(fmt.Errorf("%s: SOURCE is missing, and %s has several jobs: %s", cmd.Name(), f.Settings.File, strings.Join(jobs, ", ")), hint)
}

// A sourceWork is the body of a command for a source.
type sourceWork func(ctx context.Context, cmd *cobra.Command, source string) error

// DoSource is Do for a command that takes SOURCE or a job.
func (f *Factory) DoSource(w sourceWork) func(*cobra.Command, []string) error {
	return f.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		source, err := f.SourceOf(args)
		if err != nil {
			return err
		}
		return w(ctx, cmd, source)
	})
}

// SourceOf returns the source of a command: its argument, or the source of its job. Both must be
// the same: settings of a job for another source, such as its deletions, are a mistake.
func (f *Factory) SourceOf(args []string) (string, error) {
	of := f.Settings.Source
	switch {
	case len(args) == 0:
		return of, nil
	case f.Settings.Job == "" || sameSource(args[0], of):
		return args[0], nil
	}
	return "", exit.Usage(fmt.Errorf("SOURCE is not the source of job %q", f.Settings.Job), "omit SOURCE or --job")
}

func sameSource(one, other string) bool {
	if IsTable(one) && IsTable(other) {
		one, errOne := TableName(one)
		other, errOther := TableName(other)
		return errOne == nil && errOther == nil && one == other
	}
	if config.IsURL(one) || config.IsURL(other) {
		return one == other
	}
	one, errOne := filepath.Abs(one)
	other, errOther := filepath.Abs(other)
	return errOne == nil && errOther == nil && one == other
}
