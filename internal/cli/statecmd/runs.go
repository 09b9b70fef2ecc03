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

// listedRuns is the default of --limit.
const listedRuns = 30

// NewRunsCommand returns assetferry runs.
func NewRunsCommand(f *command.Factory) *cobra.Command {
	limit := listedRuns
	c := &cobra.Command{
		Use:   "runs",
		Short: "List the runs",
		Long: `Runs lists the runs of each source and destination, the newest last, with three
counts of their objects: All, Done and Left. Left counts objects that failed,
are in conflict, changed, are unconfirmed, are scheduled for retry, or are
pending. Skipped and unchanged objects count only in All.

State is the state of the run, or one of these:

  undone        an undo reverted the run, at least in part
  safety check  a safety check stopped the run
  stopped       the run is not finished, and no process is working on it

For syncs, runs also shows the trend: duration, created, replaced, moved,
trashed and failed objects, and objects with updated metadata. With --json, the
field "outcomes" contains these numbers. Runs of enrich come last, with the
billed requests to the AI content service.

Runs reads only the state database.
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
	c.Flags().IntVar(&limit, "limit", listedRuns, "list at most this `number` of runs for each source")
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
		rows = append(rows, []string{r.ID, commandOf(r), how, r.StartedAt.Local().Format(time.DateTime), took,
			ui.Count(all), ui.Count(done), ui.Count(left)})
		f.Out.Event("summary", recorded(r, tallies))
	}
	f.Out.Printf("%s -> %s\n%s", ui.Sanitize(p.Source), ui.Sanitize(p.Destination), ui.Table([]ui.Column{
		{Title: "Run"}, {Title: "Command"}, {Title: "State"}, {Title: "Started"},
		{Title: "Took", Right: true}, {Title: "All", Right: true}, {Title: "Done", Right: true}, {Title: "Left", Right: true},
	}, rows))
	trends, err := runstatus.Trends(ctx, store, runs)
	if err == nil && trends != "" {
		f.Out.Printf("%s", trends)
	}
	return err
}

// account counts the objects of a run: all, those whose action was carried out, and those that are
// left.
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
