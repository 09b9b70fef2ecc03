package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"assetferry/internal/approval"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/state/ownership"
)

// addOutputFlag adds the flag for the file of a plan.
func addOutputFlag(f *pflag.FlagSet, name *string) {
	f.StringVar(name, "output", "", "write the plan to this `file`, for approval and apply")
}

// prepareOutput checks that the file can be written before the plan is made. The file is never a
// part of the source.
func prepareOutput(f *command.Factory, name string) error {
	switch info, err := os.Stat(name); {
	case name == "":
		return nil
	case name == "-":
		return exit.Usage(errors.New("--output - is not possible: an approval needs a file"), "use a file: --output PLAN.jsonl")
	case err == nil && !info.Mode().IsRegular():
		return exit.Usage(fmt.Errorf("--output %s is not a file", name), "use a file: --output PLAN.jsonl")
	}
	if err := command.MayReplaceWith(name, "output", "a plan", approval.IsPlan); err != nil {
		return err
	}
	f.PlanFile = name
	return command.HasFolder(name)
}

// writePlan writes a plan into a file, if there is a name.
func writePlan(ctx context.Context, f *command.Factory, s *endpoints, planner *plan.Planner, plan migrate.Plan, name string) error {
	if name == "" {
		return nil
	}
	known, err := s.store.Categories(ctx, s.pair.Destination)
	if err != nil {
		return err
	}
	names := make(map[string]string, len(known))
	for id, c := range known {
		names[id] = c.Name
	}
	err = command.WriteNew(name, true, func(w io.Writer) error {
		return approval.Write(w, approval.Plan{
			Hash: plan.Run.PlanHash, Head: planner.Head(plan.Run, plan.Categories), Tallies: plan.Tallies,
			Items: s.store.Items(ctx, plan.Run.Num),
			Noted: approval.Noted{Run: plan.Run.ID, PlannedBy: ownership.OSAccount(), Made: clock.Now().UTC().Truncate(time.Second), URL: s.dest.URL, CategoryNames: names},
		})
	})
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if plan.Blocked(s.rules) {
		f.Out.Notef("Plan written to %s. It is blocked and cannot be applied.", ui.Sanitize(name))
		return nil
	}
	if s.dest.Guarded {
		f.Out.Notef("Plan written to %s.", ui.Sanitize(name))
		f.Out.Next("Request an approval:", f.Again("apply", []string{name}, "--"+command.RequestFlag, "request.json"))
		return nil
	}
	f.Out.Notef("Plan written to %s.", ui.Sanitize(name))
	f.Out.Next("Carry out the plan once it is approved:", f.Again("apply", []string{name}, "--hash", plan.Run.PlanHash))
	return nil
}
