package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/exit"
	"assetferry/internal/ui"
)

// A Change is how a command changes the destination.
type Change struct{ DryRun, Yes bool }

// AddFlags adds the flags of commands that change the destination.
func (ch *Change) AddFlags(c *cobra.Command) {
	c.Flags().BoolVarP(&ch.DryRun, "dry-run", "n", false, "show the changes and stop")
	AddApprovalFlags(c.Flags())
}

// AddYes adds the flag that answers a question.
func (ch *Change) AddYes(c *cobra.Command, help string) {
	c.Flags().BoolVar(&ch.Yes, "yes", false, help)
}

// State is "planned" in a dry run, and else "done".
func (ch Change) State() string {
	if ch.DryRun {
		return "planned"
	}
	return "done"
}

// NoteDryRun says that a dry run changed nothing.
func (f *Factory) NoteDryRun(ch Change) {
	if ch.DryRun {
		f.Out.Notef("Nothing was changed: this was a dry run.")
	}
}

// CanAnswer returns an error if a change needs an answer and stdin is no terminal.
func (f *Factory) CanAnswer(ch Change) error {
	if ch.DryRun || ch.Yes || f.OnlyRequests() || ui.IsTerminal(f.Stdin) {
		return nil
	}
	return exit.Usage(errors.New("this command needs confirmation, and stdin is not a terminal"), "check with --dry-run, then add --yes")
}

// Agree asks a question, unless --yes answers it or it is a dry run.
func (f *Factory) Agree(ctx context.Context, ch Change, question, format string, args ...any) error {
	if ch.DryRun || ch.Yes {
		return nil
	}
	if err := f.CanAnswer(ch); err != nil {
		return err
	}
	yes, err := f.Confirm(ctx, question)
	if err == nil && !yes {
		return exit.With(exit.CodeError, fmt.Errorf(format, args...), "answer y, or use --yes")
	}
	return err
}

// Verb returns done, or planned in a dry run.
func (ch Change) Verb(done, planned string) string {
	if ch.DryRun {
		return planned
	}
	return done
}
