package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/pflag"

	"assetferry/internal/approval"
	"assetferry/internal/clock"
	"assetferry/internal/ui"
	"assetferry/migrate"
)

// addOutputFlag adds where a plan is written to.
func addOutputFlag(f *pflag.FlagSet, name *string) {
	f.StringVar(name, "output", "", "write the plan into this `file`, to be approved and carried out by apply")
}

// prepareOutput sees whether a plan can be written into a file before it is made. The
// file is no part of the source, wherever it is.
func (a *app) prepareOutput(name string) error {
	switch info, err := os.Stat(name); {
	case name == "":
		return nil
	case name == "-":
		return usage(errors.New("--output - names no file"), "a plan that is to be approved is kept in a file: --output PLAN.jsonl")
	case err == nil && !info.Mode().IsRegular():
		return usage(fmt.Errorf("--output %s is not a file", name), "name a file: --output PLAN.jsonl")
	}
	if err := mayReplace(name); err != nil {
		return err
	}
	a.planFile = name
	return hasFolder(name)
}

// mayReplace refuses to write a plan over a file that is something else.
func mayReplace(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return usage(fmt.Errorf("--output: %w", err), "name another file with --output")
	}
	defer f.Close()
	isPlan, err := approval.IsPlan(f)
	if err != nil {
		return usage(fmt.Errorf("--output %s: %w", ui.Sanitize(name), err), "name another file with --output")
	}
	if !isPlan {
		return usage(fmt.Errorf("--output %s is there already and is no plan", ui.Sanitize(name)), "name another file: a plan replaces nothing but a former plan")
	}
	return nil
}

// writePlan writes a plan into a file, if one was named.
func (a *app) writePlan(ctx context.Context, s *endpoints, planner *migrate.Planner, plan migrate.Plan, name string) error {
	if name == "" {
		return nil
	}
	known, err := s.journal.Categories(ctx, s.pair.Destination)
	if err != nil {
		return err
	}
	names := make(map[string]string, len(known))
	for id, c := range known {
		names[id] = c.Name
	}
	err = writeNew(name, true, func(w io.Writer) error {
		return approval.Write(w, approval.Plan{
			Hash: plan.Run.PlanHash, Head: planner.Head(plan.Run, plan.Categories), Tallies: plan.Tallies,
			Items: s.journal.Items(ctx, plan.Run.Num),
			Noted: approval.Noted{Run: plan.Run.ID, Made: clock.Now().UTC().Truncate(time.Second), Address: s.dest.url, CategoryNames: names},
		})
	})
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if plan.Blocked(s.rules) {
		a.out.Notef("The plan is in %s, to be looked at. It cannot be applied as it is.", ui.Sanitize(name))
		return nil
	}
	a.out.Notef("The plan is in %s. Once it is approved: %s", ui.Sanitize(name), a.again("apply", []string{name}))
	return nil
}
