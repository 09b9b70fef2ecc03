package migratecmd

import (
	"context"

	"assetferry/internal/cli/command"
	"assetferry/internal/event"
	"assetferry/internal/preflight"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/state"
)

// planFindings collects the findings about a plan while it is made, so that the items are not read
// again for them.
type planFindings struct {
	f         *command.Factory
	s         *endpoints
	probed    bool
	collector *preflight.Collector
	err       error // of reading the categories
}

// gatherFindings has the findings about the plan of a planner collected.
func gatherFindings(ctx context.Context, f *command.Factory, s *endpoints, planner *plan.Planner, probed bool) *planFindings {
	p := &planFindings{f: f, s: s, probed: probed}
	planner.Staged = func() func(*state.Item) {
		p.begin(ctx)
		return p.collector.Add
	}
	return p
}

// begin begins to collect. The categories are read when the first item needs them, because the
// plan stores them just before.
func (p *planFindings) begin(ctx context.Context) {
	var categories map[string]state.Category
	p.err = nil
	p.restart(func(id string) state.Category {
		if categories == nil && p.err == nil {
			categories, p.err = p.s.store.Categories(ctx, p.s.pair.Destination)
		}
		return categories[id]
	})
}

// restart forgets what was collected.
func (p *planFindings) restart(category func(id string) state.Category) {
	p.collector = preflight.NewCollector(preflight.Options{Probed: p.probed, Category: category})
}

// of returns what people should know about a plan before it is carried out.
func (p *planFindings) of(ctx context.Context, plan migrate.Plan) ([]preflight.Finding, error) {
	found, err := p.collect(ctx, plan)
	if err != nil {
		return nil, err
	}
	var more []preflight.Finding
	switch {
	case p.probed:
		more, err = probeObjects(ctx, p.f, p.s, plan)
	case p.s.source.Traits().ContentTags && p.collector.MayHaveEqualTags():
		more, err = preflight.EqualTags(ctx, p.s.store, plan.Run.Num)
	}
	found = append(found, preflight.Doubled(plan.DuplicateNames)...)
	return preflight.Sorted(append(found, more...)), err
}

// collect returns the findings from the items of a plan. It reads them if they changed after they
// were collected, or if the plan makes a category private.
func (p *planFindings) collect(ctx context.Context, plan migrate.Plan) ([]preflight.Finding, error) {
	categories, err := p.s.store.Categories(ctx, p.s.pair.Destination)
	if err != nil {
		return nil, err
	}
	for _, c := range plan.Categories {
		categories[c.Category()] = state.Category{Name: c.Name, Private: c.Private}
	}
	limits := preflight.Limits{MaxFileSize: plan.Limits.MaxFileSize, Blocks: plan.Blocked(p.s.rules)}
	if plan.AsStaged && p.err == nil && p.collector.HoldsFor(categories) {
		return p.collector.Findings(limits), nil
	}
	p.restart(func(id string) state.Category { return categories[id] })
	for i, err := range p.s.store.Items(ctx, plan.Run.Num) {
		if err != nil {
			return nil, err
		}
		p.collector.Add(&i)
	}
	return p.collector.Findings(limits), nil
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
