package statecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/state"
)

// reportFormats lists the formats of a report.
func reportFormats() []string { return []string{"text", "json", "csv", "html", "keys"} }

type reportOptions struct{ format, only, splitBy, output string }

const reportLong = `Report shows the results of a run: verification, failures, skipped objects and
the flag or person that decides about them, metadata problems, privacy, and the
undo command. For a sync it also shows changes since the sync before. Report
reads only the state database, and works while a run is in progress.

Formats:
  text  for people
  html  one page with charts, without external files
  json  one document, see below
  csv   a row per object: key, action, state, reason, size, category, folder,
        name, asset_id, url, error, attempts, origin (the former key of an
        object that was moved or replaced), asset_name (if it differs from the
        object). A cell that begins with = + - @, a tab or a line break gets an
        apostrophe in front, so that no spreadsheet runs it as a formula.
  keys  a key per line, for --files-from:
        assetferry report --only failed --format keys |
          assetferry migrate ./photos --files-from -

--only lists the objects with one result: created, adopted, replaced, described,
moved, trashed, unchanged, skipped, failed, parked, changed, conflict, waiting,
in-doubt, planned, sending, sent, undecided, undone, done (everything carried
out), remarked (done with a remark).

--split-by folder groups the results by top-level folder. With --output it
writes a folder with a list for each of them, and an index.

Fields of the JSON document:
  verdict                  kind (proved, complete, partial, incomplete,
                           different, unfinished, stopped, undone, plan),
                           sentence, next
  run                      command, source, account, approver
  at_destination           everything from this source, from all runs
  sum                      listed objects, and their results
  night                    of a sync: before, measures, changes, gone, drift,
                           failing, recovered, stopped, quiet
  left_out, troubles       skipped and failed objects by reason
  unlistable_folders       folders that could not be read
  proof                    the last verification; covers_all: it came after the
                           last upload
  alterations, undo        changed assets, and the command that undoes the run
  names_differ             assets with another name than their object: count,
                           key, asset_name, asset_id
  privacy, metadata, addresses
  found                    unmapped fields, GPS coordinates, dates, remarks
  types, sizes, throughput, charted
                           for charts

--json writes the summary of the run to stdout, as status does.
`

// NewReportCommand makes assetferry report.
func NewReportCommand(f *command.Factory) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report",
		Short: "Show the results of a run",
		Long:  reportLong,
		Args:  cobra.NoArgs,
		RunE:  f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error { return reportRun(ctx, f, cmd, o) }),
	}
	flags := c.Flags()
	command.AddRunFlags(flags)
	flags.StringVar(&o.format, "format", "text", "`"+strings.Join(reportFormats(), "|")+"`: report format")
	flags.StringVar(&o.only, "only", "", "list the objects with this `result`, such as failed or skipped")
	flags.StringVar(&o.splitBy, "split-by", "", "`folder`: group the results by top-level folder")
	flags.StringVar(&o.output, "output", "", "write to this `file`; with --split-by to a new folder; - is stdout")
	for name, values := range map[string][]string{"format": reportFormats(), "only": report.States(), "split-by": {"folder"}} {
		// It fails only for a switch that is not there.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

func reportRun(ctx context.Context, f *command.Factory, cmd *cobra.Command, o reportOptions) error {
	choice, err := o.check(f.Out.JSON())
	if err != nil {
		return err
	}
	store, err := f.ReadState(ctx)
	if err != nil {
		return err
	}
	run, err := f.SelectRun(ctx, cmd, store)
	if err != nil {
		return err
	}
	if err := command.ApartFrom(o.output, run.Pair.Source); err != nil {
		return err
	}
	read := report.Read
	if o.isList() || o.splitBy != "" && o.format == "csv" {
		read = report.ReadForList
	}
	r, err := read(ctx, store, run)
	if err != nil {
		return err
	}
	r.Tool = cmdline.Version()
	if err := sumUpReport(ctx, f, store, run); err != nil {
		return err
	}
	if f.Out.JSON() && o.output == "" {
		return nil // the summary is all
	}
	return printLacks(f, o, writeReport(ctx, f, r, o, choice))
}

// isList reports whether the report is one list of objects.
func (o reportOptions) isList() bool {
	return o.splitBy == "" && (o.only != "" || o.format == "csv" || o.format == "keys")
}

// check refuses flags that contradict each other.
func (o reportOptions) check(json bool) (report.Choice, error) {
	choice, err := report.ParseChoice(o.only)
	toFolder := o.output != "" && o.output != "-"
	switch {
	case !slices.Contains(reportFormats(), o.format):
		return choice, exit.Usage(fmt.Errorf("--format: unknown format %q", o.format), "use one of "+strings.Join(reportFormats(), ", "))
	case err != nil:
		return choice, exit.Usage(fmt.Errorf("--only: %w", err), "use one of "+strings.Join(report.States(), ", "))
	case o.splitBy != "" && o.splitBy != "folder":
		return choice, exit.Usage(fmt.Errorf("--split-by: reports cannot be split by %q", o.splitBy), "use --split-by folder")
	case o.format == "html" && o.only != "":
		return choice, exit.Usage(errors.New("--only and --format html exclude each other"), "use csv, json, text or keys with --only")
	case o.format == "html" && o.splitBy != "":
		return choice, exit.Usage(errors.New("--split-by and --format html exclude each other"), "the page contains the totals of folders; use csv, json, text or keys for lists")
	case o.splitBy != "" && !toFolder && (o.only != "" || o.format == "keys"):
		return choice, exit.Usage(errors.New("--split-by folder with lists needs a folder"), "add --output DIR")
	case json && o.output == "-":
		return choice, exit.Usage(errors.New("--json and --output - both write to stdout"), "name a file with --output")
	}
	return choice, nil
}

// sumUpReport adds the summary of the run in the form of status.
func sumUpReport(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) error {
	if !f.Out.JSON() {
		return nil // no reader for a summary
	}
	tallies, err := store.Tallies(ctx, run.Num)
	if err == nil {
		f.Out.Event("summary", recorded(run, tallies))
	}
	return err
}

func writeReport(ctx context.Context, f *command.Factory, r report.Report, o reportOptions, choice report.Choice) error {
	if o.splitBy != "" && o.output != "" && o.output != "-" {
		return splitReport(ctx, f, r, o, choice)
	}
	var lacks error
	err := f.WriteOutput(o.output, func(w io.Writer) error {
		return apart(&lacks, write(ctx, f, w, r, o, choice))
	})
	if err == nil && o.output != "" && o.output != "-" {
		f.Out.Notef("Wrote %s", ui.Sanitize(o.output))
	}
	return errors.Join(err, lacks)
}

func write(ctx context.Context, f *command.Factory, w io.Writer, r report.Report, o reportOptions, choice report.Choice) error {
	var clean func(string) string
	if (o.output == "" || o.output == "-") && ui.IsTerminal(f.Stdout) {
		clean = ui.Sanitize
	}
	switch {
	case o.splitBy != "":
		return r.WriteFolders(ctx, w, o.format, clean)
	case o.isList():
		return r.WriteList(ctx, w, o.format, choice, clean)
	case o.format == "json":
		return r.WriteJSON(w)
	case o.format == "html":
		return r.WriteHTML(ctx, w, time.Local)
	}
	return r.WriteText(w, time.Local)
}

func splitReport(ctx context.Context, f *command.Factory, r report.Report, o reportOptions, choice report.Choice) error {
	var lacks error
	err := command.WriteFolder(o.output, func(dir string) error {
		return apart(&lacks, r.SplitByFolder(ctx, dir, o.format, choice))
	})
	if err == nil {
		f.Out.Notef("Wrote folder %s", ui.Sanitize(o.output))
	}
	return errors.Join(err, lacks)
}

// apart separates a gap in a list from an error that kept it from being written.
func apart(lacks *error, err error) error {
	if _, ok := errors.AsType[*report.LineBreakError](err); ok || errors.Is(err, report.ErrOnlyCounted) || errors.Is(err, report.ErrPruned) {
		*lacks = err
		return nil
	}
	return err
}

// printLacks shows the gap in a list. It is an error if the list was requested explicitly.
func printLacks(f *command.Factory, o reportOptions, err error) error {
	var lacks error
	if err := apart(&lacks, err); err != nil || lacks == nil {
		return err
	}
	if errors.Is(lacks, report.ErrOnlyCounted) && o.only == "" {
		f.Out.Notef("%v", lacks)
		return nil
	}
	return exit.With(exit.CodeItems, lacks, exit.HintOf(lacks))
}
