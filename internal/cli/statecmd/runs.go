package statecmd

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/runstatus"
	"assetferry/internal/ui"
	"assetferry/state"
)

// listedRuns is how many runs of a source are listed unless somebody asks for more.
const listedRuns = 30

// NewRunsCommand makes assetferry runs.
func NewRunsCommand(f *command.Factory) *cobra.Command {
	limit := listedRuns
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the runs that the journal knows",
		Long: `Runs lists the runs of each source and destination, the newest last, with what
became of their objects. Left are objects of a run that did not arrive: that
failed, wait, changed, are in conflict or in doubt, or are still to be sent.
Skipped and unchanged objects are counted in All only. A run of which undo took
anything back is undone, one that a guard kept from being carried out is
guarded, and one that is not finished and that nobody works on is stopped. Of
syncs it shows the course from night to night, and how the last one differs from
the one before: how long it took, and what it created, replaced, described,
moved and trashed, and what failed. With --json, outcomes has these numbers for
every run. Runs of enrich come last, with the calls of the AI content service
that were billed.

It reads the journal and nothing else.
`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 1 {
				return exit.Usage(errors.New("--limit must be at least 1"), "")
			}
			store, err := f.ReadState(ctx)
			if err != nil {
				return err
			}
			h, err := store.Holder(ctx)
			if err != nil {
				return err
			}
			err = eachPair(ctx, f, store, limit, func(p state.Pair, runs []state.Run) error {
				return listRuns(ctx, f, store, p, runs, h.Alive)
			})
			if err != nil {
				return err
			}
			return listEnrichmentRuns(ctx, f, store, limit)
		}),
	}
	c.Flags().IntVar(&limit, "limit", listedRuns, "list at most this `number` of runs of a source")
	return c
}

func listRuns(ctx context.Context, f *command.Factory, store *state.Store, p state.Pair, runs []state.Run, atWork bool) error {
	var rows [][]string
	for _, r := range slices.Backward(runs) {
		tallies, err := store.Tallies(ctx, r.Num)
		if err != nil {
			return err
		}
		all, done, left := account(tallies)
		back, err := store.SumUndone(ctx, r.Num)
		if err != nil {
			return err
		}
		how := standing(r, atWork)
		if back.Objects > 0 {
			how = "undone"
		}
		took := ""
		if !r.FinishedAt.IsZero() {
			took = ui.Duration(runstatus.Took(r))
		}
		rows = append(rows, []string{r.ID, r.Command, how, r.StartedAt.Local().Format(time.DateTime), took,
			ui.Count(all), ui.Count(done), ui.Count(left)})
		f.Out.Event("summary", recorded(r, tallies))
	}
	f.Out.Printf("%s -> %s\n%s", ui.Sanitize(p.Source), ui.Sanitize(p.Destination), ui.Table([]ui.Column{
		{Title: "Run"}, {Title: "Command"}, {Title: "State"}, {Title: "Began"},
		{Title: "Took", Right: true}, {Title: "All", Right: true}, {Title: "Done", Right: true}, {Title: "Left", Right: true},
	}, rows))
	trends, err := runstatus.Trends(ctx, store, runs)
	if err == nil && trends != "" {
		f.Out.Printf("%s", trends)
	}
	return err
}

// account counts the objects of a run: all, those whose action was carried out, and
// those that should have arrived and did not.
func account(tallies []state.Tally) (all, done, left int64) {
	for _, t := range tallies {
		all += t.Objects
		switch t.State {
		case state.ItemDone:
			done += t.Objects
		case state.ItemSkipped:
		default:
			left += t.Objects
		}
	}
	return all, done, left
}
