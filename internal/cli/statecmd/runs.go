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

// listedRuns is the default number of runs per source.
const listedRuns = 30

// NewRunsCommand makes assetferry runs.
func NewRunsCommand(f *command.Factory) *cobra.Command {
	limit := listedRuns
	c := &cobra.Command{
		Use:   "runs",
		Short: "List all runs in the state database",
		Long: `Runs lists the runs of each source and destination, the newest last, with their
results. "Left" counts objects that did not arrive: failed, changed, scheduled
for a retry, in conflict, unconfirmed or not sent yet. "All" also counts skipped
and unchanged objects.

For syncs, a second table shows the trend, and how the last sync differs from
the one before. Runs of enrich come last, with their billed requests.

Runs reads only the state database. --json has all numbers of every run.
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
	c.Flags().IntVar(&limit, "limit", listedRuns, "list at most this `number` of runs per source")
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
		back, err := store.TakenBack(ctx, r.Num)
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

// account counts the objects of a run: all, those whose action was carried out, and those that did
// not arrive.
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
