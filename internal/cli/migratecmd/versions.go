package migratecmd

import (
	"context"
	"fmt"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// checkVersions refuses rules that bring older versions from a source without versions, or to a
// service that cannot replace the content of assets.
func (s *endpoints) checkVersions() error {
	if !s.rules.BringsVersions() {
		return nil
	}
	if _, ok := s.source.(sources.Historian); !ok {
		return exit.Usage(fmt.Errorf("--versions: %s has no older versions of objects", s.pair.Source),
			"remove --versions; older versions are read from buckets (s3://), from CKBox (ckbox://), from exports that assetferry export --versions wrote to a folder or a bucket, and from tables with --table-columns revision=COLUMN")
	}
	if s.dest.Profile.IsWithout("replace") {
		return exit.With(exit.CodeError, fmt.Errorf("--versions: by its profile, %s does not replace the content of assets", s.dest.Place()),
			"remove --versions; each asset then has the current version")
	}
	return nil
}

// showVersions shows how many older versions the objects of a plan have, and how many are brought.
// Without --versions it shows how many the source has or, if only requests can count them, whether it
// keeps any.
func showVersions(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan) error {
	source, ok := s.source.(sources.Historian)
	if !ok || !uploads(plan.Tallies) {
		return nil
	}
	if s.rules.BringsVersions() {
		return showHistories(ctx, f, s, plan)
	}
	if counter, ok := s.source.(sources.VersionCounter); ok {
		return countVersions(ctx, f, counter)
	}
	kept, err := source.KeepsVersions(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil { // it needs another permission, and the plan does not depend on it
		f.Out.Log().Info("it is unknown whether the source keeps older versions", "error", err)
		return nil
	}
	if kept {
		f.Out.Printf("The source keeps older versions of objects. They are not uploaded and not counted; --versions N brings the last N versions.")
	}
	return nil
}

// countVersions shows how many older versions the source has.
func countVersions(ctx context.Context, f *command.Factory, source sources.VersionCounter) error {
	objects, older, err := source.CountVersions(ctx)
	if err == nil && older > 0 {
		f.Out.Printf("At the source, %s: %s. They are not uploaded; --versions N brings the last N versions.",
			ui.CountedAs(objects, "object has older versions", "objects have older versions"), ui.Counted(older, "version"))
	}
	return err
}

func showHistories(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan) error {
	sum, err := s.store.Histories(ctx, plan.Run.Num)
	if err != nil {
		return err
	}
	f.Out.Printf("%s", versionsText(sum))
	return nil
}

// sumUpVersions adds the older versions of a run to the summary, if its rules bring some.
func sumUpVersions(ctx context.Context, f *command.Factory, s *endpoints, run state.Run) error {
	if !s.rules.BringsVersions() {
		return nil
	}
	sum, err := s.store.Histories(ctx, run.Num)
	f.Summary.Versions = &event.Versions{Objects: sum.Objects, Older: sum.Older, OlderBytes: sum.OlderBytes, Brought: sum.Brought, BroughtBytes: sum.BroughtBytes, Omitted: sum.Omitted}
	return err
}

// versionsText returns a sum of histories in words.
func versionsText(sum state.HistorySum) string {
	if sum.Older == 0 {
		return "No object has older versions."
	}
	text := fmt.Sprintf("%s: %s (%s). The run brings %s of them (%s)", ui.CountedAs(sum.Objects, "object has older versions", "objects have older versions"),
		ui.Counted(sum.Older, "version"), ui.Bytes(sum.OlderBytes), ui.Count(sum.Brought), ui.Bytes(sum.BroughtBytes))
	if left := sum.Older - sum.Brought; left > 0 {
		return text + fmt.Sprintf("; %s (%s) stay behind.", ui.Count(left), ui.Bytes(sum.OlderBytes-sum.BroughtBytes))
	}
	return text + "."
}

// uploads reports whether a plan uploads objects.
func uploads(tallies []state.Tally) bool {
	for _, t := range tallies {
		if t.State == state.ItemPlanned && (t.Action == state.Create || t.Action == state.Replace) {
			return true
		}
	}
	return false
}
