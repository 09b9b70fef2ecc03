package migratecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/migrate/plan/safety"
	"assetferry/sources"
	"assetferry/state"
)

// SyncOptions are the flags of sync that apply to one run and are no settings.
type SyncOptions struct {
	on                           bool // a sync, or the plan of one
	checksum, repair, yes, again bool
	only                         string // "failed", or empty
	acceptRules                  bool
	acceptDeletes, acceptChanges int64
}

// NewSyncCommand makes assetferry sync.
func NewSyncCommand(f *command.Factory) *cobra.Command {
	o := MigrateOptions{command: "sync", sync: SyncOptions{on: true}}
	var stays StayOptions
	c := &cobra.Command{
		Use:   "sync SOURCE",
		Short: "Keep the destination up to date with a source",
		Long: `Sync uploads new objects, replaces changed content, follows renames and moves,
and updates changed metadata. Assets keep their URLs, and the service keeps old
content as revisions. To undo a run, use assetferry undo.

Changes by users at the destination stay. An asset is a conflict if a user moved
it or edited its content. An asset that a user deleted stays deleted. Sync
reports objects that were deleted at the source. Only --delete trash moves their
assets to the trash.

Safety checks stop a run before it changes anything (exit code 6), for example
if a source lists no objects. If a check can be overridden once, the message
names the flag.

To run sync on a timer, see assetferry schedule. For destinations that require
approvals, see assetferry help security.
`,
		Example: `  assetferry sync ./photos --unsupported skip --dry-run
  assetferry sync ./photos --unsupported skip --delete trash
  assetferry sync ./photos --preset scheduled --max-duration 8h`,
		Args:              command.SourceOrJob,
		ValidArgsFunction: cmdline.Directories,
		RunE: f.DoSource(func(ctx context.Context, cmd *cobra.Command, source string) error {
			return stay(ctx, f, cmd, source, stays, func(ctx context.Context, f *command.Factory) error {
				return planOrMigrate(ctx, f, cmd, source, o)
			})
		}),
	}
	flags := c.Flags()
	AddSyncRunFlags(flags, &o)
	AddStayFlags(flags, &stays)
	return c
}

// AddSyncRunFlags adds all flags of a single sync.
func AddSyncRunFlags(f *pflag.FlagSet, o *MigrateOptions) {
	addPresetFlag(f)
	addApplyFlags(f, o)
	addSelectionFlags(f)
	addCreateFlags(f, &o.retryExhausted)
	addSendingFlags(f, o)
	addSyncFlags(f, &o.sync)
	command.AddApprovalFlags(f)
	f.StringVar(&o.sync.only, "only", "", "`failed`: sync only objects that failed before")
	f.BoolVar(&o.sync.yes, "yes", false, "skip the confirmation of --repair; overrides no safety check")
}

// addSyncFlags adds the flags for existing assets.
func addSyncFlags(f *pflag.FlagSet, o *SyncOptions) {
	f.BoolVar(&o.checksum, "checksum", false, "compare all objects by checksum instead of time and version")
	cmdline.Setting(f, "delete", "handling of assets whose objects were deleted at the source")
	cmdline.Setting(f, "grace-period", "`duration` between the deletion of an object and the trashing of its asset; the object must be missing in two runs")
	cmdline.Setting(f, "max-delete", "stop if a run would trash more than this `number` of assets")
	cmdline.Setting(f, "max-delete-percent", "stop if a run would trash more than this `percentage` of the known objects")
	cmdline.Setting(f, "max-changes", "stop if a run would replace, update or move more than this `number` of assets")
	cmdline.Setting(f, "max-changes-percent", "stop if a run would replace, update or move more than this `percentage` of the known objects")
	cmdline.Setting(f, "sentinel", "`key` of an object that must exist at the source; without the object, the run stops")
	cmdline.Setting(f, "drift-share", "`share` of the assets that each run checks for changes at the destination; 0 checks none")
	cmdline.Setting(f, "on-destination-change", "handling of assets that people changed at the destination")
	cmdline.Setting(f, "on-replace-refused", "handling of assets whose content the service does not replace")
	f.BoolVar(&o.repair, "repair", false, "check every asset, and recreate assets that were deleted at the destination, after confirmation")
	f.BoolVar(&o.again, "refresh-metadata", false, "read the metadata of all objects again, and update their assets")
	f.BoolVar(&o.acceptRules, "accept-rules", false, "override: accept rules that differ from those of the last sync")
	f.Int64Var(&o.acceptDeletes, "accept-deletes", 0, "override: trash up to this `number` of assets")
	f.Int64Var(&o.acceptChanges, "accept-changes", 0, "override: replace, update or move up to this `number` of assets")
}

// SettingsOfSync returns the rules of a sync, without the objects that failed before.
func SettingsOfSync(f *command.Factory, o SyncOptions) *migrate.SyncRules {
	c, r := f.Settings, migrate.DefaultSyncRules()
	r.RefreshMetadata = o.again
	r.Checksum, r.Repair, r.Delete, r.GracePeriod = o.checksum, o.repair, c.Delete, c.GracePeriod
	r.OnReplaceRefused, r.OnDestinationChange = c.OnReplaceRefused, c.OnDestinationChange
	return r
}

// syncRules adds the rules of a sync, if it is one.
func syncRules(ctx context.Context, f *command.Factory, s *endpoints, o SyncOptions, restart bool) error {
	if !o.on {
		return nil
	}
	r := SettingsOfSync(f, o)
	s.rules.Sync = r
	switch o.only {
	case "":
		return nil
	case "failed":
		return takeFailed(ctx, f, s, r, restart)
	}
	return exit.Usage(fmt.Errorf("--only %q is not valid: its only value is failed", o.only), "omit it to include all objects")
}

// takeFailed limits a sync to the objects that did not arrive before. A started run has more to do
// than these: it comes first, unless it is given up.
func takeFailed(ctx context.Context, f *command.Factory, s *endpoints, r *migrate.SyncRules, restart bool) error {
	open, err := command.UnfinishedRun(ctx, s.store, s.pair)
	if err != nil {
		return err
	}
	begun := open.State == state.Applying // any other is superseded
	if begun && !restart {
		rules, err := migrate.ReadRules(open)
		if err != nil {
			return err
		}
		if rules.Sync == nil || rules.Sync.Failed == nil {
			return refuseRun(ctx, f, s.store, open, migrate.RunDecision{Step: migrate.StepRefuse, Why: migrate.WhyOtherRun})
		}
	}
	keys, err := s.failedKeys(ctx)
	if err != nil {
		return err
	}
	if len(keys) == 0 && !begun {
		f.Out.Printf("Nothing to do: no object failed before.")
		return exit.Said(exit.CodeDone)
	}
	r.Failed = migrate.NewKeyList(keys)
	r.Failed.Checksum = "failed" // a resumed run may have fewer of them
	return nil
}

// failedKeys returns the keys of objects that did not arrive in their last attempt, since the last
// run that included the whole source or all failed objects.
func (s *endpoints) failedKeys(ctx context.Context) (keys []sources.Key, err error) {
	for f, err := range s.store.Failures(ctx, s.pair.ID, "") {
		if err != nil {
			return nil, err
		}
		keys = append(keys, f.Key)
	}
	_, retried, err := migrate.LastWhole(ctx, s.store, s.pair)
	if err != nil {
		return nil, err
	}
	unarrived, err := s.store.IncompleteKeys(ctx, s.pair.ID, retried)
	keys = slices.DeleteFunc(append(keys, unarrived...), func(key sources.Key) bool { return !s.rules.Wave.HasKey(key) })
	return keys, err
}

// printOvertaken reports that a new run replaces the unfinished one, because of changes at the
// source.
func printOvertaken(f *command.Factory, plan migrate.Plan) {
	former := plan.Superseded
	if former == nil {
		return
	}
	f.Summary.Supersedes = former.Run
	f.Out.Notef("%s changed after run %s had uploaded it. That run ends here; a new run does the rest.",
		ui.Sanitize(string(former.Key)), former.Run)
}

// setSafetyChecks sets the safety checks of a planner.
func setSafetyChecks(f *command.Factory, p *plan.Planner, o SyncOptions) {
	p.DriftShare, p.SafetyChecks = f.Settings.DriftShare, safetyChecks(f, o)
}

// safetyChecks returns the safety checks of a sync.
func safetyChecks(f *command.Factory, o SyncOptions) safety.SafetyChecks {
	c := f.Settings
	return safety.SafetyChecks{
		Sentinel: sources.Key(strings.TrimPrefix(c.Sentinel, "./")), MaxDelete: int64(c.MaxDelete), MaxDeletePercent: c.MaxDeletePercent,
		MaxChanges: int64(c.MaxChanges), MaxChangesPercent: c.MaxChangesPercent,
		AcceptRules: o.acceptRules, AcceptDeletes: o.acceptDeletes, AcceptChanges: o.acceptChanges,
	}
}

// showSafetyChecks reports the safety checks that stop a plan or a part of it. It returns an error if
// they stop all of it.
func showSafetyChecks(f *command.Factory, plan migrate.Plan) error {
	if plan.Run.Stopped != "" && len(plan.FailedChecks) == 0 {
		f.Out.Notef("%s.", capitalized(plan.Run.Stopped))
		return nil
	}
	for n, e := range plan.FailedChecks {
		if n == len(plan.FailedChecks)-1 {
			return e
		}
		f.Out.Fail(event.Error{Class: exit.Classes[exit.CodeSafetyCheck], Message: e.Error(), Hint: exit.HintOf(e)})
	}
	return nil
}

func capitalized(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// agreeToRepair asks for confirmation before it creates deleted assets again.
func agreeToRepair(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, o SyncOptions) error {
	deleted, bytes := sumOf(plan.Tallies, state.Create, string(migrate.ReasonAssetDeletedCreated))
	if deleted == 0 || o.yes {
		return nil
	}
	if !ui.IsTerminal(f.Stdin) {
		return exit.Usage(fmt.Errorf("--repair needs confirmation to create %s again, and there is no terminal", ui.Counted(deleted, "asset")),
			"check the plan with --dry-run. In a script, add --yes")
	}
	yes, err := f.Confirm(ctx, fmt.Sprintf("Create %s again at %s (%s)?\nAnother user deleted them there.", ui.Counted(deleted, "asset"), ui.Sanitize(s.dest.String()), ui.Bytes(bytes)))
	if yes || err != nil {
		return err
	}
	return exit.With(exit.CodeError, errors.New("not confirmed: nothing was uploaded"), "answer y, or use --yes")
}
