package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assetferry/internal/ui"
)

// A change is how a command goes about changing the destination.
type change struct{ dryRun, yes bool }

func (ch *change) addFlags(c *cobra.Command) {
	c.Flags().BoolVarP(&ch.dryRun, "dry-run", "n", false, "show what would be changed and stop")
	addApprovalFlags(c.Flags())
}

func (ch *change) addYes(c *cobra.Command, help string) {
	c.Flags().BoolVar(&ch.yes, "yes", false, help)
}

// state is the one of what was changed, or would be.
func (ch change) state() string {
	if ch.dryRun {
		return "planned"
	}
	return "done"
}

// openToChange opens the destination and says which one it is. A dry run cannot write to it.
func (a *app) openToChange(ctx context.Context, ch change) (*destination, error) {
	dest, err := a.openDestination(ctx, ch.dryRun)
	if err == nil {
		a.out.Notef("Destination  %s", dest)
	}
	return dest, err
}

// noteDryRun ends a change that was only shown.
func (a *app) noteDryRun(ch change) {
	if ch.dryRun {
		a.out.Notef("Nothing was changed: this was a dry run.")
	}
}

// canAnswer makes sure that a question finds somebody to answer it.
func (a *app) canAnswer(ch change) error {
	if ch.dryRun || ch.yes || a.onlyRequests() || ui.IsTerminal(a.stdin) {
		return nil
	}
	return usage(errors.New("this needs confirmation, and stdin is no terminal"), "look with --dry-run, then add --yes")
}

// agree asks a question, unless --yes answers it or nothing is going to be changed.
func (a *app) agree(ctx context.Context, ch change, question, format string, args ...any) error {
	if ch.dryRun || ch.yes {
		return nil
	}
	if err := a.canAnswer(ch); err != nil {
		return err
	}
	yes, err := a.confirm(ctx, question)
	if err == nil && !yes {
		return with(exitError, fmt.Errorf(format, args...), "answer y, or use --yes")
	}
	return err
}

// verb chooses between what was done and what would be.
func (ch change) verb(done, planned string) string {
	if ch.dryRun {
		return planned
	}
	return done
}
