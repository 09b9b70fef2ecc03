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

// reportFormats are the values of --format.
func reportFormats() []string { return []string{"text", "json", "csv", "html", "keys", manifestFormat} }

type reportOptions struct {
	format, only, splitBy, output string
	rights                        bool
	within                        int
}

// defaultWithin is the default of --within in days.
const defaultWithin = 90

// reportLong is the long help of report.
const reportLong = `Report shows the result of a run: the objects by state, failed objects with
fixes, conflicts, warnings, and skipped objects with the settings that change
this result. It also shows the verification, privacy, metadata, and the undo
command. The report of a sync compares it with the previous sync and lists its
changes.

Report reads only the state database. It sends no request, and it works while
another process is running.

Formats:
  text   the default
  json   one document, with the fields below
  csv    a row for each object: key, action, state, reason, message, size,
         category, folder, name, asset_id, url, error, attempts, previous_key
         (the key before the object was moved, or replaced under another key)
         and asset_name (if it differs from the name of the object). An
         apostrophe precedes a cell that begins with = + - @, a tab or a line
         break, so that spreadsheets do not evaluate it as a formula
  html   one self-contained page with charts
  keys   the key of each object on a line of its own, for --files-from:
         assetferry report --only failed --format keys |
           assetferry migrate ./photos --files-from -

  manifest
         the SHA-256 checksums of all objects with assets, from all runs. To
         check the files of the source, or of a copy, go to their folder:
         assetferry report --format manifest --output manifest.txt
         sha256sum -c manifest.txt
         Above each checksum, a comment in JSON has key, version, size,
         asset_id, url, state (uploaded, matched, shared), at, run, approved_by,
         approval_key and approval_stated_by. Each category of an export is a
         folder, so a check there does not find the files of other categories

--only lists the objects in a state, in any format except html and
manifest:
  created, adopted, replaced, metadata_updated, moved, trashed, unchanged,
  failed, retries_exhausted, changed, conflict, unconfirmed, retry_scheduled,
  skipped, planned, sending, sent, undecided. These states are also available:
  done     every finished action
  warning  finished actions with a warning
  undone   objects whose assets an undo trashed

--split-by folder counts the objects of each top-level folder. With --output, it
writes a new folder with a list for each top-level folder and an index of the
counts.

--rights shows how many assets have expired, expire within 90 days (--within),
are valid longer, or have no date. The date is in the attribute expires of the
assets. See Dates and rights in assetferry help mapping. With --format csv, each
row has key, asset_id, expires and state. --only lists the assets in a state:
expired, expiring, valid, no_date or unreadable. The json document has a count
for each state, and within_days.

With --wave, the manifest and --rights have only the objects of the wave.

Fields of the json document. Each amount has the fields objects and bytes:
  verdict                   kind (verified, complete, selection, partial,
                            incomplete, different, unfinished, stopped, undone,
                            plan), title, message, next
  run                       ID, command, source, destination, times, approver,
                            and the account that started the run
  at_destination            all assets from this source, from all runs
  results                   listed, states, total, and accounted_for: true if
                            listed equals total
  sync                      only for a sync: previous, trend, changes,
                            deleted_at_source, changed_at_destination, failing,
                            recovered, stopped (by a safety check),
                            nothing_changed
  freeze                    only for a wave with a freeze: at, and objects that
                            changed or were deleted at the source later: changed
                            and deleted, each with first: key and at
  problems, skipped         by reason, with message and remedy
  unreadable_folders        folders of the source that could not be read
  missing_from_earlier_runs objects that earlier runs failed to process, if this
                            run processed only a part of the source
  verification              last verification; complete: nothing was uploaded
                            since. After a run of a wave, of its assets
  changed_assets, undo      assets that existed before, and how to undo the run
  renamed                   assets from all runs whose names differ from those
                            of their objects: count, and first with key,
                            asset_name, asset_id
  privacy, metadata, urls   privacy of assets, metadata and URLs, as counts
  findings                  warnings, unmapped fields, GPS coordinates and
                            capture dates
  types, sizes, throughput  for charts; charted: the objects in types and sizes

--json writes the summary of the run to stdout, as status does.
`

// NewReportCommand returns assetferry report.
func NewReportCommand(f *command.Factory) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report",
		Short: "Show the result of a run",
		Long:  reportLong,
		Args:  cobra.NoArgs,
		RunE:  f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error { return reportRun(ctx, f, cmd, o) }),
	}
	flags := c.Flags()
	command.AddRunFlags(flags)
	flags.StringVar(&o.format, "format", "text", "`format` of the report: "+strings.Join(reportFormats(), ", "))
	flags.StringVar(&o.only, "only", "", "list the objects in this `state`, such as failed or conflict")
	flags.BoolVar(&o.rights, "rights", false, "show which assets have expired, from their attribute expires")
	flags.IntVar(&o.within, "within", defaultWithin, "with --rights, the `days` in which assets count as expiring")
	flags.StringVar(&o.splitBy, "split-by", "", "count the objects by top-level `folder`")
	flags.StringVar(&o.output, "output", "", "write to this `file` or, with --split-by, to this new folder; - is stdout")
	for name, values := range map[string][]string{"format": reportFormats(), "only": report.States(), "split-by": {"folder"}} {
		// It fails only for an unknown flag.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

func reportRun(ctx context.Context, f *command.Factory, cmd *cobra.Command, o reportOptions) error {
	if err := o.checkRights(); err != nil {
		return err
	}
	if o.rights {
		return reportRights(ctx, f, cmd, o)
	}
	choice, err := o.check(f.Out.JSON())
	if err != nil {
		return err
	}
	store, run, err := reportedRun(ctx, f, cmd, o)
	if err != nil {
		return err
	}
	if o.format == manifestFormat {
		return writeManifest(ctx, f, store, run, o)
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
		return nil // only the summary was asked for
	}
	return printLacks(f, o, writeReport(ctx, f, r, o, choice))
}

// isList reports whether the output is one list of objects.
func (o reportOptions) isList() bool {
	return o.splitBy == "" && (o.only != "" || o.format == "csv" || o.format == "keys")
}

// check rejects invalid values, and flags that cannot be used together.
func (o reportOptions) check(json bool) (report.Choice, error) {
	choice, err := report.ParseChoice(o.only)
	toFolder := o.output != "" && o.output != "-"
	switch {
	case !slices.Contains(reportFormats(), o.format):
		return choice, exit.Usage(fmt.Errorf("--format: unknown format %q", o.format), "one of "+strings.Join(reportFormats(), ", "))
	case err != nil:
		return choice, exit.Usage(fmt.Errorf("--only: %w", err), "use one of "+strings.Join(report.States(), ", "))
	case o.splitBy != "" && o.splitBy != "folder":
		return choice, exit.Usage(fmt.Errorf("--split-by: unknown value %q", o.splitBy), "--split-by folder")
	case o.format == "html" && o.only != "":
		return choice, exit.Usage(errors.New("--only and --format html cannot be used together"), "use --format csv, json, text or keys")
	case o.format == "html" && o.splitBy != "":
		return choice, exit.Usage(errors.New("--split-by and --format html cannot be used together"), "the page contains the counts of folders; use --format csv, json, text or keys for lists")
	case o.format == manifestFormat && (o.only != "" || o.splitBy != ""):
		return choice, exit.Usage(errors.New("--format manifest lists all objects that have assets"), "omit --only and --split-by")
	case o.splitBy != "" && !toFolder && (o.only != "" || o.format == "keys"):
		return choice, exit.Usage(errors.New("--split-by folder needs a folder for the lists"), "add --output DIR")
	case json && o.output == "-":
		return choice, exit.Usage(errors.New("--json and --output - both write to stdout"), "write the report to a file with --output FILE")
	}
	return choice, nil
}

const manifestFormat = "manifest"

// writeManifest writes the manifest of the source and the destination of a run.
func writeManifest(ctx context.Context, f *command.Factory, store *state.Store, run state.Run, o reportOptions) error {
	if err := sumUpReport(ctx, f, store, run); err != nil || f.Out.JSON() && o.output == "" {
		return err
	}
	wave, err := f.Wave()
	if err != nil {
		return err
	}
	err = f.WriteOutput(o.output, func(w io.Writer) error {
		return report.WriteManifest(ctx, w, store, run.Pair, wave, cmdline.Version(), cleanFor(f, o))
	})
	if err == nil && o.output != "" && o.output != "-" {
		f.Out.Notef("Wrote %s", ui.Sanitize(o.output))
	}
	return err
}

// cleanFor returns a function that makes text safe for a terminal, if the output goes to one.
func cleanFor(f *command.Factory, o reportOptions) func(string) string {
	if (o.output == "" || o.output == "-") && ui.IsTerminal(f.Stdout) {
		return ui.Sanitize
	}
	return nil
}

// sumUpReport writes the summary of the run, as status does.
func sumUpReport(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) error {
	if !f.Out.JSON() {
		return nil
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
	clean := cleanFor(f, o)
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

// apart separates an error about objects that a list lacks from write errors.
func apart(lacks *error, err error) error {
	if _, ok := errors.AsType[*report.LineBreakError](err); ok || errors.Is(err, report.ErrOnlyCounted) || errors.Is(err, report.ErrPruned) {
		*lacks = err
		return nil
	}
	return err
}

// printLacks reports the objects that a list lacks. It fails if exactly these were asked for.
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

// reportedRun returns the run of a report, and the state database with it. The report must not be
// written into the source.
func reportedRun(ctx context.Context, f *command.Factory, cmd *cobra.Command, o reportOptions) (*state.Store, state.Run, error) {
	store, err := f.ReadState(ctx)
	if err != nil {
		return nil, state.Run{}, err
	}
	run, err := f.SelectRun(ctx, cmd, store)
	if err != nil {
		return nil, run, err
	}
	return store, run, command.ApartFrom(o.output, run.Pair.Source)
}
