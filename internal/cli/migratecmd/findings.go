package migratecmd

import (
	"context"

	"assetferry/internal/cli/command"
	"assetferry/internal/event"
	"assetferry/internal/preflight"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// findings returns what people should know about a plan before it is carried out.
func findings(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, probed bool) ([]preflight.Finding, error) {
	found, err := collectFindings(ctx, f, s, plan, probed)
	if err != nil {
		return nil, err
	}
	var more []preflight.Finding
	switch {
	case probed:
		more, err = probeObjects(ctx, f, s, plan)
	case s.source.Traits().ContentTags:
		more, err = preflight.EqualTags(ctx, s.store, plan.Run.Num)
	}
	found = append(found, preflight.Doubled(plan.DuplicateNames)...)
	return preflight.Sorted(append(found, more...)), err
}

// collectFindings collects the findings from the items of a plan.
func collectFindings(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, probed bool) ([]preflight.Finding, error) {
	categories, err := s.store.Categories(ctx, s.pair.Destination)
	if err != nil {
		return nil, err
	}
	for _, c := range plan.Categories {
		categories[c.Category()] = state.Category{Name: c.Name, Private: c.Private}
	}
	collector := preflight.NewCollector(preflight.Options{
		Categories: categories, MaxFileSize: plan.Limits.MaxFileSize, Blocks: plan.Blocked(s.rules), Probed: probed,
	})
	for i, err := range s.store.Items(ctx, plan.Run.Num) {
		if err != nil {
			return nil, err
		}
		collector.Add(&i)
	}
	return collector.Findings(), nil
}

// probeObjects reads the beginning of the objects of a plan. It reports first how much that is.
func probeObjects(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan) ([]preflight.Finding, error) {
	p := preflight.NewProbe(s.source, s.store, plan.Limits.MaxMegapixels)
	p.Concurrency, p.Progress = f.Settings.Concurrency, f.Out.Progress().Add
	objects, bytes, err := p.Begin(ctx, plan.Run.Num)
	if err != nil {
		return nil, err
	}
	f.Out.Notef("Reading the beginning of %s, about %s. Objects that look identical are read to the end.", ui.Counted(objects, "object"), ui.Bytes(bytes))
	f.Out.Progress().StartPhase("read objects", objects, -1)
	defer f.Out.Progress().EndPhase()
	return p.Run(ctx, plan.Run.Num)
}

// showFindings shows the findings of a plan.
func showFindings(f *command.Factory, all []preflight.Finding) {
	lines := make([]event.Check, len(all))
	for n, finding := range all {
		lines[n] = checkLine(finding)
		f.Out.Event("check", lines[n])
	}
	if len(lines) > 0 {
		f.Out.Printf("\n%s", ui.Findings(lines, f.Out.Verbose()))
	}
}

func checkLine(f preflight.Finding) event.Check {
	l := event.Check{
		Check: f.ID, Result: string(f.Severity), Message: f.Message(), Hint: f.Remedy,
		Objects: f.Objects, Bytes: f.Bytes, Examples: f.Examples,
	}
	for _, p := range f.Parts {
		l.Facts = append(l.Facts, event.Fact{Name: p.Name, Value: p.String()})
	}
	return l
}

// printDoubled warns, before a run uploads anything, of names that exist more than once at the
// destination.
func printDoubled(f *command.Factory, names int64) {
	for _, finding := range preflight.Doubled(names) {
		f.Out.Event("check", checkLine(finding))
		f.Out.Notef("Warning: %s.", finding.Message())
	}
}
