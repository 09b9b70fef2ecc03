package main

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
	format, at, output string
	ownManager         bool
}

func (a *app) scheduleCommand() *cobra.Command {
	var o scheduleOptions
	c := &cobra.Command{
		Use:   "schedule SOURCE",
		Short: "Print what starts a sync every night: for systemd or for cron",
		Long: `Schedule prints what has sync started every night for this very configuration: a
service and a timer of systemd, or a line of cron. It changes nothing but, with
--output, the two files of the units.

The service runs as the account that asks for it. It sees the whole disk, but
can write only to the folders of the journal and of the log, and is kept from
whatever else it does not need. Where nobody can
ask root there is --user-unit, for services of the account's own, which systemd
confines less.

A secret never stands in a unit or in a crontab. Where it comes from a variable
of the environment, a file with it has to be made, and schedule says how. What
else this shell has that matters and those that start it at night do not have,
is put there, and told.

What is to be different at night, such as --exclude, belongs into a job of the
configuration; assetferry help nightly tells more.
`,
		Example: `  assetferry schedule ./photos --at 04:30
  assetferry schedule ./photos --user-unit --output units
  assetferry schedule ./photos --format cron`,
		Args:              sourceOrJob,
		ValidArgsFunction: directories,
		RunE: a.doSource(func(ctx context.Context, _ *cobra.Command, source string) error {
			return a.schedule(ctx, source, o)
		}),
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "systemd", "`form` of what is printed: systemd or cron")
	f.StringVar(&o.at, "at", "04:30", "`time` of day; one that clocks leave out or repeat when they are put is left out or repeated")
	f.StringVar(&o.output, "output", "", "write the two units into this `folder`")
	f.BoolVar(&o.ownManager, "user-unit", false, "make units for the services of this account (systemctl --user)")
	// It fails only for a switch that is not there.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(scheduleFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) schedule(ctx context.Context, source string, o scheduleOptions) error {
	if a.out.JSON() {
		return usage(errors.New("--json is not for schedule: it prints a file of something else"), "leave --json out")
	}
	if err := scheduleIsForUnix(); err != nil {
		return err
	}
	at, err := o.check()
	if err != nil {
		return err
	}
	n, err := a.night(ctx, source, o, at)
	if err != nil {
		return err
	}
	if o.format == "cron" {
		err = a.printLine(n)
	} else {
		err = a.printUnits(n, o.output)
	}
	if e, ok := errors.AsType[*schedule.UnwritableError](err); ok {
		return usage(e, "give it another name, or a link to it")
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
	case o.format == "cron" && o.ownManager:
		return at, usage(errors.New("--user-unit is for systemd"), "crontab -e is for the crontab of this account")
	case !slices.Contains(scheduleFormats(), o.format):
		return at, usage(fmt.Errorf("--format: %q is not one of %s", o.format, strings.Join(scheduleFormats(), ", ")), "")
	}
	return at, nil
}

func scheduleFormats() []string { return []string{"systemd", "cron"} }

// printLine prints a line of cron.
func (a *app) printLine(n night) error {
	line, err := n.Line()
	if err != nil {
		return err
	}
	a.out.Printf("# %s: a line for crontab -e", ui.Sanitize(n.About))
	a.out.Printf("%s", line)
	a.tellBefore(n)
	a.out.Notef("Cron mails what a command prints, which is nothing where all is well; MAILTO=... above the line says to whom. Exit code 7, a budget or a time window, is well.")
	return nil
}

// printUnits prints the units, or writes them into a folder.
func (a *app) printUnits(n night, output string) error {
	service, err := n.Service()
	if err != nil {
		return err
	}
	folder, err := n.unitFolder()
	if err != nil {
		return err
	}
	for i, u := range []struct{ name, text string }{{n.Name + ".service", service}, {n.Name + ".timer", n.Timer()}} {
		if output != "" {
			if err := a.writeUnit(filepath.Join(output, u.name), u.text); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			a.out.Printf("\n")
		}
		a.out.Printf("# %s\n%s%s", ui.Sanitize(filepath.Join(folder, u.name)), madeBySchedule, u.text)
	}
	a.tellBefore(n)
	a.tellUnits(n, output, folder)
	return nil
}

// madeBySchedule begins every unit, so that none of somebody else's is replaced.
const madeBySchedule = "# Made by assetferry schedule, which replaces it; what systemctl edit adds stays.\n\n"

// writeUnit writes a unit, in the place of one that is ours.
func (a *app) writeUnit(path, text string) error {
	text = madeBySchedule + text
	there, err := os.ReadFile(path)
	if err == nil && !strings.HasPrefix(string(there), madeBySchedule) {
		return usage(fmt.Errorf("%s is there already, and was not made by assetferry schedule", ui.Sanitize(path)), "name another folder with --output, or move it away")
	}
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
		return &stop{exitError, errors.New("schedule knows systemd and cron, and Windows has neither"), "have the Task Scheduler start assetferry sync"}
	}
	return nil
}
