package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/export"
	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/sources/s3"
)

// NewExportCommand makes assetferry export.
func NewExportCommand(f *command.Factory) *cobra.Command {
	var dryRun bool
	var versions string
	c := &cobra.Command{
		Use:   "export DIR|s3://...",
		Short: "Download all assets as files",
		Long: `Export writes every asset of the destination to a folder or a bucket, as
CATEGORY/FOLDER/NAME.EXT. NAME.EXT.json beside it contains the metadata:
description, tags, custom attributes, place, privacy, URL, times and checksum.
The file assetferry-export.json at the top lists the categories and the empty
folders.

Export changes nothing at the destination. It skips the trash. It includes
private categories, so keep the export in a safe place.

Without --versions, export writes current revisions. --versions N also writes
the N-1 revisions before the current one, as files below .assetferry-revisions.
assetferry migrate --versions N makes them revisions again. A migration without
--versions does not read them. See assetferry help ckbox.

To resume or to update an export, run the command again. It downloads only new
and changed assets. It never deletes files of deleted, moved or renamed assets.
A file is written completely or not at all. A category that was private once
stays private in the export.

assetferry migrate accepts an export as a source: see assetferry help ckbox.
For incomplete uploads in a bucket, see assetferry help s3.
`,
		Example: `  assetferry export ./backup
  assetferry export s3://photos/backup --dry-run
  assetferry export ./backup --versions 5`,
		Args:              cmdline.One("DIR or s3://bucket/prefix"),
		ValidArgsFunction: cmdline.Directories,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			n, err := exportedVersions(versions)
			if err != nil {
				return err
			}
			return exportAssets(ctx, f, args[0], n, dryRun)
		}),
	}
	flags := c.Flags()
	flags.BoolVarP(&dryRun, "dry-run", "n", false, "show the files to write and stop")
	flags.StringVar(&versions, "versions", "", fmt.Sprintf("write the last `N` revisions of each asset, with the current one; 1 to %s (default 1)", ui.Count(export.MaxVersions)))
	flags.StringP("concurrency", "j", "", fmt.Sprintf("maximum `number` of downloads at the same time (default %d)", migrate.DefaultConcurrency))
	cmdline.Setting(flags, "bwlimit", "maximum `rate` in bytes per second, such as 2M, or a timetable such as 08:00,512K 19:00,off")
	cmdline.Setting(flags, "max-duration", "stop after this `duration`")
	cmdline.Setting(flags, "until", "stop at this `time` of day, such as 06:00")
	cmdline.Setting(flags, "endpoint", "`URL` of an S3 service other than AWS")
	return c
}

// exportedVersions parses --versions. It is no setting: the versions of a job are those of its source.
func exportedVersions(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > export.MaxVersions {
		return 0, exit.Usage(fmt.Errorf("--versions: %q is not a number from 1 to %d", text, export.MaxVersions), "use a number of revisions, such as --versions 5")
	}
	return n, nil
}

func exportAssets(ctx context.Context, f *command.Factory, to string, versions int, dryRun bool) error {
	began := time.Now()
	f.Summary = &event.Summary{Command: "export", Actions: event.Counts{}, States: event.Counts{}}
	defer f.StartWindow()()
	store, place, err := openStore(ctx, f, to)
	if err != nil {
		return err
	}
	dest, err := f.OpenDestination(ctx, true)
	if err != nil {
		return err
	}
	if _, err := f.Ping(ctx, dest); err != nil {
		return err
	}
	from := command.Library(dest)
	f.Summary.Source, f.Summary.Destination = from.Identity(), place
	f.Out.Notef("Source       %s", dest)
	f.Out.Notef("Destination  %s", ui.Sanitize(place))
	results := &exportResults{Factory: f, dryRun: dryRun, done: map[export.Action]int64{}}
	if versions > 1 {
		f.Summary.Versions = &event.Versions{}
	}
	limit := ratelimit.NewBandwidth(f.Settings.Bandwidth, clock.Now)
	e := export.Exporter{
		Library: from, Store: store, Now: dest.Now, Concurrency: migrate.Workers(f.Settings.Concurrency), Limit: limit.Reader,
		Stop: f.Stop, Outcome: results.outcome, Progress: func(n int64) { f.Out.Progress().Add(0, n) },
		StaysPrivate: results.staysPrivate, DryRun: dryRun, Versions: versions,
	}
	f.Out.Progress().StartPhase("export", -1, -1)
	f.Draining.Store(true)
	err = e.Run(retry.WithDrain(ctx, f.Stop))
	f.Draining.Store(false)
	f.Out.Progress().EndPhase()
	f.Summary.Seconds = event.Seconds(time.Since(began))
	if err == nil || len(f.Summary.States) > 0 {
		results.sumUp(time.Since(began))
	}
	return results.failure(ctx, place, err)
}

// failure returns the error of an export for its user.
func (t *exportResults) failure(ctx context.Context, place string, err error) error {
	f := t.Factory
	occupied, is := errors.AsType[*export.OccupiedError](err)
	other, differs := errors.AsType[*export.VersionsError](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, export.ErrStopped) || errors.Is(err, retry.ErrDraining):
		return f.WhyStopped()
	case is:
		return exit.Usage(fmt.Errorf("export to %s: %w", ui.Sanitize(place), occupied), "use a new or empty directory, or one with an export of the same workspace")
	case differs:
		return exit.Usage(fmt.Errorf("export to %s: %w", ui.Sanitize(place), other), fmt.Sprintf("add --versions %d, or use an empty folder or prefix", other.Versions))
	case err != nil:
		return err
	case t.failed > 0:
		f.Out.Next("Run the same command again. Exported assets are not downloaded again.", "")
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// openStore opens the directory or the bucket of an export.
func openStore(ctx context.Context, f *command.Factory, to string) (store export.Store, place string, err error) {
	switch scheme, _, isURL := strings.Cut(to, "://"); {
	case to == "":
		return nil, "", exit.Usage(errors.New("DIR is empty"), "use a directory, such as ./backup, or a bucket, such as s3://bucket/prefix")
	case isURL && scheme != s3.Scheme:
		return nil, "", exit.Usage(fmt.Errorf("export to %q is not possible", scheme), "use a directory, such as ./backup, or a bucket, such as s3://bucket/prefix")
	case isURL:
		url, err := s3.ParseURL(to)
		if err != nil {
			return nil, "", command.BadURL(err)
		}
		o, err := f.BucketOptions()
		if err != nil {
			return nil, "", err
		}
		s, err := s3.NewStore(ctx, url, o)
		if err != nil {
			return nil, "", err
		}
		f.CloseLater(func() error { s.CloseIdleConnections(); return nil })
		return s, s.Identity(), nil
	}
	d := export.OpenDirectory(to)
	f.CloseLater(d.Close)
	return d, to, nil
}

// exportResults counts and shows the results of an export.
type exportResults struct {
	*command.Factory
	dryRun bool
	done   map[export.Action]int64
	failed int64
}

func (t *exportResults) outcome(o export.Outcome) {
	state, text := "done", ""
	switch {
	case o.Err != nil:
		state, text = "failed", o.Err.Error()
		t.failed++
		if t.failed <= outcome.ShownProblems || t.Out.Verbose() {
			t.Out.Printf("failed    %s: %s", ui.Sanitize(string(o.Key)), ui.Sanitize(reasonOf(o.Err)))
		}
	case o.Action == export.Unchanged:
		state = "skipped"
	case t.dryRun:
		state = "planned"
	}
	if o.Err == nil {
		t.done[o.Action]++
	}
	if o.Action != "" {
		t.Summary.Actions[string(o.Action)]++
	}
	t.Summary.States[state]++
	if state == "done" && !o.Unwritten {
		t.Summary.Bytes += o.Size
	}
	t.addRevisions(o)
	if o.Action != export.Unchanged || o.Err != nil || t.Out.Verbose() {
		t.Out.Event("item", event.Item{Key: string(o.Key), Action: string(o.Action), State: state, AssetID: o.Asset, URL: o.URL, Revisions: o.Revisions.Written, Error: text})
	}
	t.Out.Progress().Add(1, 0)
	t.Out.Log().Debug("asset", "key", o.Key, "path", o.Path, "action", o.Action, "error", o.Err)
}

// addRevisions adds the earlier revisions of an asset to the summary.
func (t *exportResults) addRevisions(o export.Outcome) {
	v, r := t.Summary.Versions, o.Revisions
	if v == nil || r.Older == 0 {
		return
	}
	v.Objects++
	v.Older += r.Older
	v.OlderBytes += r.OlderBytes
	v.Brought += r.Written
	v.BroughtBytes += r.WrittenBytes
	v.Omitted += r.Failed
	if !t.dryRun {
		t.Summary.Bytes += r.WrittenBytes
	}
}

// staysPrivate reports a category that is public now, but private in the export.
func (t *exportResults) staysPrivate(category string) {
	t.Out.Notef("Category %q is public now, but was private in the last export. It stays private in this export, which may contain files from then. For a public one, export to a new directory.", ui.Sanitize(category))
}

// reasonOf returns the error of an object, without its key.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*sources.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}

// sumUp prints the result of the export.
func (t *exportResults) sumUp(took time.Duration) {
	if more := t.failed - outcome.ShownProblems; more > 0 && !t.Out.Verbose() {
		t.Out.Printf("… and %s more: --verbose", ui.Count(more))
	}
	verb := "exported"
	if t.dryRun {
		verb = "would be exported"
	}
	t.Out.Printf("%s %s: %s new, %s replaced, %s unchanged, %s failed (%s in %s).", ui.Counted(t.done[export.Create]+t.done[export.Replace], "asset"), verb,
		ui.Count(t.done[export.Create]), ui.Count(t.done[export.Replace]), ui.Count(t.done[export.Unchanged]), ui.Count(t.failed), ui.Bytes(t.Summary.Bytes), ui.Duration(took))
	v := t.Summary.Versions
	if v == nil || v.Older == 0 {
		return
	}
	text := fmt.Sprintf("Earlier revisions: %s %s (%s)", ui.Count(v.Brought), verb, ui.Bytes(v.BroughtBytes))
	if v.Omitted > 0 {
		text += fmt.Sprintf(", %s failed", ui.Count(v.Omitted))
	}
	t.Out.Printf("%s. %s %s at the service (%s).", text, ui.CountedAs(v.Objects, "new or replaced asset has", "new or replaced assets have"), ui.Count(v.Older), ui.Bytes(v.OlderBytes))
}
