package enrichcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
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
		Short: "Write accepted proposals into assets",
		Long: `Apply writes accepted proposals: descriptions, additional tags or custom
attributes. It reads each asset immediately before it writes. If a text changed
after the proposal, the asset is a conflict and does not change. The service
cannot lock an asset. A change that a user saves in the fraction of a second
between reading and writing is overwritten.

Apply sends nothing to the AI content service. To restore the previous texts,
except where users changed them afterwards:

    assetferry undo --run ID --apply
`,
		Example: `  assetferry enrich apply --dry-run
  assetferry enrich apply --yes`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return applyProposals(ctx, f, o) }),
	}
	flags := c.Flags()
	flags.BoolVarP(&o.dryRun, "dry-run", "n", false, "show the proposals to write, and write nothing")
	flags.BoolVar(&o.yes, "yes", false, "write without confirmation")
	flags.StringP("concurrency", "j", "", fmt.Sprintf("process at most this `number` of assets at a time (default %d)", migrate.DefaultConcurrency))
	command.AddWindowFlags(flags)
	command.AddApprovalFlags(flags)
	return c
}

func applyProposals(ctx context.Context, f *command.Factory, o applyOptions) error {
	began := time.Now()
	if !o.dryRun && !o.yes && !f.OnlyRequests() && !ui.IsTerminal(f.Stdin) {
		return exit.Usage(errors.New("enrich apply needs confirmation"), "in a script, check with --dry-run, then add --yes")
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
		f.Out.Printf("%s would be written. Nothing was changed (dry run).", ui.Counted(accepted.n, "proposal"))
		if accepted.n > 0 {
			printNext(f, "enrich apply", nil)
		}
		return nil
	}
	if accepted.n > 0 && !o.yes {
		yes, err := f.Confirm(ctx, fmt.Sprintf("Write %s into assets at %s?", ui.Counted(accepted.n, "proposal"), e.dest))
		if err != nil {
			return err
		}
		if !yes {
			return exit.With(exit.CodeError, errors.New("not confirmed: nothing was written"), "answer y, or add --yes")
		}
	}
	return workOn(ctx, f, began, "enrich apply", e, e.Apply)
}

// UndoEnrichment undoes a run of enrich apply.
func UndoEnrichment(ctx context.Context, f *command.Factory, dest *command.Destination, store *state.Store, run enrichment.Run, apply, yes bool) error {
	began := time.Now()
	switch {
	case run.Command != "apply":
		return exit.With(exit.CodeError, fmt.Errorf("run %s of enrich %s changed no assets", run.ID, run.Command), "list the runs:\n  "+f.Again("runs", nil))
	case run.Destination != dest.Identity():
		return command.OtherDestination(run.ID, run.Destination, dest)
	}
	if _, err := f.Ping(ctx, dest); err != nil {
		return err
	}
	e := &enrichSession{dest: dest, store: store}
	e.Engine = enrich.New(enrichDeps(f, e))
	f.Out.Notef("Destination  %s", dest)
	f.Out.Notef("Undo of      run %s of enrich apply, started %s", run.ID, run.StartedAt.Local().Format(time.DateTime))
	n, err := showWritten(ctx, f, e, run)
	if err != nil {
		return err
	}
	if !apply {
		f.Out.Printf("%s would be restored. Nothing was changed (dry run).", ui.Counted(n, "text"))
		if n > 0 {
			printNext(f, "undo", nil, "--run", run.ID, "--apply")
		}
		return nil
	}
	if n > 0 && !yes {
		answer, err := f.Confirm(ctx, fmt.Sprintf("Restore %s at %s?", ui.Counted(n, "text"), dest))
		if err != nil {
			return err
		}
		if !answer {
			return exit.With(exit.CodeError, errors.New("not confirmed: nothing was changed"), "answer y, or add --yes")
		}
	}
	return workOn(ctx, f, began, "undo", e, func(ctx context.Context) (enrich.Result, error) { return e.Undo(ctx, run.ID) })
}

// showWritten lists the changes of a run with the previous texts.
func showWritten(ctx context.Context, f *command.Factory, e *enrichSession, run enrichment.Run) (n int64, err error) {
	for c, err := range e.Undoable(ctx, run.ID) {
		if err != nil {
			return n, err
		}
		n++
		f.Out.Printf("%s: restore%s", ui.Sanitize(c.Enrichment.Asset), orNothing(quoted(textOf(c.Before))))
	}
	return n, nil
}

// textOf returns the written text: an attribute or the description.
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

// workOn runs the engine until it is done or stopped, and prints the result.
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

// resultWords returns the states in the order of the result line, with their names for people.
func resultWords() []struct {
	state enrichment.State
	word  string
} {
	return []struct {
		state enrichment.State
		word  string
	}{
		{enrichment.Proposed, "proposed"}, {enrichment.Rejected, "without suggestions"}, {enrichment.Applied, "written"}, {enrichment.Undone, "restored"},
		{enrichment.Refused, "refused by moderation"}, {enrichment.Failed, "failed"}, {enrichment.Conflict, "in conflict"}, {enrichment.Planned, "not processed"},
	}
}

func printResult(f *command.Factory, name string, r enrich.Result, began time.Time) {
	if r.Run.ID == "" {
		return
	}
	s := f.Summary
	s.Run, s.Seconds, s.BilledRequests, s.Credits, s.Bytes = r.Run.ID, event.Seconds(time.Since(began)), r.Run.Calls, r.Run.Credits, r.Run.Bytes
	var parts []string
	for _, w := range resultWords() {
		if n := r.States[w.state]; n > 0 {
			s.States[string(w.state)] = n
			parts = append(parts, ui.Count(n)+" "+w.word)
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to do"}
	}
	if r.Run.Calls > 0 {
		parts = append(parts, ui.Counted(r.Run.Calls, "billed request"))
	}
	if r.Run.Calls > 0 && r.Run.Credits != nil {
		parts = append(parts, command.CreditsText(*r.Run.Credits)+" credits")
	}
	if r.Left > 0 {
		f.Out.Notef("%s could not be deleted at the service. The next enrich run tries again.", ui.Counted(r.Left, "conversation"))
	}
	f.Out.Printf("Run %s of %s: %s. Duration: %s.", r.Run.ID, name, strings.Join(parts, ", "), ui.Duration(time.Since(began)))
	nextOfEnrichment(f, r)
}

// nextOfEnrichment prints the most useful next command.
func nextOfEnrichment(f *command.Factory, r enrich.Result) {
	switch {
	case r.States[enrichment.Conflict] > 0:
		printNext(f, "enrich proposals", nil, "--only", "conflict")
	case r.States[enrichment.Proposed] > 0:
		printNext(f, "enrich proposals", nil, "--format", "html", "--output", "proposals.html")
	case r.States[enrichment.Failed]+r.States[enrichment.Planned] > 0:
		printRepeat(f)
	case r.States[enrichment.Applied] > 0:
		f.Out.Notef("To undo this run:\n  %s", cmdline.Line("undo", append(keptFlags(f, false, nil), "--run", r.Run.ID)))
		printNext(f, "enrich audit", nil)
	case r.States[enrichment.Undone] > 0:
		printNext(f, "enrich proposals", nil, "--only", "undone")
	default:
		printNext(f, "enrich audit", nil)
	}
}
