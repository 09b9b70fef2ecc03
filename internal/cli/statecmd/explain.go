package statecmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/explain"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// NewExplainCommand returns assetferry explain.
func NewExplainCommand(f *command.Factory) *cobra.Command {
	conflicts := false
	c := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Show all records of one object",
		Long: `Explain shows everything that the state database contains about an object: its
asset, metadata, old URLs, previous versions and previous keys. It also shows
the action and the reason of each run, failed attempts and the last
verification. The line "Next" shows the command to run next.

KEY is the path of the object below SOURCE, such as 2024/spring/harbour.jpg. It
can also be the full path of a file in the source, the ID of an asset, a
previous key or an old URL. For a sidecar, explain shows its objects and its
values.

With --conflicts, explain lists all objects whose metadata sources have
different values, such as a table and embedded metadata.

Explain reads only the state database.
`,
		Example: `  assetferry explain 2024/spring/harbour.jpg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if conflicts {
				return cobra.NoArgs(cmd, args)
			}
			return cmdline.One("KEY")(cmd, args)
		},
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			store, err := f.ReadState(ctx)
			if err != nil {
				return err
			}
			rules, err := f.OldURLTemplates("")
			if err != nil {
				return err
			}
			e := &explain.Explainer{Store: store, Mapping: f.Settings.NewMapping, Rules: rules, HasRules: len(f.Settings.OldURLs) > 0, Advice: advice{f}}
			if conflicts {
				return showDisagreements(ctx, f, e)
			}
			return showHistories(ctx, f, e, args[0])
		}),
	}
	c.Flags().BoolVar(&conflicts, "conflicts", false, "list all objects whose metadata sources have different values")
	return c
}

// showHistories shows what is known about an object for each source and destination.
func showHistories(ctx context.Context, f *command.Factory, e *explain.Explainer, asked string) error {
	first := true
	for h, err := range e.Find(ctx, asked) {
		if unknown, ok := errors.AsType[*explain.UnknownKeyError](err); ok {
			return exit.With(exit.CodeNoSuch, unknown, unknown.Hint())
		} else if err != nil {
			return err
		}
		for _, p := range e.Pages(h) {
			if !first {
				f.Out.Printf("\n")
			}
			first = false
			f.Out.Printf("%s", ui.Sanitize(p.Key))
			showLines(f, p.Lines)
			sendEvents(f, p.Events)
		}
	}
	return nil
}

func showLines(f *command.Factory, lines []explain.Line) {
	for _, l := range lines {
		f.Out.Printf("  %-12s %s", l.Title, ui.Sanitize(l.Text))
	}
}

func sendEvents(f *command.Factory, events []explain.Event) {
	for _, e := range events {
		f.Out.Event(e.Type, e.Value)
	}
}

// showDisagreements lists the objects whose metadata sources disagree, with all values.
func showDisagreements(ctx context.Context, f *command.Factory, e *explain.Explainer) error {
	var objects int64
	for d, err := range e.Disagreements(ctx) {
		if err != nil {
			return err
		}
		objects++
		f.Out.Printf("%s", ui.Sanitize(d.Key))
		lines := d.Lines()
		for n := range lines {
			lines[n].Title = ui.Sanitize(lines[n].Title)
		}
		showLines(f, lines)
		sendEvents(f, d.Events())
	}
	f.Out.Printf("Metadata sources disagree for %s.", ui.Counted(objects, "object"))
	return nil
}

// advice returns commands with the flags of this call.
type advice struct{ *command.Factory }

// AfterRun implements explain.Advice.
func (a advice) AfterRun(run state.Run, tallies []state.Tally) explain.Next {
	n := outcome.AfterRun(a.Factory, run, tallies, 0)
	return explain.Next{Why: n.Why, Command: n.Command}
}

// ForItem implements explain.Advice.
func (a advice) ForItem(run state.Run, tallies []state.Tally, i state.Item, now time.Time) explain.Next {
	n := outcome.ForItem(a.Factory, run, tallies, i, now)
	return explain.Next{Why: n.Why, Command: n.Command}
}

// Command implements explain.Advice.
func (a advice) Command(run state.Run, change func(*string, *migrate.Rules)) string {
	return outcome.CommandOf(a.Factory, run, change)
}

// Repair implements explain.Advice.
func (a advice) Repair(run state.Run) string {
	return outcome.CommandOf(a.Factory, run, outcome.UseSync, "--repair")
}

// Undo implements explain.Advice.
func (a advice) Undo(run state.Run) string { return outcome.ApplyUndo(a.Factory, run) }
