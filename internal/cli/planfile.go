package cli

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
	"assetferry/state/ownership"
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
	if err := mayReplaceWith(name, "output", "plan", approval.IsPlan); err != nil {
		return err
	}
	a.planFile = name
	return hasFolder(name)
}

// mayReplaceWith refuses to write a plan, or another kind of file, over a file that is
// something else.
func mayReplaceWith(name, flag, kind string, is func(io.Reader) (bool, error)) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return usage(fmt.Errorf("--%s: %w", flag, err), "name another file with --"+flag)
	}
	defer f.Close()
	isKind, err := is(f)
	if err != nil {
		return usage(fmt.Errorf("--%s %s: %w", flag, ui.Sanitize(name), err), "name another file with --"+flag)
	}
	if !isKind {
		return usage(fmt.Errorf("--%s %s is there already and is no %s", flag, ui.Sanitize(name), kind), fmt.Sprintf("name another file: the %s replaces nothing but a former one", kind))
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
			Noted: approval.Noted{Run: plan.Run.ID, PlannedBy: ownership.OSAccount(), Made: clock.Now().UTC().Truncate(time.Second), Address: s.dest.url, CategoryNames: names},
		})
	})
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if plan.Blocked(s.rules) {
		a.out.Notef("The plan is in %s, to be looked at. It cannot be applied as it is.", ui.Sanitize(name))
		return nil
	}
	if s.dest.guarded {
		a.out.Notef("The plan is in %s. To have it approved: %s", ui.Sanitize(name), a.again("apply", []string{name}, "--"+requestFlag, "request.json"))
		return nil
	}
	a.out.Notef("The plan is in %s. Once it is approved: %s", ui.Sanitize(name), a.again("apply", []string{name}, "--hash", plan.Run.PlanHash))
	return nil
}
