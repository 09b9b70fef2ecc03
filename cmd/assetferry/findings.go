package main

import (
	"context"

	"assetferry/internal/preflight"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// survey looks through a plan for what people should know before it is carried out.
func (a *app) survey(ctx context.Context, s *endpoints, plan migrate.Plan) ([]preflight.Finding, error) {
	categories, err := s.journal.Categories(ctx, s.pair.Destination)
	if err != nil {
		return nil, err
	}
	survey := preflight.NewSurvey(preflight.Options{
		Categories: categories, MaxFileSize: plan.Limits.MaxFileSize, Blocks: plan.Blocked(s.rules),
	})
	for i, err := range s.journal.Items(ctx, plan.Run.Num) {
		if err != nil {
			return nil, err
		}
		survey.Add(&i)
	}
	return survey.Findings(), nil
}

// showFindings tells what a survey found.
func (a *app) showFindings(all []preflight.Finding) {
	lines := make([]ui.CheckLine, len(all))
	for n, f := range all {
		lines[n] = checkLine(f)
		a.out.Event("check", lines[n])
	}
	if len(lines) > 0 {
		a.out.Printf("\n%s\n", ui.Findings(lines, a.out.Verbose()))
	}
}

func checkLine(f preflight.Finding) ui.CheckLine {
	l := ui.CheckLine{
		Check: f.ID, Result: string(f.Severity), Message: f.Message(), Hint: f.Remedy,
		Objects: f.Objects, Bytes: f.Bytes, Examples: f.Examples,
	}
	for _, p := range f.Parts {
		l.Facts = append(l.Facts, ui.Fact{Name: p.Name, Value: p.String()})
	}
	return l
}

// tellLosses says, before a plan is carried out, that not everything will arrive.
func (a *app) tellLosses(tallies []state.Tally, source string) {
	if n := preflight.Losses(tallies); n > 0 {
		a.out.Notef("%s to look at: assetferry plan %s shows them.", count(int64(n), "thing"), ui.Sanitize(source))
	}
}
