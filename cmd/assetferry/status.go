package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/config"
	"assetferry/internal/sandbox"
	"assetferry/internal/ui"
	"assetferry/state"
)

// shownRuns is how many runs status shows.
const shownRuns = 5

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show where the last runs stand, from the journal alone",
		Long: `Status reads the journal and nothing else: no request is sent, and it works
while another process is at work.
`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.status(ctx) }),
	}
}

func (a *app) status(ctx context.Context) (err error) {
	path, err := a.statePath(ctx)
	if err != nil {
		return err
	}
	if err := mustExist(path); err != nil {
		return err
	}
	journal, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	a.out.Notef("Journal      %s", ui.Sanitize(path))
	pairs, err := journal.Pairs(ctx)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if err := a.showPair(ctx, journal, p); err != nil {
			return err
		}
	}
	return a.showRuns(ctx, journal)
}

func (a *app) showPair(ctx context.Context, journal *state.Store, p state.Pair) error {
	sum, err := journal.SumReceipts(ctx, p.ID)
	if err != nil {
		return err
	}
	proof := "never verified"
	v, err := journal.LastVerification(ctx, p.ID)
	switch {
	case err == nil:
		proof = fmt.Sprintf("verified %s by %s: %s", v.At.Local().Format(time.DateTime), v.Level, differences(v))
	case !errors.Is(err, state.ErrNotFound):
		return err
	}
	a.out.Printf("%s -> %s (%s)\n  %s at the destination, %s; %s", ui.Sanitize(p.Source), ui.Sanitize(p.Destination),
		ui.Sanitize(p.Address), count(sum.Objects, "asset"), ui.Bytes(sum.Bytes), proof)
	return nil
}

func (a *app) showRuns(ctx context.Context, journal *state.Store) error {
	runs, err := journal.LastRuns(ctx, shownRuns)
	if err != nil {
		return err
	}
	var rows [][]string
	for n := len(runs) - 1; n >= 0; n-- {
		r := runs[n]
		tallies, err := journal.Tallies(ctx, r.Num)
		if err != nil {
			return err
		}
		if r.State == state.Superseded && len(tallies) == 0 {
			continue // a plan that gave way to a later one
		}
		items, skips := describe(tallies)
		if r.State == state.Scanning {
			items = "the source is not listed to its end"
		}
		if skips != "" {
			items += "; " + strings.ToLower(skips[:1]) + skips[1:]
		}
		rows = append(rows, []string{r.ID, r.Command, string(r.State), r.StartedAt.Local().Format(time.DateTime), items})
		sum := summaryOf(r, tallies, tookOf(r), exitOf(tallies))
		sum.RunState = string(r.State)
		a.out.Event("summary", sum)
	}
	a.out.Printf("%s", ui.Table([]ui.Column{{Title: "Run"}, {Title: "Command"}, {Title: "State"}, {Title: "Began"}, {Title: "Items"}}, rows))
	return nil
}

func tookOf(r state.Run) time.Duration {
	if r.FinishedAt.IsZero() {
		return 0
	}
	return r.FinishedAt.Sub(r.StartedAt)
}

// statePath finds the journal without reaching out for anything.
func (a *app) statePath(ctx context.Context) (string, error) {
	if a.settings.State != "" {
		return filepath.Abs(a.settings.State)
	}
	d, err := a.settings.Destination()
	if err != nil {
		return "", err
	}
	dest := &destination{}
	if d.Kind == config.Sandbox {
		dir, err := config.SandboxDir(a.lookup)
		if err != nil {
			return "", err
		}
		if err := mustExist(filepath.Join(dir, "credentials.env")); err != nil {
			return "", err
		}
		c, err := sandbox.LoadOrCreateCredentials(dir)
		if err != nil {
			return "", err
		}
		dest.environment = c.EnvironmentID
	} else {
		env, err := d.Environment.Resolve(ctx, nil)
		if err != nil {
			return "", err
		}
		dest.environment = env.Reveal()
	}
	dest.workspace = cmp.Or(d.Workspace, dest.environment)
	return a.journalPath(dest)
}

// mustExist makes a journal that is not there an exit code of its own.
func mustExist(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &stop{exitNoSuch, fmt.Errorf("there is no journal %s yet", path), "assetferry migrate makes one; --state names another"}
	} else if err != nil {
		return err
	}
	return nil
}
