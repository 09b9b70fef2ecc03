package cli

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

	"assetferry/internal/config"
	"assetferry/internal/schedule"
	"assetferry/internal/ui"
)

type scheduleOptions struct {
	format, at, output          string
	ownManager, loadCredentials bool
	sync                        migrateOptions // what the sync is to be started with
}

func (a *app) scheduleCommand() *cobra.Command {
	var o scheduleOptions
	c := &cobra.Command{
		Use:   "schedule SOURCE",
		Short: "Print a systemd timer or a cron line that runs sync every day",
		Long: `Schedule prints a systemd service and timer, or a cron line, that run sync once
a day with this configuration. It changes nothing except, with --output, the two
unit files.

It takes the flags of sync and writes them into the command, with absolute
paths. Flags for a single run, such as --limit or --accept-rules, are refused.
If the last run of this source used other rules, limits or tables, schedule
stops and prints the flags that are missing. A sync with other rules would stop
as well.

The service runs as your account. It can read the whole disk, but can write only
to the folders of the state database and of the log. Without root, --user-unit
makes units for systemctl --user, which systemd confines less.

A secret is never part of a unit or a crontab. Secrets that come from
environment variables go into a file, and schedule prints the command that makes
the file. With --load-credential systemd passes secrets as files that only the
service can read (LoadCredential=). Other variables that the sync needs are
written into the unit and listed.

The name of a unit ends in a short hash of the source, the destination, the job
and the state database. Schedule never replaces a unit of another configuration.
`,
		Example: `  assetferry schedule ./photos --unmatched skip --at 04:30
  assetferry schedule ./photos --unmatched skip --user-unit --output units
  assetferry schedule ./photos --unmatched skip --format cron`,
		Args:              sourceOrJob,
		ValidArgsFunction: directories,
		RunE: a.doSource(func(ctx context.Context, cmd *cobra.Command, source string) error {
			return a.schedule(ctx, cmd, source, o)
		}),
	}
	f := c.Flags()
	addSyncRunFlags(f, &o.sync)
	f.StringVar(&o.format, "format", "systemd", "output `format`: systemd or cron")
	f.StringVar(&o.at, "at", "04:30", "start at this `time` of day; daylight saving time may skip or repeat times between 01:00 and 04:00")
	f.StringVar(&o.output, "output", "", "write the two units into this `folder`")
	f.BoolVar(&o.ownManager, "user-unit", false, "make units for systemctl --user")
	addStayFlags(f, &stayOptions{}) // to be refused with the reason
	for _, name := range slices.Concat(notScheduled, staying) {
		// It fails only for a flag that is not there.
		_ = f.MarkHidden(name)
	}
	f.BoolVar(&o.loadCredentials, "load-credential", false, "pass secrets with LoadCredential= instead of environment variables")
	// It fails only for a switch that is not there.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(scheduleFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) schedule(ctx context.Context, cmd *cobra.Command, source string, o scheduleOptions) error {
	if a.out.JSON() {
		return usage(errors.New("schedule prints a unit or a cron line, and has no JSON"), "leave --json out")
	}
	if err := scheduleIsForUnix(); err != nil {
		return err
	}
	at, err := o.check()
	if err != nil {
		return err
	}
	if err := refuseSingleRunFlags(cmd); err != nil {
		return err
	}
	job, err := a.scheduledJob(ctx, cmd, source, o, at)
	if err != nil {
		return err
	}
	if job.First, err = a.checkLastRun(ctx, cmd, source); err != nil {
		return err
	}
	if o.format == "cron" {
		err = a.printLine(job)
	} else {
		err = a.printUnits(job, o.output)
	}
	if e, ok := errors.AsType[*schedule.UnwritableError](err); ok {
		return usage(e, "rename it or use a symbolic link; a long command gets shorter with a job (assetferry help nightly)")
	}
	return err
}

func (o scheduleOptions) check() (config.TimeOfDay, error) {
	at, err := config.ParseTimeOfDay(o.at)
	switch {
	case err != nil:
		return at, usage(fmt.Errorf("--at: %w", err), "")
	case o.format == "cron" && o.output != "":
		return at, usage(errors.New("--output is for the two files of systemd"), "crontab -e takes the line of cron")
	case o.format == "cron" && o.loadCredentials:
		return at, usage(errors.New("--load-credential is for systemd"), "leave it out; cron reads the secrets from a file")
	case o.format == "cron" && o.ownManager:
		return at, usage(errors.New("--user-unit is for systemd"), "crontab -e is for the crontab of this account")
	case !slices.Contains(scheduleFormats(), o.format):
		return at, usage(fmt.Errorf("--format: %q is not one of %s", o.format, strings.Join(scheduleFormats(), ", ")), "")
	}
	return at, nil
}

func scheduleFormats() []string { return []string{"systemd", "cron"} }

// printLine prints a line of cron.
func (a *app) printLine(job *schedule.Job) error {
	line, err := job.Line()
	if err != nil {
		return err
	}
	a.out.Printf("# %s: a line for crontab -e", ui.Sanitize(job.About))
	a.out.Printf("%s", line)
	a.note(job.Before())
	a.out.Notef("Cron mails what a command prints, which is nothing where all is well; MAILTO=... above the line says to whom. Exit code 7, a budget or a time window, is well.")
	return nil
}

// printUnits prints the units, or writes them into a folder.
func (a *app) printUnits(job *schedule.Job, output string) error {
	units, err := job.Units()
	if err != nil {
		return err
	}
	folder, err := job.UnitFolder()
	if err != nil {
		return err
	}
	for _, folder := range []string{folder, output} { // before the first is written
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
			if err := a.writeUnit(filepath.Join(output, u.Name), u.Text); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			a.out.Printf("\n")
		}
		a.out.Printf("# %s\n%s", ui.Sanitize(filepath.Join(folder, u.Name)), u.Text)
	}
	a.note(job.Before())
	a.note(job.Install(output, folder))
	return nil
}

// note shows lines for a person.
func (a *app) note(lines []string) {
	for _, line := range lines {
		a.out.Notef("%s", line)
	}
}

// writeUnit writes a unit, which may replace one of the same schedule.
func (a *app) writeUnit(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := writeNew(path, true, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	a.out.Printf("Wrote %s.", ui.Sanitize(path))
	return nil
}

// scheduleIsForUnix refuses a system that has neither.
func scheduleIsForUnix() error {
	if runtime.GOOS == "windows" {
		return with(exitError, errors.New("schedule supports systemd and cron, and Windows has neither"), "let the Task Scheduler start assetferry sync")
	}
	return nil
}
