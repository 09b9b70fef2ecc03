package setupcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/migratecmd"
	"assetferry/internal/config"
	"assetferry/internal/schedule"
	"assetferry/internal/ui"
)

type scheduleOptions struct {
	format, at, output          string
	ownManager, loadCredentials bool
	sync                        migratecmd.MigrateOptions // the options of the sync
}

// NewScheduleCommand makes assetferry schedule.
func NewScheduleCommand(f *command.Factory) *cobra.Command {
	var o scheduleOptions
	c := &cobra.Command{
		Use:   "schedule SOURCE",
		Short: "Print a systemd timer or a cron line for a daily sync",
		Long: `Schedule prints a systemd service and timer, or a cron line, that run sync once
a day. It changes nothing. --output writes the two unit files.

Schedule accepts the flags of sync and writes them into the command, with
absolute paths. It refuses flags for a single run, such as --limit or
--accept-rules. If the last run of this source used other rules, schedule prints
the missing flags and stops. The sync would stop, too.

The service runs as your account. It can write only to the folders of the state
database and of the log. If you are not root, use --user-unit. systemd restricts
such units less.

Units and crontabs never contain secrets. Schedule prints the command that
writes secrets from environment variables to a file. With --load-credential,
systemd passes secrets as files that only the service can read. Schedule writes
other required variables into the unit and lists them.

The name of a unit ends in a hash of source, destination, job and state
database. Schedule never replaces a unit of another configuration.
`,
		Example: `  assetferry schedule ./photos --unsupported skip --at 04:30
  assetferry schedule ./photos --unsupported skip --user-unit --output units
  assetferry schedule ./photos --unsupported skip --format cron`,
		Args:              command.SourceOrJob,
		ValidArgsFunction: cmdline.Directories,
		RunE: f.DoSource(func(ctx context.Context, cmd *cobra.Command, source string) error {
			return writeSchedule(ctx, f, cmd, source, o)
		}),
	}
	flags := c.Flags()
	migratecmd.AddSyncRunFlags(flags, &o.sync)
	flags.StringVar(&o.format, "format", "systemd", "`systemd|cron`: output format")
	flags.StringVar(&o.at, "at", "04:30", "start at this `time` of day; avoid 01:00 to 04:00, because daylight saving time skips or repeats these times")
	flags.StringVar(&o.output, "output", "", "write the two unit files to this `folder`")
	flags.BoolVar(&o.ownManager, "user-unit", false, "write units for systemctl --user")
	migratecmd.AddStayFlags(flags, &migratecmd.StayOptions{}) // refused, with the reason
	for _, name := range slices.Concat(notScheduled, staying) {
		// The error is only for a flag that does not exist.
		_ = flags.MarkHidden(name)
	}
	flags.BoolVar(&o.loadCredentials, "load-credential", false, "pass secrets with LoadCredential= instead of environment variables")
	// The error is only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(scheduleFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func writeSchedule(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o scheduleOptions) error {
	if f.Out.JSON() {
		return exit.Usage(errors.New("schedule does not support --json: it prints a unit or a cron line"), "omit --json")
	}
	if err := ScheduleIsForUnix(); err != nil {
		return err
	}
	at, err := o.check()
	if err != nil {
		return err
	}
	if err := refuseSingleRunFlags(cmd); err != nil {
		return err
	}
	job, err := scheduledJob(ctx, f, cmd, source, o, at)
	if err != nil {
		return err
	}
	if job.First, err = checkLastRun(ctx, f, cmd, source); err != nil {
		return err
	}
	if o.format == "cron" {
		err = printLine(f, job)
	} else {
		err = printUnits(f, job, o.output)
	}
	if e, ok := errors.AsType[*schedule.UnwritableError](err); ok {
		return exit.Usage(e, e.Hint())
	}
	return err
}

func (o scheduleOptions) check() (config.TimeOfDay, error) {
	at, err := config.ParseTimeOfDay(o.at)
	switch {
	case err != nil:
		return at, exit.Usage(fmt.Errorf("--at: %w", err), "")
	case o.format == "cron" && o.output != "":
		return at, exit.Usage(errors.New("--output needs --format systemd"), "add the cron line with crontab -e")
	case o.format == "cron" && o.loadCredentials:
		return at, exit.Usage(errors.New("--load-credential needs --format systemd"), "omit it; cron reads the secrets from a file")
	case o.format == "cron" && o.ownManager:
		return at, exit.Usage(errors.New("--user-unit needs --format systemd"), "omit it; crontab -e edits the crontab of this account")
	case !slices.Contains(scheduleFormats(), o.format):
		return at, exit.Usage(fmt.Errorf("--format: %q is not one of %s", o.format, strings.Join(scheduleFormats(), ", ")), "")
	}
	return at, nil
}

func scheduleFormats() []string { return []string{"systemd", "cron"} }

// printLine prints a line of cron.
func printLine(f *command.Factory, job *schedule.Job) error {
	line, err := job.Line()
	if err != nil {
		return err
	}
	f.Out.Printf("# %s: a line for crontab -e", ui.Sanitize(job.About))
	f.Out.Printf("%s", line)
	printNotes(f, job.Before())
	f.Out.Notef("Cron mails the output of a command, and a successful sync prints none; set the e-mail address with MAILTO=... above the line. Exit code 7 (limit or time window) counts as success.")
	return nil
}

// printUnits prints the units, or writes them to a folder.
func printUnits(f *command.Factory, job *schedule.Job, output string) error {
	units, err := job.Units()
	if err != nil {
		return err
	}
	folder, err := job.UnitFolder()
	if err != nil {
		return err
	}
	for _, folder := range []string{folder, output} { // before the first file
		if folder == "" {
			continue
		}
		for _, u := range units {
			if err := job.MayReplace(filepath.Join(folder, u.Name)); err != nil {
				return err
			}
		}
	}
	for i, u := range units {
		if output != "" {
			if err := writeUnit(f, filepath.Join(output, u.Name), u.Text); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			f.Out.Printf("\n")
		}
		f.Out.Printf("# %s\n%s", ui.Sanitize(filepath.Join(folder, u.Name)), u.Text)
	}
	printNotes(f, job.Before())
	printNotes(f, job.Install(output, folder))
	return nil
}

// printNotes shows lines for a person.
func printNotes(f *command.Factory, lines []string) {
	for _, line := range lines {
		f.Out.Notef("%s", line)
	}
}

// writeUnit writes a unit. It replaces only one of the same schedule.
func writeUnit(f *command.Factory, path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := command.WriteNew(path, true, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	f.Out.Printf("Wrote %s.", ui.Sanitize(path))
	return nil
}

// ScheduleIsForUnix refuses Windows, which has neither systemd nor cron.
func ScheduleIsForUnix() error {
	if runtime.GOOS == "windows" {
		return exit.With(exit.CodeError, errors.New("schedule supports systemd and cron, and Windows has neither"), "add this command, with its source, to the Task Scheduler:\n  assetferry sync SOURCE")
	}
	return nil
}
