package statecmd

import (
	"context"
	"slices"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/enrichment"
)

// listEnrichmentRuns lists the runs of enrich, the newest last.
func listEnrichmentRuns(ctx context.Context, f *command.Factory, store *state.Store, limit int) error {
	runs, err := enrichment.In(store).Runs(ctx, "", limit)
	if err != nil || len(runs) == 0 {
		return err
	}
	var rows [][]string
	for _, r := range slices.Backward(runs) {
		how, took := "stopped", ""
		line := event.Summary{
			Run: r.ID, Command: enrichCommandName(r), Destination: r.Destination, RunState: "applying", Began: ui.UTC(r.StartedAt), Finished: ui.UTC(r.FinishedAt),
			Actions: event.Counts{}, States: event.Counts{}, BilledRequests: r.Calls, Credits: r.Credits, Bytes: r.Bytes,
		}
		if !r.FinishedAt.IsZero() {
			how, took, line.RunState = "finished", ui.Duration(r.FinishedAt.Sub(r.StartedAt)), "finished"
			line.Seconds = event.Seconds(r.FinishedAt.Sub(r.StartedAt))
		}
		credits := ""
		if r.Credits != nil {
			credits = command.CreditsText(*r.Credits)
		}
		f.Out.Event("summary", line)
		rows = append(rows, []string{r.ID, enrichCommandName(r), how, r.StartedAt.Local().Format(time.DateTime), took, ui.Count(r.Calls), credits, r.Service})
	}
	f.Out.Printf("enrich\n%s", ui.Table([]ui.Column{
		{Title: "Run"}, {Title: "Command"}, {Title: "State"}, {Title: "Started"}, {Title: "Took", Right: true},
		{Title: "Requests", Right: true}, {Title: "Credits", Right: true}, {Title: "Service"},
	}, rows))
	return nil
}

// enrichCommandName returns the command of a run.
func enrichCommandName(r enrichment.Run) string {
	if r.Command == "undo" {
		return r.Command
	}
	return "enrich " + r.Command
}
