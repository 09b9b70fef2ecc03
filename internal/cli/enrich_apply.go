package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/enrich"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
	"assetferry/state/enrichment"
)

type applyOptions struct{ dryRun, yes bool }

func (a *app) enrichApplyCommand() *cobra.Command {
	var o applyOptions
	c := &cobra.Command{
		Use:   "apply",
		Short: "Write accepted proposals into assets",
		Long: `Apply writes what was accepted: descriptions, tags beside those that are there,
or custom attributes. It looks at each asset right before it writes. One whose
text is not what it was when the proposal was made is left as it is and is a
conflict: somebody wrote since. Between that look and the write the service has
no lock, so a person who saves within that moment is overwritten; it is a
fraction of a second.

Nothing is sent to the AI content service. assetferry undo --run ID takes all of
it back, but for what people wrote since.
`,
		Example: `  assetferry enrich apply --dry-run
  assetferry enrich apply --yes`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.applyProposals(ctx, o) }),
	}
	f := c.Flags()
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "show what would be written and stop")
	f.BoolVar(&o.yes, "yes", false, "write without asking")
	f.StringP("concurrency", "j", "", fmt.Sprintf("at most this `number` of assets at once (default %d)", migrate.DefaultConcurrency))
	addWindowFlags(f)
	addApprovalFlags(f)
	return c
}

func addWindowFlags(f *pflag.FlagSet) {
	setting(f, "max-duration", "stop after this `duration`")
	setting(f, "until", "stop at this `time` of day, such as 06:00")
}

func (a *app) applyProposals(ctx context.Context, o applyOptions) error {
	began := time.Now()
	if !o.dryRun && !o.yes && !a.onlyRequests() && !ui.IsTerminal(a.stdin) {
		return usage(errors.New("it asks before it writes anything, and nobody is here to answer"), "look with --dry-run, then add --yes")
	}
	s, approved := a.proposalsSubject()
	e, err := a.openEnrichmentFor(ctx, o.dryRun, s)
	if err != nil {
		return err
	}
	if err := e.sameProposals(ctx, approved()); err != nil {
		return err
	}
	accepted := &shownProposals{ctx: ctx, store: enrichment.In(e.journal), dest: e.dest, runs: map[string]enrichment.Run{}, filter: enrichment.Filter{States: []enrichment.State{enrichment.Accepted}}}
	if o.dryRun || !o.yes || a.out.Verbose() {
		if err := a.listProposals(accepted); err != nil {
			return err
		}
	}
	if o.dryRun {
		a.out.Notef("%s would be written, as far as nobody wrote there since. Nothing was changed: this was a dry run.", count(accepted.n, "proposal"))
		return nil
	}
	if accepted.n > 0 && !o.yes {
		yes, err := a.confirm(ctx, fmt.Sprintf("Write %s into assets at %s?", count(accepted.n, "proposal"), e.dest))
		if err != nil {
			return err
		}
		if !yes {
			return with(exitError, errors.New("nobody said yes, so nothing was written"), "answer y, or use --yes")
		}
	}
	return a.workOn(ctx, began, "enrich apply", e, e.Apply)
}

// undoEnrichment takes back what a run of enrich apply wrote.
func (a *app) undoEnrichment(ctx context.Context, dest *destination, journal *state.Store, run enrichment.Run, apply, yes bool) error {
	began := time.Now()
	switch {
	case run.Command != "apply":
		return with(exitError, fmt.Errorf("run %s of enrich %s wrote nothing into any asset", run.ID, run.Command), "assetferry runs lists the runs")
	case run.Destination != dest.identity():
		return otherDestination(run.ID, run.Destination, dest)
	}
	if _, err := a.greet(ctx, dest); err != nil {
		return err
	}
	e := &enrichSession{dest: dest, journal: journal}
	e.Engine = enrich.New(a.enrichDeps(e))
	a.out.Notef("Destination  %s", dest)
	a.out.Notef("Takes back   run %s of enrich apply, begun %s", run.ID, run.StartedAt.Local().Format(time.DateTime))
	n, err := a.showWritten(ctx, e, run)
	if err != nil {
		return err
	}
	if !apply {
		a.out.Printf("%s would be taken back, as far as nobody wrote there since. Nothing was changed; --apply does it.", count(n, "text"))
		return nil
	}
	if n > 0 && !yes {
		answer, err := a.confirm(ctx, fmt.Sprintf("Take back %s at %s?", count(n, "text"), dest))
		if err != nil {
			return err
		}
		if !answer {
			return with(exitError, errors.New("nobody said yes, so nothing was changed"), "answer y, or use --yes")
		}
	}
	return a.workOn(ctx, began, "undo", e, func(ctx context.Context) (enrich.Result, error) { return e.Undo(ctx, run.ID) })
}

// showWritten shows what a run wrote and what stands in the journal for before.
func (a *app) showWritten(ctx context.Context, e *enrichSession, run enrichment.Run) (n int64, err error) {
	for c, err := range e.Undoable(ctx, run.ID) {
		if err != nil {
			return n, err
		}
		n++
		a.out.Printf("%s: back to%s", ui.Sanitize(c.Enrichment.Asset), orNothing(quoted(textOf(c.Before))))
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
func (a *app) workOn(ctx context.Context, began time.Time, command string, e *enrichSession, work func(context.Context) (enrich.Result, error)) error {
	a.sumUpEnrich()
	a.summary.Destination = e.dest.identity()
	defer a.startWindow()()
	a.draining.Store(true)
	result, err := work(ctx)
	a.draining.Store(false)
	a.out.Progress().EndPhase()
	a.tellResult(command, result, began)
	a.backUp(context.WithoutCancel(ctx), e.journal)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case result.Stopped:
		return a.whyStopped()
	case result.States[enrichment.Failed]+result.States[enrichment.Conflict]+result.States[enrichment.Refused]+result.States[enrichment.Planned] > 0:
		return said(exitItems)
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

func (a *app) tellResult(command string, r enrich.Result, began time.Time) {
	if r.Run.ID == "" {
		return
	}
	s := a.summary
	s.Run, s.Seconds, s.BilledCalls, s.Credits, s.Bytes = r.Run.ID, event.Seconds(time.Since(began)), r.Run.Calls, r.Run.Credits, r.Run.Bytes
	a.out.Printf("\nRun %s of %s, %s:", r.Run.ID, command, ui.Duration(time.Since(began)))
	all := int64(0)
	for _, w := range resultWords() {
		n := r.States[w.state]
		if all += n; n > 0 {
			s.States[string(w.state)] = n
			a.out.Printf("    %s %s", ui.Count(n), w.word)
		}
	}
	if all == 0 {
		a.out.Printf("    nothing to do")
	}
	if r.Run.Calls > 0 {
		cost := ""
		if r.Run.Credits != nil {
			cost = ", " + creditsText(*r.Run.Credits) + " credits"
		}
		a.out.Printf("    %s%s", count(r.Run.Calls, "billed call"), cost)
	}
	if r.Left > 0 {
		a.out.Notef("%s could not be deleted at the service; the next run of enrich tries again.", count(r.Left, "conversation"))
	}
	a.nextOfEnrichment(r)
}

// nextOfEnrichment says what helps now.
func (a *app) nextOfEnrichment(r enrich.Result) {
	switch {
	case r.States[enrichment.Proposed] > 0:
		a.out.Notef("Try: assetferry enrich proposals --format html --output proposals.html")
	case r.States[enrichment.Applied] > 0:
		a.out.Notef("Try: assetferry undo --run %s shows what taking it back would do", r.Run.ID)
	}
	if r.States[enrichment.Failed]+r.States[enrichment.Planned] > 0 {
		a.out.Notef("Try: run the same command again; what was proposed is kept, and what did not fail for good is tried again")
	}
	if r.States[enrichment.Conflict] > 0 {
		a.out.Notef("Try: assetferry enrich proposals --only conflict shows where somebody wrote since")
	}
}
