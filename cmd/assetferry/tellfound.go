package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

const (
	shownFields  = 20   // that went nowhere
	listedFields = 1000 // in JSON
	shownBroken  = 5    // sidecars
)

// tellFound says at the end of a run what was found of its objects and did not go into
// assets, or not in the way that people may think.
func (a *app) tellFound(ctx context.Context, s *endpoints, run state.Run) error {
	fields, err := s.journal.Fields(ctx, run.Num)
	if err != nil {
		return err
	}
	a.tellNowhere(fields)
	a.tellPositions(fields)
	if n := objectsWith(fields, "created"); n > 0 {
		a.out.Notef("Times of their making: found of %s, in the attribute created unless a rule says otherwise. The service dates every asset by its upload.", objectsIn(n))
	}
	return a.tellBroken(ctx, s, run)
}

// tellNowhere lists the fields that went nowhere, those of the most objects first.
func (a *app) tellNowhere(fields []state.FieldCount) {
	lost := slices.DeleteFunc(slices.Clone(fields), func(f state.FieldCount) bool { return f.Unmapped == 0 })
	if len(lost) == 0 {
		return
	}
	slices.SortStableFunc(lost, func(a, b state.FieldCount) int { return cmp.Compare(b.Unmapped, a.Unmapped) })
	for _, f := range lost[:min(len(lost), listedFields)] {
		a.summary.Fields = append(a.summary.Fields, ui.FieldLine{Field: f.Name, From: f.Origin, Objects: f.Unmapped})
	}
	var rows [][]string
	for n, f := range lost {
		if n == shownFields && !a.out.Verbose() {
			rows = append(rows, []string{fmt.Sprintf("… and %s more, see --verbose", ui.Count(int64(len(lost)-n)))})
			break
		}
		rows = append(rows, []string{f.Name, f.Origin, ui.Count(f.Unmapped)})
	}
	a.out.Notef("Fields that were found and went nowhere; assetferry help mapping tells how to send them:\n%s",
		strings.TrimSuffix(ui.Table([]ui.Column{{Title: "Field"}, {Title: "Found in"}, {Title: "Objects", Right: true}}, rows), "\n"))
}

// tellPositions says how many objects tell where they were made: people may not want that
// to be seen.
func (a *app) tellPositions(fields []state.FieldCount) {
	n := objectsWith(fields, "latitude")
	if n == 0 {
		return
	}
	a.summary.Positions = n
	if a.settings.GPS == "drop" {
		a.out.Notef("Positions on earth: found of %s, and left out of the attributes. The files themselves are as they were.", objectsIn(n))
		return
	}
	a.out.Notef("Positions on earth: found of %s, and now in the attributes of their assets. --gps drop leaves them out there; the files themselves keep them.", objectsIn(n))
}

// objectsWith is of how many objects a field was found at least: several origins may have
// it of the same one.
func objectsWith(fields []state.FieldCount, name string) (most int64) {
	for _, f := range fields {
		if f.Name == name {
			most = max(most, f.Objects)
		}
	}
	return most
}

func objectsIn(n int64) string { return count(n, "object") }

// tellBroken says which sidecars could not be read.
func (a *app) tellBroken(ctx context.Context, s *endpoints, run state.Run) error {
	var total int64
	for i, err := range s.journal.Remarkable(ctx, run.Num) {
		if err != nil {
			return err
		}
		if i.State != state.ItemDone || !strings.Contains(i.Error, migrate.NotTaken) {
			continue
		}
		if total == 0 {
			a.out.Notef("Sidecars that could not be read, so that what they say is missing:")
		}
		if total++; total <= shownBroken || a.out.Verbose() {
			a.out.Notef("  %s", ui.Sanitize(i.Error))
		}
	}
	if total > shownBroken && !a.out.Verbose() {
		a.out.Notef("  … and %s more, see --verbose", ui.Count(total-shownBroken))
	}
	a.summary.BrokenSidecars = total
	return nil
}
