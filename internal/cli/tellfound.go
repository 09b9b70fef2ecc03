package cli

import (
	"context"
	"fmt"
	"strings"

	"assetferry/internal/event"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/state"
)

// shownFields is how many fields are shown that went nowhere.
const shownFields = 20

// tellFound says at the end of a run what was found of its objects and did not go into
// assets, or not in the way that people may think. Its report says the same later.
func (a *app) tellFound(ctx context.Context, s *endpoints, run state.Run) error {
	found, err := report.ReadFound(ctx, s.journal, run.Num)
	if err != nil {
		return err
	}
	a.tellNowhere(found)
	found.GPS = a.settings.GPS
	a.summary.Positions = found.Positions
	for _, said := range found.Said() {
		a.out.Notef("%s", said)
	}
	a.tellRemarks(run, found)
	return nil
}

// tellNowhere lists the fields that went nowhere, those of the most objects first.
func (a *app) tellNowhere(found report.Found) {
	if len(found.Unmapped) == 0 {
		return
	}
	var rows [][]string
	for _, f := range found.Unmapped {
		a.summary.Fields = append(a.summary.Fields, event.Field{Field: f.Name, From: f.From, Objects: f.Objects})
		if len(rows) < shownFields || a.out.Verbose() {
			rows = append(rows, []string{f.Name, f.From, ui.Count(f.Objects)})
		}
	}
	if rest := found.UnmappedFields - int64(len(rows)); rest > 0 {
		rows = append(rows, []string{fmt.Sprintf("… and %s more, see --verbose", ui.Count(rest))})
	}
	a.out.Notef("Fields that went nowhere; assetferry help mapping tells how to send them:\n%s",
		strings.TrimSuffix(ui.Table([]ui.Column{{Title: "Field"}, {Title: "Found in"}, {Title: "Objects", Right: true}}, rows), "\n"))
}

// tellRemarks tells what there is to say of objects that came through: the first of each
// kind.
func (a *app) tellRemarks(run state.Run, found report.Found) {
	a.summary.BrokenSidecars = found.Of(report.BrokenSidecar)
	for _, r := range found.Remarks {
		a.out.Notef("%s: %s", r.What, count(r.Objects, "object"))
		for _, e := range r.Examples {
			a.out.Notef("  %s: %s", ui.Sanitize(e.Key), ui.Sanitize(e.Error))
		}
		if rest := r.Objects - int64(len(r.Examples)); rest > 0 {
			a.out.Notef("  … and %s more: %s lists them", ui.Count(rest), a.again("report", nil, "--run", run.ID, "--only", "remarked"))
		}
	}
}
