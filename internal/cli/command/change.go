package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/exit"
	"assetferry/internal/ui"
)

// A Change is how a command goes about changing the destination.
type Change struct{ DryRun, Yes bool }

// AddFlags adds what commands take that change the destination.
func (ch *Change) AddFlags(c *cobra.Command) {
	c.Flags().BoolVarP(&ch.DryRun, "dry-run", "n", false, "show the changes and stop")
	AddApprovalFlags(c.Flags())
}

// AddYes adds the flag that answers a question.
func (ch *Change) AddYes(c *cobra.Command, help string) {
	c.Flags().BoolVar(&ch.Yes, "yes", false, help)
}

// State is the one of what was changed, or would be.
func (ch Change) State() string {
	if ch.DryRun {
		return "planned"
	}
	return "done"
}

// NoteDryRun ends a change that was only shown.
func (f *Factory) NoteDryRun(ch Change) {
	if ch.DryRun {
		f.Out.Notef("Nothing was changed: this was a dry run.")
	}
}

// CanAnswer makes sure that a question finds somebody to answer it.
func (f *Factory) CanAnswer(ch Change) error {
	if ch.DryRun || ch.Yes || f.OnlyRequests() || ui.IsTerminal(f.Stdin) {
		return nil
	}
	return exit.Usage(errors.New("this needs confirmation, and stdin is no terminal"), "look with --dry-run, then add --yes")
}

// Agree asks a question, unless --yes answers it or nothing is going to be changed.
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

// Verb chooses between what was done and what would be.
func (ch Change) Verb(done, planned string) string {
	if ch.DryRun {
		return planned
	}
	return done
}
