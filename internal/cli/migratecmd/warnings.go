package migratecmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// shownFields is the number of unmapped fields that --verbose lists.
const shownFields = 1000

// warnings are the warnings about a run. People see their counts in one line; the details are
// shown with --verbose, and the report has them.
type warnings struct{ counts, details []string }

// add adds a warning: its count with a noun, and details, which may be empty.
func (w *warnings) add(count, details string) {
	w.counts = append(w.counts, count)
	if details != "" {
		w.details = append(w.details, details)
	}
}

func (w *warnings) print(f *command.Factory) {
	if len(w.counts) > 0 {
		f.Out.Notef("Warnings: %s. See %s.", strings.Join(w.counts, "; "), f.Again("report", nil))
	}
	if f.Out.Verbose() {
		w.printDetails(f)
	}
}

// printDetails prints the details of all warnings.
func (w *warnings) printDetails(f *command.Factory) {
	for _, details := range w.details {
		f.Out.Notef("%s", details)
	}
}

// collect adds the warnings that the state database has. It reports whether rows of the metadata
// table are invalid.
func (w *warnings) collect(ctx context.Context, f *command.Factory, s *endpoints, run state.Run, tallies []state.Tally) (invalid bool, err error) {
	if err := w.addSkipped(ctx, s.store, run, tallies); err != nil || run.Undoes != 0 {
		return false, err
	}
	if err := w.addFound(ctx, f, s.store, run); err != nil {
		return false, err
	}
	if invalid, err = w.addTables(ctx, f, s, run, !run.Open()); err != nil {
		return invalid, err
	}
	return invalid, w.addRenamed(ctx, f, s.store, run)
}

// addSkipped warns of skipped objects that users may miss.
func (w *warnings) addSkipped(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) error {
	missed, err := outcome.NewlyMissed(ctx, store, run, tallies)
	if err != nil {
		return err
	}
	delete(missed, string(migrate.ReasonLimit)) // the next step brings them
	delete(missed, string(migrate.ReasonNotAtDestination))
	for _, reason := range slices.Sorted(maps.Keys(missed)) {
		w.add(fmt.Sprintf("%s skipped (%s)", ui.Count(missed[reason]), migrate.Reason(reason).Text()), "")
	}
	text, err := outcome.SkippedText(ctx, store, run, tallies)
	if text != "" {
		w.details = append(w.details, outcome.Wrapped(text, "  "))
	}
	return err
}

// addFound warns of metadata that is not in the assets as it was found.
func (w *warnings) addFound(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) error {
	found, err := report.ReadFound(ctx, store, run.Pair.ID, run.Num)
	if err != nil {
		return err
	}
	found.GPS = f.Settings.GPS
	f.Summary.GPSObjects, f.Summary.UnreadableSidecars = found.Positions, found.Of(report.BrokenSidecar)
	for _, r := range found.Remarks {
		w.add(remarkCount(r), remarkDetails(f, run, r))
	}
	if found.Positions > 0 {
		w.add(ui.Counted(found.Positions, "object")+" with GPS coordinates", "")
	}
	if n := found.UnmappedFields; n > 0 {
		w.add(ui.Counted(n, "unmapped field"), unmappedTable(f, found))
	}
	w.details = append(w.details, found.Said()...)
	return nil
}

// remarkCounts are the nouns for remarks, singular and plural.
var remarkCounts = map[report.RemarkKind][2]string{
	report.BrokenSidecar: {"object with an unreadable sidecar", "objects with unreadable sidecars"},
	report.TooLong:       {"object with shortened or omitted text", "objects with shortened or omitted texts"},
	report.Embedded:      {"object with unreadable embedded metadata", "objects with unreadable embedded metadata"},
	report.NotKept:       {"object with metadata that was not recorded", "objects with metadata that was not recorded"},
	report.EditsKept:     {"asset that keeps edits made at the destination", "assets that keep edits made at the destination"},
	report.OfCopy:        {"copy without metadata of its own", "copies without metadata of their own"},
	report.OlderVersions: {"object with omitted older versions", "objects with omitted older versions"},
	report.NewAsset:      {"changed object uploaded as a new asset", "changed objects uploaded as new assets"},
}

func remarkCount(r report.Remark) string {
	if noun, known := remarkCounts[r.Kind]; known {
		return ui.CountedAs(r.Objects, noun[0], noun[1])
	}
	return ui.CountedAs(r.Objects, "object with another remark", "objects with other remarks")
}

func remarkDetails(f *command.Factory, run state.Run, r report.Remark) string {
	lines := []string{fmt.Sprintf("%s: %s", r.What, ui.Counted(r.Objects, "object"))}
	for _, e := range r.Examples {
		lines = append(lines, fmt.Sprintf("  %s: %s", ui.Sanitize(e.Key), ui.Sanitize(e.Error)))
	}
	if rest := r.Objects - int64(len(r.Examples)); rest > 0 {
		lines = append(lines, fmt.Sprintf("  … and %s more:", ui.Count(rest)), "  "+f.Again("report", nil, "--run", run.ID, "--only", "warning"))
	}
	return strings.Join(lines, "\n")
}

// unmappedTable lists the fields without a rule, and adds them to the summary.
func unmappedTable(f *command.Factory, found report.Found) string {
	var rows [][]string
	for _, field := range found.Unmapped {
		f.Summary.UnmappedFields = append(f.Summary.UnmappedFields, event.Field{Field: field.Name, MetadataSource: field.From, Objects: field.Objects})
		if len(rows) < shownFields {
			rows = append(rows, []string{field.Name, field.From, ui.Count(field.Objects)})
		}
	}
	return strings.TrimSuffix(ui.Table([]ui.Column{{Title: "Unmapped field"}, {Title: "Found in"}, {Title: "Objects", Right: true}}, rows), "\n")
}

// addRenamed counts the assets whose names differ from the source, in all runs. It warns of those
// that this run created.
func (w *warnings) addRenamed(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) error {
	example, renamed := "", int64(0)
	for r, err := range migrate.RenamedAssets(ctx, store, run.Pair.ID) {
		if err != nil {
			return err
		}
		f.Summary.Renamed++
		if r.Run != run.Num {
			continue
		}
		if renamed++; renamed == 1 {
			example = fmt.Sprintf("Renamed, for example: %s is %q at the destination.", ui.Sanitize(string(r.Key)), r.Filename())
		}
	}
	if renamed > 0 {
		w.add(ui.Counted(renamed, "renamed asset"), example)
	}
	return nil
}
