package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"assetferry/internal/approval"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/state"
)

// An approvedPlan is a plan file for apply.
type approvedPlan struct {
	*approval.File
	name  string
	bound bool // its hash was approved
}

// NewApplyCommand makes assetferry apply.
func NewApplyCommand(f *command.Factory) *cobra.Command {
	o := MigrateOptions{command: "apply"}
	var hash, by string
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Carry out an approved plan",
		Long: `Apply carries out only the plan in FILE, which assetferry plan --output wrote.
It checks the source and the destination again. It skips objects that changed
after the plan and lists the reasons.

--hash binds apply to the approved plan. Without it, apply asks for the hash on
a terminal, and fails in a script. A dry run needs no hash.

The metadata rules (mapping, --precedence, --ignore-metadata, --gps, --on-limit,
--collections-as, --collection-prefix) and the tables of --metadata and
--collections must be those of the plan. The hash does not cover --provenance.

If the destination requires approvals, use --approval instead of --hash: the
signed request contains the hash (assetferry help security). --approved-by only
records a name, as stated by the account that runs the command.

To continue after an interruption or to retry failed objects, run the same
command again.
`,
		Args: cmdline.One("FILE"),
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, args []string) (err error) {
			f.Summary = &event.Summary{Command: o.command}
			if o.approver, err = outcome.StatedApprover(cmd, by); err != nil {
				return err
			}
			if o.approved, err = openApproved(f, args[0]); err != nil {
				return err
			}
			if cmd.Flags().Changed("approval") && cmd.Flags().Changed("approved-by") {
				return exit.Usage(errors.New("--approval and --approved-by cannot be used together: a signature names its approver"), "omit --approved-by")
			}
			if err := bindToHash(ctx, f, cmd, o.approved, hash, o.dryRun); err != nil {
				return err
			}
			return planOrMigrate(ctx, f, cmd, o.approved.Head.SourceLocation, o)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&hash, "hash", "", "`hash` of the approved plan, all 64 digits")
	flags.StringVar(&by, "approved-by", "", "record this `name` as the approver (default: none)")
	addApplyFlags(flags, &o)
	command.AddApprovalFlags(flags)
	flags.BoolVar(&o.retryExhausted, "retry-exhausted", false, retryExhaustedHelp)
	command.AddS3Flags(flags)
	command.AddTableFlags(flags)
	command.AddWordPressFlags(flags)
	command.AddRcloneFlags(flags)
	addSendingFlags(flags, &o)
	return c
}

// openApproved reads a plan file. It makes no request.
func openApproved(f *command.Factory, name string) (*approvedPlan, error) {
	file, err := approval.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.With(exit.CodeError, fmt.Errorf("plan file %s does not exist", name), "write one:\n  "+f.Again("plan", f.SourceArgument("SOURCE"), cmdline.WithValue("output", name)...))
	} else if err != nil {
		return nil, err
	}
	f.CloseLater(file.Close)
	f.PlanFile = name
	if file.Unsupported > 0 {
		return nil, exit.With(exit.CodeSafetyCheck, fmt.Errorf("the plan has %s with an unsupported file type; nothing was uploaded", ui.Counted(file.Unsupported, "object")),
			"plan again with --unsupported skip or create, or allow the extensions in a category of the service first")
	}
	return &approvedPlan{File: file, name: name}, nil
}

// adopt sets the settings of the plan that select objects.
func (p *approvedPlan) adopt(f *command.Factory) migrate.Rules {
	rules := p.Head.Rules
	f.Settings.SourceName, f.Settings.Symlinks, f.Settings.OnExisting = p.Head.Source, rules.Symlinks, rules.OnExisting
	return rules
}

// describesBy refuses other rules for metadata than those of the plan: assets would get texts or
// GPS coordinates that the plan omits.
func (p *approvedPlan) describesBy(now migrate.Rules) error {
	if was := p.Head.Rules; now.Mapping == was.Mapping && now.Places == was.Places {
		return nil
	}
	return exit.With(exit.CodeSafetyCheck, fmt.Errorf("%s was made with other rules for metadata; nothing was uploaded", ui.Sanitize(p.name)),
		"use the mapping, --precedence, --ignore-metadata, --gps, --on-limit, --collections-as and --collection-prefix of the plan, or plan again")
}

// hasTable refuses another metadata table than that of the plan.
func (p *approvedPlan) hasTable(checksum string) error {
	if p == nil || p.Head.Metadata == checksum {
		return nil
	}
	return exit.With(exit.CodeSafetyCheck, fmt.Errorf("%s was made with another metadata table or table of collections, or without one; nothing was uploaded", ui.Sanitize(p.name)),
		"use the --metadata and --collections of the plan, or plan again")
}

// isFor refuses a plan that was made for another destination.
func (p *approvedPlan) isFor(d *command.Destination) error {
	if p == nil || p.Head.Destination == d.Identity() {
		return nil
	}
	return exit.With(exit.CodeError, fmt.Errorf("the plan is for another destination: %s (%s), not %s (%s)",
		ui.Sanitize(p.Head.Destination), ui.Sanitize(p.Noted.URL), d.Identity(), d.URL),
		"select the destination of the plan with --to, or plan again for this one")
}

// engine returns the plan in the form of the engine.
func (p *approvedPlan) engine() *plan.Approval {
	if p == nil {
		return nil
	}
	return &plan.Approval{Hash: p.Hash, Categories: p.Head.Categories, Items: p.Items()}
}

// introduce shows the plan file and its hash.
func (p *approvedPlan) introduce(f *command.Factory) {
	if p == nil {
		return
	}
	f.Out.Notef("Plan         %s", p.made())
	if p.bound {
		f.Out.Notef("Plan hash    %s", p.Hash)
	}
}

// hash returns the hash of the plan; "" if there is none.
func (p *approvedPlan) hash() string {
	if p == nil {
		return ""
	}
	return p.Hash
}

// showDrift lists the objects that changed since the approval, in a dry run.
func showDrift(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan) error {
	if s.approved == nil {
		return nil
	}
	return showProblems(ctx, f, s, plan.Run.Num, state.ItemChanged)
}

// whyNow returns the reason of a decision, with the details of changes since the approval.
func whyNow(i state.Item) string {
	if i.State == state.ItemChanged {
		return outcome.ProblemText(i)
	}
	return migrate.Reason(i.Reason).Text()
}
