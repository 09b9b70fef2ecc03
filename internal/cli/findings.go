package cli

import (
	"context"

	"assetferry/internal/event"
	"assetferry/internal/preflight"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// findings is what people should know of a plan before it is carried out.
func (a *app) findings(ctx context.Context, s *endpoints, plan migrate.Plan, probed bool) ([]preflight.Finding, error) {
	found, err := a.survey(ctx, s, plan, probed)
	if err != nil {
		return nil, err
	}
	var more []preflight.Finding
	switch {
	case probed:
		more, err = a.probe(ctx, s, plan)
	case s.source.Traits().ContentTags:
		more, err = preflight.EqualTags(ctx, s.journal, plan.Run.Num)
	}
	found = append(found, preflight.Doubled(plan.Doubled)...)
	return preflight.Sorted(append(found, more...)), err
}

// survey looks through the items of a plan.
func (a *app) survey(ctx context.Context, s *endpoints, plan migrate.Plan, probed bool) ([]preflight.Finding, error) {
	categories, err := s.journal.Categories(ctx, s.pair.Destination)
	if err != nil {
		return nil, err
	}
	for _, c := range plan.Categories {
		categories[c.Category()] = state.Category{Name: c.Name, Private: c.Private}
	}
	survey := preflight.NewSurvey(preflight.Options{
		Categories: categories, MaxFileSize: plan.Limits.MaxFileSize, Blocks: plan.Blocked(s.rules), Probed: probed,
	})
	for i, err := range s.journal.Items(ctx, plan.Run.Num) {
		if err != nil {
			return nil, err
		}
		survey.Add(&i)
	}
	return survey.Findings(), nil
}

// probe looks into the objects of a plan, and says before how much that is to read.
func (a *app) probe(ctx context.Context, s *endpoints, plan migrate.Plan) ([]preflight.Finding, error) {
	p := preflight.NewProbe(s.source, s.journal, plan.Limits.MaxMegapixels)
	p.Concurrency, p.Progress = a.settings.Concurrency, a.out.Progress().Add
	objects, bytes, err := p.Begin(ctx, plan.Run.Num)
	if err != nil {
		return nil, err
	}
	a.out.Notef("Reads the beginning of %s, about %s, and whole what begins like another of its size.", count(objects, "object"), ui.Bytes(bytes))
	a.out.Progress().StartPhase("look into objects", objects, -1)
	defer a.out.Progress().EndPhase()
	return p.Run(ctx, plan.Run.Num)
}

// showFindings tells what a survey found.
func (a *app) showFindings(all []preflight.Finding) {
	lines := make([]event.Check, len(all))
	for n, f := range all {
		lines[n] = checkLine(f)
		a.out.Event("check", lines[n])
	}
	if len(lines) > 0 {
		a.out.Printf("\n%s\n", ui.Findings(lines, a.out.Verbose()))
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

// tellDoubled says, before a plan is carried out, that names are at the destination more
// than once.
func (a *app) tellDoubled(names int64) {
	for _, f := range preflight.Doubled(names) {
		a.out.Event("check", checkLine(f))
		a.out.Notef("%s.", f.Message())
	}
}

// tellLosses says, before a plan is carried out, that not everything will arrive.
func (a *app) tellLosses(s *endpoints, tallies []state.Tally, source string) {
	if n := preflight.Losses(tallies); n > 0 {
		a.out.Notef("%s to look at, which %s shows.", count(int64(n), "thing"), a.again(s.command(), a.sourceArgument(source), "--dry-run"))
	}
}
