package enrichcmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/enrich"
	"assetferry/internal/enrich/proposals"
	"assetferry/internal/event"
	"assetferry/internal/tabular"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/enrichment"
)

func newImportCommand(f *command.Factory) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Read decisions from a page or a table",
		Long: `Import reads the file of decisions from the page of proposals, or an edited
table. The decision column contains accept, reject or decorative. Empty means
undecided. If the decision is accept, edited texts are used. If the file has
mistakes, import lists each with its line and changes nothing.

Import changes only the state database. To write accepted proposals into the
assets, use enrich apply.
`,
		Example: `  assetferry enrich import decisions.csv`,
		Args:    cmdline.One("FILE"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return importDecisions(ctx, f, args[0], dryRun)
		}),
	}
	c.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "check the file and show the decisions, and change nothing")
	return c
}

func importDecisions(ctx context.Context, f *command.Factory, file string, dryRun bool) error {
	j, err := openJudge(ctx, f)
	if err != nil {
		return err
	}
	found, err := proposals.Read(file, func(id string) (proposals.Row, bool, error) { return j.row(ctx, id) })
	if mistakes, ok := errors.AsType[*tabular.Mistakes](err); ok {
		return exit.Usage(mistakes, "fix the mistakes and import the file again; nothing was changed")
	} else if err != nil {
		return err
	}
	for _, remark := range found.Remarks {
		f.Out.Notef("%s", remark)
	}
	counts := map[proposals.Choice]int64{}
	var decided []enrich.Row
	for _, d := range found.All {
		counts[d.Choice]++
		decided = append(decided, j.decision(d))
	}
	if !dryRun {
		if obsolete, err := j.Import(ctx, decided); err != nil {
			return exit.Usage(err, "fix the file and import it again")
		} else if err := checkOpen(obsolete); err != nil {
			return err
		}
		f.BackUp(ctx, j.store)
	}
	f.Out.Event("decisions", event.Decisions{
		Accepted: counts[proposals.Accept], Rejected: counts[proposals.Reject], Decorative: counts[proposals.Decorative], Undecided: int64(found.Open), Obsolete: int64(found.Late),
	})
	if found.Late > 0 {
		f.Out.Printf("%s not changed: applied or deleted since the export.", ui.Counted(int64(found.Late), "proposal"))
	}
	f.Out.Printf("%s accepted, %s rejected, %s marked as decorative, %s undecided.", ui.Count(counts[proposals.Accept]), ui.Count(counts[proposals.Reject]),
		ui.Count(counts[proposals.Decorative]), ui.Count(int64(found.Open)))
	if dryRun {
		f.Out.Notef("Nothing was changed (dry run).")
		printRepeat(f)
	} else if counts[proposals.Accept] > 0 {
		printNext(f, "enrich apply", nil, "--dry-run")
	}
	return nil
}

// A judge records decisions in the state database.
type judge struct {
	*enrich.Engine
	dest  *command.Destination
	store *state.Store
	known map[int64]enrichment.Enrichment // proposals that were read
}

func openJudge(ctx context.Context, f *command.Factory) (*judge, error) {
	sumUpEnrich(f)
	j := &judge{known: map[int64]enrichment.Enrichment{}}
	var err error
	if j.dest, err = f.OpenDestination(ctx, true); err != nil {
		return nil, err
	}
	f.Summary.Destination = j.dest.Identity()
	path, err := f.StatePath(ctx)
	if err != nil {
		return nil, err
	}
	if err := command.MustExist(path); err != nil {
		return nil, err
	}
	if j.store, err = f.OpenState(ctx, path); err != nil {
		return nil, err
	}
	j.Engine = enrich.New(enrich.Deps{Store: enrichment.In(j.store), Destination: j.dest.Identity()})
	return j, nil
}

// decision converts a row of a table for the engine. Texts that were not edited come from the
// proposal.
func (j *judge) decision(d proposals.Decision) enrich.Row {
	p := j.known[number(d.ID)].Proposal
	if d.Description != nil {
		p.Text = *d.Description
	}
	if d.Tags != nil {
		p.Tags = *d.Tags
	}
	return enrich.Row{Num: number(d.ID), Accepted: d.Choice == proposals.Accept, Decorative: d.Choice == proposals.Decorative, Text: p.Text, Tags: p.Tags}
}

// checkOpen returns an error for proposals that cannot be decided.
func checkOpen(nums []int64) error {
	if len(nums) == 0 {
		return nil
	}
	return exit.With(exit.CodeNoSuch, fmt.Errorf("proposal %d cannot be decided: it does not exist, was applied, or is requested again (%s in total)",
		nums[0], ui.Counted(int64(len(nums)), "proposal")), "list the open proposals:\n  assetferry enrich proposals")
}

// number parses the ID of a proposal. It returns 0 if the ID is not valid.
func number(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// row returns a proposal of the destination.
func (j *judge) row(ctx context.Context, id string) (proposals.Row, bool, error) {
	e, err := j.Store.Enrichment(ctx, number(id))
	switch {
	case errors.Is(err, state.ErrNotFound):
		return proposals.Row{}, false, nil
	case err != nil:
		return proposals.Row{}, false, err
	case e.Destination != j.dest.Identity():
		return proposals.Row{}, false, nil
	}
	j.known[e.Num] = e
	return rowOf(enrichment.Enrichable{Enrichment: &e}), true, nil
}

func newJudgeCommand(f *command.Factory, name, short string, accepted bool) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   name + " [ID...]",
		Short: short,
		Long: short + `.

To see the IDs, use enrich proposals. --all selects all undecided proposals.
`,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return exit.Usage(errors.New("no proposals are named"), "name their IDs, or use --all for all undecided proposals")
			}
			return judgeByHand(ctx, f, args, accepted)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "select all undecided proposals")
	return c
}

func judgeByHand(ctx context.Context, f *command.Factory, ids []string, accepted bool) error {
	j, err := openJudge(ctx, f)
	if err != nil {
		return err
	}
	var nums []int64
	for _, id := range ids {
		if number(id) == 0 {
			return exit.Usage(fmt.Errorf("%q is not the ID of a proposal", id), "list the IDs:\n  assetferry enrich proposals")
		}
		nums = append(nums, number(id))
	}
	if len(ids) == 0 {
		for c, err := range j.Proposals(ctx, enrichment.Filter{States: []enrichment.State{enrichment.Proposed}}) {
			if err != nil {
				return err
			}
			nums = append(nums, c.Enrichment.Num)
		}
	}
	judge := j.Reject
	if accepted {
		judge = j.Accept
	}
	if obsolete, err := judge(ctx, nums...); err != nil {
		return err
	} else if err := checkOpen(obsolete); err != nil {
		return err
	}
	done := "rejected"
	line := event.Decisions{Rejected: int64(len(nums))}
	if accepted {
		done, line = "accepted", event.Decisions{Accepted: int64(len(nums))}
	}
	f.Out.Event("decisions", line)
	f.Out.Printf("%s %s.", ui.Counted(int64(len(nums)), "proposal"), done)
	if accepted && len(nums) > 0 {
		printNext(f, "enrich apply", nil, "--dry-run")
	}
	return nil
}

func newDecorativeCommand(f *command.Factory) *cobra.Command {
	var undo bool
	c := &cobra.Command{
		Use:   "decorative ASSET...",
		Short: "Mark images as decorative",
		Long: `Decorative marks images that need no description. They are not sent to the AI
content service. ASSET is the ID of an asset. To see the IDs, use enrich audit
--list all. The command changes only the state database.
`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			j, err := openJudge(ctx, f)
			if err != nil {
				return err
			}
			if err := j.Decorative(ctx, !undo, args...); err != nil {
				return err
			}
			f.Out.Event("decisions", event.Decisions{Decorative: int64(len(args))})
			if undo {
				f.Out.Printf("%s no longer marked as decorative.", ui.Counted(int64(len(args)), "asset"))
			} else {
				f.Out.Printf("%s marked as decorative.", ui.Counted(int64(len(args)), "asset"))
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&undo, "undo", false, "remove the mark")
	return c
}
