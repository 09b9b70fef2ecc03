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

// reportFormats are the forms of a report.
func reportFormats() []string { return []string{"text", "json", "csv", "html", "keys"} }

type reportOptions struct{ format, only, splitBy, output string }

// reportLong is what the help of report says.
const reportLong = `Report says what became of a run: whether everything arrived and how that was
proved, what did not and what to do about it, what was left out and which switch
or person decides, what was found of objects and is not in their assets (cut,
unreadable, or not sent), who can see what, and how to take it back. A sync is
set against the sync before it: what is new, changed, described, moved, gone and
trashed, what people did at the destination, what fails since when, and what
came through again. It reads the journal and nothing else: no request is sent,
and it works while another process is at work.

Formats:
  text   for people
  json   one document. Its fields are named below
  csv    a row for each object: key, action, state, reason, size, category,
         folder, name, asset_id, url, error, attempts, origin (the key that an
         object went by before it was moved, or replaced under another name),
         and asset_name: what the asset is called, if that is not the name of
         the object. A cell that begins with = + - @, a tab or a line break
         has an apostrophe in front, so that no spreadsheet takes it for a
         formula
  html   one page that needs nothing else, with charts
  keys   the key of each object on a line of its own, as --files-from takes it:
         assetferry report --only failed --format keys |
           assetferry migrate ./photos --files-from -

--only makes any format but html a list of the objects of which this is true:
done (whatever was carried out), remarked (what of that there is a remark on),
created, adopted, replaced, described, moved, trashed, unchanged, skipped,
failed, parked, changed, conflict, waiting, in-doubt, planned, sending, sent,
undecided, undone.

--split-by folder sums up each top-level folder of the source. With --output it
writes a new folder, with a list for each of them and an index of the sums.

Fields of the json document, all in objects and bytes where they are amounts:
  verdict                   kind (proved, complete, partial, incomplete,
                            different, unfinished, stopped, undone, plan),
                            sentence, next
  run                       which run of what, when, the account that began it,
                            and its approver if one is recorded
  at_destination            all that is there from this source, by all runs
  sum                       listed, its parts, their total, whether it closes
  night                     of a sync: before, measures (of both), changes,
                            gone, drift (by people at the destination),
                            failing, recovered, stopped (by a guard), quiet
  left_out, troubles        by reason or kind, with what decides or helps
  unlistable_folders        folders of the source that could not be read
  proof                     of the last verification; covers_all says whether it
                            came after the last arrival
  alterations, undo         what was there before, and how to take the run back
  names_differ              count and first of the assets that are not called as
                            their objects are, by whichever runs: key,
                            asset_name, asset_id. In lists, asset_name says so
  privacy, metadata, addresses
  found                     fields that went nowhere, positions, times, and
                            remarks, such as on what was cut or is unreadable
  types, sizes, throughput  for charts; charted is what the first two are of

--json writes the summary of the run to stdout, as status does.
`

// NewReportCommand makes assetferry report.
func NewReportCommand(f *command.Factory) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report",
		Short: "Say what became of a run, from the journal alone",
		Long:  reportLong,
		Args:  cobra.NoArgs,
		RunE:  f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error { return reportRun(ctx, f, cmd, o) }),
	}
	flags := c.Flags()
	command.AddRunFlags(flags)
	flags.StringVar(&o.format, "format", "text", "`form` of the report: "+strings.Join(reportFormats(), ", "))
	flags.StringVar(&o.only, "only", "", "list the objects that came to this `end`, such as failed or in-doubt")
	flags.StringVar(&o.splitBy, "split-by", "", "tell top-level folders apart: `folder`")
	flags.StringVar(&o.output, "output", "", "write to this `file`, or to this new folder with --split-by; - is stdout")
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

// check refuses switches that do not go together.
func (o reportOptions) check(json bool) (report.Choice, error) {
	choice, err := report.ParseChoice(o.only)
	toFolder := o.output != "" && o.output != "-"
	switch {
	case !slices.Contains(reportFormats(), o.format):
		return choice, exit.Usage(fmt.Errorf("--format: there is no form %q", o.format), "one of "+strings.Join(reportFormats(), ", "))
	case err != nil:
		return choice, exit.Usage(fmt.Errorf("--only: %w", err), "one of "+strings.Join(report.States(), ", "))
	case o.splitBy != "" && o.splitBy != "folder":
		return choice, exit.Usage(fmt.Errorf("--split-by: reports cannot be split by %q", o.splitBy), "--split-by folder")
	case o.format == "html" && o.only != "":
		return choice, exit.Usage(errors.New("--only and --format html exclude each other"), "csv, json, text and keys are lists with --only")
	case o.format == "html" && o.splitBy != "":
		return choice, exit.Usage(errors.New("--split-by and --format html exclude each other"), "the page has the sums of folders in it; csv, json, text and keys have lists of each")
	case o.splitBy != "" && !toFolder && (o.only != "" || o.format == "keys"):
		return choice, exit.Usage(errors.New("--split-by folder with lists needs a folder to write them to"), "--output DIR")
	case json && o.output == "-":
		return choice, exit.Usage(errors.New("--json and --output - both want stdout"), "name a file with --output")
	}
	return choice, nil
}

// sumUpReport has the summary of the run told as status tells it.
func sumUpReport(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) error {
	if !f.Out.JSON() {
		return nil // and nothing is summed up for nobody
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
		f.Out.Notef("Wrote the folder %s", ui.Sanitize(o.output))
	}
	return errors.Join(err, lacks)
}

// apart keeps what a list lacks apart from what kept it from being written.
func apart(lacks *error, err error) error {
	if _, ok := errors.AsType[*report.LineBreakError](err); ok || errors.Is(err, report.ErrOnlyCounted) || errors.Is(err, report.ErrPruned) {
		*lacks = err
		return nil
	}
	return err
}

// printLacks says what a list lacks. That is no success where somebody asked for just
// that.
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
