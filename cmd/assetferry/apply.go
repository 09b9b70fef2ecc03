package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/approval"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// An approvedPlan is what apply carries out, and who let it.
type approvedPlan struct {
	*approval.File
	name, by string
}

func (a *app) applyCommand() *cobra.Command {
	o := migrateOptions{command: "apply"}
	var by string
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Carry out an approved plan",
		Long: `Apply carries out a plan that "plan --output FILE" wrote, and nothing else. The
file names the source, the destination and the rules, and is refused if it is
not as it was written. Source and destination are looked at once more: what has
changed since is left alone, and its reason is told. Objects that are not in
the plan are not touched.

The journal notes who approved the plan, and when. If it is interrupted, the
same command goes on where it was. Once it is finished, the same command tries
again what failed.
`,
		Args: one("FILE"),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) (err error) {
			a.summary = &ui.SummaryLine{Command: o.command}
			if o.approved, err = a.openApproved(cmd, args[0], by); err != nil {
				return err
			}
			return a.planOrMigrate(ctx, cmd, string(o.approved.Head.SourceAddress), o)
		}),
	}
	f := c.Flags()
	f.StringVar(&by, "approved-by", "", "`name` of who approved the plan (default: the name of this account)")
	addApplyFlags(f, &o)
	f.BoolVar(&o.retryParked, "retry-parked", false, retryParkedHelp)
	addS3Flags(f)
	addTableFlags(f)
	addSendingFlags(f, &o)
	return c
}

// openApproved reads an approved plan. Nobody is asked for anything yet.
func (a *app) openApproved(cmd *cobra.Command, name, by string) (*approvedPlan, error) {
	if by = strings.TrimSpace(by); by == "" {
		if cmd.Flags().Changed("approved-by") {
			return nil, usage(errors.New("--approved-by names nobody"), "leave it out for the name of this account")
		}
		by = accountName()
	}
	file, err := approval.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &stop{exitError, fmt.Errorf("there is no plan %s", name), "write one: " + a.again("plan", a.sourceArgument("SOURCE"), withValue("output", name)...)}
	} else if err != nil {
		return nil, err
	}
	a.closeLater(file.Close)
	a.planFile = name
	if file.Unmatched > 0 {
		return nil, &stop{exitGuard, fmt.Errorf("the plan has %s with an extension that no category allows; nothing was sent", count(file.Unmatched, "object")),
			"plan again with --unmatched skip or create, or after the extensions are allowed in a category of the service"}
	}
	return &approvedPlan{file, name, by}, nil
}

// accountName is the name of whoever runs this.
func accountName() string {
	u, err := user.Current()
	if err != nil || u.Username == "" {
		return "unknown"
	}
	return u.Username
}

// adopt has the settings be those of the plan, where they decide what is read.
func (p *approvedPlan) adopt(a *app) migrate.Rules {
	rules := p.Head.Rules
	a.settings.SourceName, a.settings.Symlinks, a.settings.OnExisting = p.Head.Source, rules.Symlinks, rules.OnExisting
	return rules
}

// isFor refuses a plan that was made for another destination.
func (p *approvedPlan) isFor(d *destination) error {
	if p == nil || p.Head.Destination == d.identity() {
		return nil
	}
	return &stop{exitError, fmt.Errorf("the plan is for another destination: it was made for %s (%s), and this is %s (%s)",
		ui.Sanitize(p.Head.Destination), ui.Sanitize(p.Noted.Address), d.identity(), d.url),
		"name the destination of the plan with --to, or plan again for this one"}
}

// engine is the plan as the engine takes it.
func (p *approvedPlan) engine() *migrate.Approval {
	if p == nil {
		return nil
	}
	return &migrate.Approval{Hash: p.Hash, Categories: p.Head.Categories, Items: p.Items()}
}

// introduce says what is carried out and who let it.
func (p *approvedPlan) introduce(a *app) {
	if p == nil {
		return
	}
	a.out.Notef("Plan         %s, made %s by run %s", ui.Sanitize(p.name), p.Noted.Made.Local().Format(time.DateTime), ui.Sanitize(p.Noted.Run))
	a.out.Notef("Plan hash    %s", p.Hash)
}

// isOther reports whether a run is of another plan.
func (p *approvedPlan) isOther(run state.Run) bool {
	return p != nil && run.Command == "apply" && run.PlanHash != p.Hash
}

// approve notes in the journal who let a run carry out a plan.
func (s *endpoints) approve(ctx context.Context, run state.Run) (state.Run, error) {
	if err := s.journal.Approve(ctx, run.Num, s.approved.Hash, s.approved.by); err != nil {
		return run, err
	}
	return s.journal.Run(ctx, run.ID)
}

// approvedText says who let a run carry out a plan; nothing if nobody was asked.
func approvedText(run state.Run) string {
	if run.ApprovedBy == "" {
		return ""
	}
	return fmt.Sprintf("approved by %s, %s", ui.Sanitize(run.ApprovedBy), run.ApprovedAt.Local().Format(time.DateTime))
}

// showDrift tells what a dry run of an approved plan found to have drifted.
func (a *app) showDrift(ctx context.Context, s *endpoints, plan migrate.Plan) error {
	if s.approved == nil {
		return nil
	}
	return a.showProblems(ctx, s, plan.Run.Num, state.ItemChanged)
}

// whyNow is the reason of a decision, in every detail where it drifted.
func whyNow(i state.Item) string {
	if i.State == state.ItemChanged {
		return i.Error
	}
	return i.Reason
}
