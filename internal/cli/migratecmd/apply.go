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

// An approvedPlan is what apply carries out.
type approvedPlan struct {
	*approval.File
	name  string
	bound bool // its hash is the one that was approved
}

// NewApplyCommand makes assetferry apply.
func NewApplyCommand(f *command.Factory) *cobra.Command {
	o := MigrateOptions{command: "apply"}
	var hash, by string
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Carry out an approved plan",
		Long: `Apply carries out a plan that "plan --output FILE" wrote, and nothing else. The
file names the source, the destination and the rules, and is refused if it is
not as it was written. Source and destination are looked at once more: what has
changed since is left alone, and its reason is told. Objects that are not in
the plan are not touched.

--hash binds apply to the plan that was approved: "plan --output" prints the
hash, and a plan of any other hash is refused (exit code 6). Without --hash,
apply asks for it on a terminal and refuses in a script (exit code 2). A dry run
needs no hash.

The rules for metadata (mapping, --precedence, --ignore-metadata, --gps,
--on-limit) and the table of --metadata must be those of the plan: others are
refused (exit code 6). The hash does not cover --provenance.

Where the destination requires approvals, --approval takes the place of --hash:
the signed request has the hash. assetferry help security says how.

The state database records the account that started the run. It records an
approver only where --approved-by names one, as stated by that account.

If it is interrupted, the same command goes on where it was. Once it is
finished, the same command tries again what failed.
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
				return exit.Usage(errors.New("--approval and --approved-by exclude each other: a signature has its own approver"), "leave --approved-by out")
			}
			if err := bindToHash(ctx, f, cmd, o.approved, hash, o.dryRun); err != nil {
				return err
			}
			return planOrMigrate(ctx, f, cmd, o.approved.Head.SourceLocation, o)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&hash, "hash", "", "carry out the plan of this `hash`, all 64 digits, and no other")
	flags.StringVar(&by, "approved-by", "", "record this `name` as the approver, as stated by the account that runs this (default: no approver is recorded)")
	addApplyFlags(flags, &o)
	command.AddApprovalFlags(flags)
	flags.BoolVar(&o.retryExhausted, "retry-exhausted", false, retryExhaustedHelp)
	command.AddS3Flags(flags)
	command.AddTableFlags(flags)
	addSendingFlags(flags, &o)
	return c
}

// openApproved reads an approved plan. Nobody is asked for anything yet.
func openApproved(f *command.Factory, name string) (*approvedPlan, error) {
	file, err := approval.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.With(exit.CodeError, fmt.Errorf("there is no plan %s", name), "write one: "+f.Again("plan", f.SourceArgument("SOURCE"), cmdline.WithValue("output", name)...))
	} else if err != nil {
		return nil, err
	}
	f.CloseLater(file.Close)
	f.PlanFile = name
	if file.Unsupported > 0 {
		return nil, exit.With(exit.CodeSafetyCheck, fmt.Errorf("the plan has %s with an extension that no category allows; nothing was sent", ui.Counted(file.Unsupported, "object")),
			"plan again with --unsupported skip or create, or after the extensions are allowed in a category of the service")
	}
	return &approvedPlan{File: file, name: name}, nil
}

// adopt has the settings be those of the plan, where they decide what is read.
func (p *approvedPlan) adopt(f *command.Factory) migrate.Rules {
	rules := p.Head.Rules
	f.Settings.SourceName, f.Settings.Symlinks, f.Settings.OnExisting = p.Head.Source, rules.Symlinks, rules.OnExisting
	return rules
}

// describesBy refuses to carry out a plan under other rules for metadata than its own: with
// them, assets would get texts or GPS coordinates that the plan leaves out.
func (p *approvedPlan) describesBy(now migrate.Rules) error {
	if was := p.Head.Rules; now.Mapping == was.Mapping && now.Places == was.Places {
		return nil
	}
	return exit.With(exit.CodeSafetyCheck, fmt.Errorf("%s was made with other rules for metadata; nothing was sent", ui.Sanitize(p.name)),
		"give apply the mapping, --precedence, --ignore-metadata, --gps and --on-limit of the plan, or plan again")
}

// hasTable refuses to carry out a plan with another metadata table than its own.
func (p *approvedPlan) hasTable(checksum string) error {
	if p == nil || p.Head.Metadata == checksum {
		return nil
	}
	return exit.With(exit.CodeSafetyCheck, fmt.Errorf("%s was made with another metadata table, or without one; nothing was sent", ui.Sanitize(p.name)),
		"give apply the --metadata of the plan, or plan again")
}

// isFor refuses a plan that was made for another destination.
func (p *approvedPlan) isFor(d *command.Destination) error {
	if p == nil || p.Head.Destination == d.Identity() {
		return nil
	}
	return exit.With(exit.CodeError, fmt.Errorf("the plan is for another destination: it was made for %s (%s), and this is %s (%s)",
		ui.Sanitize(p.Head.Destination), ui.Sanitize(p.Noted.Address), d.Identity(), d.URL),
		"name the destination of the plan with --to, or plan again for this one")
}

// engine is the plan as the engine takes it.
func (p *approvedPlan) engine() *plan.Approval {
	if p == nil {
		return nil
	}
	return &plan.Approval{Hash: p.Hash, Categories: p.Head.Categories, Items: p.Items()}
}

// introduce says what is carried out.
func (p *approvedPlan) introduce(f *command.Factory) {
	if p == nil {
		return
	}
	f.Out.Notef("Plan         %s", p.made())
	if p.bound {
		f.Out.Notef("Plan hash    %s", p.Hash)
	}
}

// hash is that of the plan, empty if there is none.
func (p *approvedPlan) hash() string {
	if p == nil {
		return ""
	}
	return p.Hash
}

// showDrift tells what a dry run of an approved plan found to have drifted.
func showDrift(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan) error {
	if s.approved == nil {
		return nil
	}
	return showProblems(ctx, f, s, plan.Run.Num, state.ItemChanged)
}

// whyNow is the reason of a decision, in every detail where it drifted.
func whyNow(i state.Item) string {
	if i.State == state.ItemChanged {
		return i.Error
	}
	return migrate.Reason(i.Reason).Text()
}
