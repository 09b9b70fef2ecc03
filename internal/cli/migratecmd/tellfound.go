package migratecmd

import (
	"context"
	"fmt"
	"strings"

	"assetferry/internal/cli/command"
	"assetferry/internal/event"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/state"
)

// shownFields is how many fields are shown that went nowhere.
const shownFields = 20

// printFound says at the end of a run what was found of its objects and did not go into
// assets, or not in the way that people may think. Its report says the same later.
func printFound(ctx context.Context, f *command.Factory, s *endpoints, run state.Run) error {
	found, err := report.ReadFound(ctx, s.store, run.Num)
	if err != nil {
		return err
	}
	printNowhere(f, found)
	found.GPS = f.Settings.GPS
	f.Summary.GPSObjects = found.Positions
	for _, said := range found.Said() {
		f.Out.Notef("%s", said)
	}
	printRemarks(f, run, found)
	return nil
}

// printNowhere lists the fields that went nowhere, those of the most objects first.
func printNowhere(f *command.Factory, found report.Found) {
	if len(found.Unmapped) == 0 {
		return
	}
	var rows [][]string
	for _, field := range found.Unmapped {
		f.Summary.UnmappedFields = append(f.Summary.UnmappedFields, event.Field{Field: field.Name, MetadataSource: field.From, Objects: field.Objects})
		if len(rows) < shownFields || f.Out.Verbose() {
			rows = append(rows, []string{field.Name, field.From, ui.Count(field.Objects)})
		}
	}
	if rest := found.UnmappedFields - int64(len(rows)); rest > 0 {
		rows = append(rows, []string{fmt.Sprintf("… and %s more, see --verbose", ui.Count(rest))})
	}
	f.Out.Notef("Fields that went nowhere; assetferry help mapping tells how to send them:\n%s",
		strings.TrimSuffix(ui.Table([]ui.Column{{Title: "Field"}, {Title: "Found in"}, {Title: "Objects", Right: true}}, rows), "\n"))
}

// printRemarks tells what there is to say of objects that came through: the first of each
// kind.
func printRemarks(f *command.Factory, run state.Run, found report.Found) {
	f.Summary.UnreadableSidecars = found.Of(report.BrokenSidecar)
	for _, r := range found.Remarks {
		f.Out.Notef("%s: %s", r.What, ui.Counted(r.Objects, "object"))
		for _, e := range r.Examples {
			f.Out.Notef("  %s: %s", ui.Sanitize(e.Key), ui.Sanitize(e.Error))
		}
		if rest := r.Objects - int64(len(r.Examples)); rest > 0 {
			f.Out.Notef("  … and %s more: %s lists them", ui.Count(rest), f.Again("report", nil, "--run", run.ID, "--only", "remarked"))
		}
	}
}
