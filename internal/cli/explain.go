package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/explain"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

func (a *app) explainCommand() *cobra.Command {
	conflicts := false
	c := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Tell everything known of one object",
		Long: `Explain tells what the journal knows of an object: where its asset is, what was
sent, what each run wanted with it and why, every attempt that failed, what the
last verification found, what was there before a sync changed it, where it was
moved from or to, since when it is gone from the source, and its old addresses.
KEY is the name of the object below SOURCE, such as 2024/spring/harbour.jpg; a
path into the source, the ID of an asset, a key that the object went by, and an
old address that begins with https:// will do, too. Of a sidecar it tells which
object it describes, and what it says of that.

The last line, "Next", shows the command that helps with what the last run left.

With --conflicts it lists all objects of which origins of metadata, such as a
table and what is embedded, say different things.

It reads the journal and nothing else.
`,
		Example: `  assetferry explain 2024/spring/harbour.jpg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if conflicts {
				return cobra.NoArgs(cmd, args)
			}
			return one("KEY")(cmd, args)
		},
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			journal, err := a.readJournal(ctx)
			if err != nil {
				return err
			}
			rules, err := a.addressRules("")
			if err != nil {
				return err
			}
			e := &explain.Explainer{Store: journal, Mapping: a.settings.NewMapping, Rules: rules, HasRules: len(a.settings.Addresses) > 0, Advice: advice{a}}
			if conflicts {
				return a.showDisagreements(ctx, e)
			}
			return a.showHistories(ctx, e, args[0])
		}),
	}
	c.Flags().BoolVar(&conflicts, "conflicts", false, "list all objects of which origins say different things")
	return c
}

// showHistories shows what every pair knows of an object.
func (a *app) showHistories(ctx context.Context, e *explain.Explainer, asked string) error {
	first := true
	for h, err := range e.Find(ctx, asked) {
		if unknown, ok := errors.AsType[*explain.UnknownKeyError](err); ok {
			return with(exitNoSuch, unknown, unknown.Hint())
		} else if err != nil {
			return err
		}
		for _, p := range e.Pages(h) {
			if !first {
				a.out.Printf("\n")
			}
			first = false
			a.out.Printf("%s", ui.Sanitize(p.Key))
			a.showLines(p.Lines)
			a.sendEvents(p.Events)
		}
	}
	return nil
}

func (a *app) showLines(lines []explain.Line) {
	for _, l := range lines {
		a.out.Printf("  %-12s %s", l.Title, ui.Sanitize(l.Text))
	}
}

func (a *app) sendEvents(events []explain.Event) {
	for _, e := range events {
		a.out.Event(e.Type, e.Value)
	}
}

// showDisagreements lists the objects of which origins say different things, with all that
// they say.
func (a *app) showDisagreements(ctx context.Context, e *explain.Explainer) error {
	var objects int64
	for d, err := range e.Disagreements(ctx) {
		if err != nil {
			return err
		}
		objects++
		a.out.Printf("%s", ui.Sanitize(d.Key))
		lines := d.Lines()
		for n := range lines {
			lines[n].Title = ui.Sanitize(lines[n].Title)
		}
		a.showLines(lines)
		a.sendEvents(d.Events())
	}
	a.out.Printf("Origins say different things of %s.", count(objects, "object"))
	return nil
}

// advice gives the commands of this call.
type advice struct{ *app }

// AfterRun implements explain.Advice.
func (a advice) AfterRun(run state.Run, tallies []state.Tally) explain.Next {
	n := a.afterRun(run, tallies)
	return explain.Next{Why: n.why, Command: n.command}
}

// ForItem implements explain.Advice.
func (a advice) ForItem(run state.Run, tallies []state.Tally, i state.Item, now time.Time) explain.Next {
	n := a.forItem(run, tallies, i, now)
	return explain.Next{Why: n.why, Command: n.command}
}

// Command implements explain.Advice.
func (a advice) Command(run state.Run, change func(*string, *migrate.Rules)) string {
	return a.commandOf(run, change)
}

// Repair implements explain.Advice.
func (a advice) Repair(run state.Run) string { return a.commandOf(run, useSync, "--repair") }

// Undo implements explain.Advice.
func (a advice) Undo(run state.Run) string { return a.applyUndo(run) }
