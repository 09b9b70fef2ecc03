package enrichcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/enrich"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
	"assetferry/state/enrichment"
)

type applyOptions struct{ dryRun, yes bool }

func newApplyCommand(f *command.Factory) *cobra.Command {
	var o applyOptions
	c := &cobra.Command{
		Use:   "apply",
		Short: "Write accepted proposals to assets",
		Long: `Apply writes accepted descriptions, tags and custom attributes to assets. Tags
are added to the existing ones. Just before a write, apply reads the asset
again: if its text changed since the proposal, the asset is a conflict and stays
as it is. The service has no lock, so an edit in that fraction of a second is
overwritten.

Nothing is sent to the AI content service. "assetferry undo --run ID" undoes a
run of apply.
`,
		Example: `  assetferry enrich apply --dry-run
  assetferry enrich apply --yes`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return applyProposals(ctx, f, o) }),
	}
	flags := c.Flags()
	flags.BoolVarP(&o.dryRun, "dry-run", "n", false, "show the texts to write and stop")
	flags.BoolVar(&o.yes, "yes", false, "write without a question")
	flags.StringP("concurrency", "j", "", fmt.Sprintf("maximum `number` of assets at the same time (default %d)", migrate.DefaultConcurrency))
	command.AddWindowFlags(flags)
	command.AddApprovalFlags(flags)
	return c
}

func applyProposals(ctx context.Context, f *command.Factory, o applyOptions) error {
	began := time.Now()
	if !o.dryRun && !o.yes && !f.OnlyRequests() && !ui.IsTerminal(f.Stdin) {
		return exit.Usage(errors.New("it asks before it writes anything, and nobody is here to answer"), "look with --dry-run, then add --yes")
	}
	s, approved := proposalsSubject(f)
	e, err := openEnrichmentFor(ctx, f, o.dryRun, s)
	if err != nil {
		return err
	}
	if err := e.sameProposals(ctx, approved()); err != nil {
		return err
	}
	accepted := &shownProposals{ctx: ctx, store: enrichment.In(e.store), dest: e.dest, runs: map[string]enrichment.Run{}, filter: enrichment.Filter{States: []enrichment.State{enrichment.Accepted}}}
	if o.dryRun || !o.yes || f.Out.Verbose() {
		if err := listProposals(f, accepted); err != nil {
			return err
		}
	}
	if o.dryRun {
		f.Out.Notef("%s would be written, as far as nobody wrote there since. Nothing was changed: this was a dry run.", ui.Counted(accepted.n, "proposal"))
		return nil
	}
	if accepted.n > 0 && !o.yes {
		yes, err := f.Confirm(ctx, fmt.Sprintf("Write %s into assets at %s?", ui.Counted(accepted.n, "proposal"), e.dest))
		if err != nil {
			return err
		}
		if !yes {
			return exit.With(exit.CodeError, errors.New("nobody said yes, so nothing was written"), "answer y, or use --yes")
		}
	}
	return workOn(ctx, f, began, "enrich apply", e, e.Apply)
}

// UndoEnrichment takes back what a run of enrich apply wrote.
func UndoEnrichment(ctx context.Context, f *command.Factory, dest *command.Destination, store *state.Store, run enrichment.Run, apply, yes bool) error {
	began := time.Now()
	switch {
	case run.Command != "apply":
		return exit.With(exit.CodeError, fmt.Errorf("run %s of enrich %s wrote nothing into any asset", run.ID, run.Command), "assetferry runs lists the runs")
	case run.Destination != dest.Identity():
		return command.OtherDestination(run.ID, run.Destination, dest)
	}
	if _, err := f.Ping(ctx, dest); err != nil {
		return err
	}
	e := &enrichSession{dest: dest, store: store}
	e.Engine = enrich.New(enrichDeps(f, e))
	f.Out.Notef("Destination  %s", dest)
	f.Out.Notef("Takes back   run %s of enrich apply, begun %s", run.ID, run.StartedAt.Local().Format(time.DateTime))
	n, err := showWritten(ctx, f, e, run)
	if err != nil {
		return err
	}
	if !apply {
		f.Out.Printf("%s would be taken back, as far as nobody wrote there since. Nothing was changed; --apply does it.", ui.Counted(n, "text"))
		return nil
	}
	if n > 0 && !yes {
		answer, err := f.Confirm(ctx, fmt.Sprintf("Take back %s at %s?", ui.Counted(n, "text"), dest))
		if err != nil {
			return err
		}
		if !answer {
			return exit.With(exit.CodeError, errors.New("nobody said yes, so nothing was changed"), "answer y, or use --yes")
		}
	}
	return workOn(ctx, f, began, "undo", e, func(ctx context.Context) (enrich.Result, error) { return e.Undo(ctx, run.ID) })
}

// showWritten shows what a run wrote and what stands in the journal for before.
func showWritten(ctx context.Context, f *command.Factory, e *enrichSession, run enrichment.Run) (n int64, err error) {
	for c, err := range e.Undoable(ctx, run.ID) {
		if err != nil {
			return n, err
		}
		n++
		f.Out.Printf("%s: back to%s", ui.Sanitize(c.Enrichment.Asset), orNothing(quoted(textOf(c.Before))))
	}
	return n, nil
}

// textOf is the text of what was written, wherever it stands.
func textOf(w enrichment.Written) string {
	switch {
	case w.Attribute != "" && w.Value != nil:
		return *w.Value
	case w.Description != nil:
		return *w.Description
	}
	return ""
}

func orNothing(text string) string {
	if text == "" {
		return " no text"
	}
	return text
}

// workOn runs the engine, until it is done or told to end, and sums up what came of it.
func workOn(ctx context.Context, f *command.Factory, began time.Time, command string, e *enrichSession, work func(context.Context) (enrich.Result, error)) error {
	sumUpEnrich(f)
	f.Summary.Destination = e.dest.Identity()
	defer f.StartWindow()()
	f.Draining.Store(true)
	result, err := work(ctx)
	f.Draining.Store(false)
	f.Out.Progress().EndPhase()
	printResult(f, command, result, began)
	f.BackUp(context.WithoutCancel(ctx), e.store)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case result.Stopped:
		return f.WhyStopped()
	case result.States[enrichment.Failed]+result.States[enrichment.Conflict]+result.States[enrichment.Refused]+result.States[enrichment.Planned] > 0:
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// resultWords are how people call the states of enrichments in a summary, in this order.
func resultWords() []struct {
	state enrichment.State
	word  string
} {
	return []struct {
		state enrichment.State
		word  string
	}{
		{enrichment.Proposed, "proposed"}, {enrichment.Rejected, "as good as it is"}, {enrichment.Applied, "written"}, {enrichment.Undone, "taken back"},
		{enrichment.Refused, "refused by moderation"}, {enrichment.Failed, "failed"}, {enrichment.Conflict, "in conflict"}, {enrichment.Planned, "left for the next run"},
	}
}

func printResult(f *command.Factory, name string, r enrich.Result, began time.Time) {
	if r.Run.ID == "" {
		return
	}
	s := f.Summary
	s.Run, s.Seconds, s.BilledRequests, s.Credits, s.Bytes = r.Run.ID, event.Seconds(time.Since(began)), r.Run.Calls, r.Run.Credits, r.Run.Bytes
	f.Out.Printf("\nRun %s of %s, %s:", r.Run.ID, name, ui.Duration(time.Since(began)))
	all := int64(0)
	for _, w := range resultWords() {
		n := r.States[w.state]
		if all += n; n > 0 {
			s.States[string(w.state)] = n
			f.Out.Printf("    %s %s", ui.Count(n), w.word)
		}
	}
	if all == 0 {
		f.Out.Printf("    nothing to do")
	}
	if r.Run.Calls > 0 {
		cost := ""
		if r.Run.Credits != nil {
			cost = ", " + command.CreditsText(*r.Run.Credits) + " credits"
		}
		f.Out.Printf("    %s%s", ui.Counted(r.Run.Calls, "billed call"), cost)
	}
	if r.Left > 0 {
		f.Out.Notef("%s could not be deleted at the service; the next run of enrich tries again.", ui.Counted(r.Left, "conversation"))
	}
	nextOfEnrichment(f, r)
}

// nextOfEnrichment says what helps now.
func nextOfEnrichment(f *command.Factory, r enrich.Result) {
	switch {
	case r.States[enrichment.Proposed] > 0:
		f.Out.Notef("Try: assetferry enrich proposals --format html --output proposals.html")
	case r.States[enrichment.Applied] > 0:
		f.Out.Notef("Try: assetferry undo --run %s shows what taking it back would do", r.Run.ID)
	}
	if r.States[enrichment.Failed]+r.States[enrichment.Planned] > 0 {
		f.Out.Notef("Try: run the same command again; what was proposed is kept, and what did not fail for good is tried again")
	}
	if r.States[enrichment.Conflict] > 0 {
		f.Out.Notef("Try: assetferry enrich proposals --only conflict shows where somebody wrote since")
	}
}
