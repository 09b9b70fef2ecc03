package migratecmd

import (
	"context"
	"errors"
	"fmt"
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

// SyncOptions are the switches of sync that are no settings: what is asked for tonight.
type SyncOptions struct {
	on                           bool // it is a sync, or the plan of one
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
		Short: "Keep the destination in step, night after night",
		Long: `Sync brings what is new, replaces what changed, follows what was renamed or
moved, and writes metadata that changed. Assets keep their addresses, and the
service keeps old contents as revisions. It is made to be run by a timer: it is
resumed as migrate is, and "assetferry undo" takes a night back.

What people did at the destination stays: an asset that somebody moved or edited
is a conflict, and one that somebody deleted stays deleted. What is gone from
the source stays at the destination and is reported, unless --delete trash is
given.

Where the destination requires approvals, sync takes a standing approval, which
names its rules and limits: assetferry help security.

A source in trouble must not harm the destination, so there are limits beyond
which nothing is done (exit code 6) until somebody consents to what would be.
`,
		Example: `  assetferry sync ./photos --unsupported skip --dry-run
  assetferry sync ./photos --unsupported skip --delete trash
  assetferry sync ./photos --unsupported skip --only failed`,
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

// AddSyncRunFlags adds all flags of a sync that does not stay.
func AddSyncRunFlags(f *pflag.FlagSet, o *MigrateOptions) {
	addApplyFlags(f, o)
	addSelectionFlags(f)
	addCreateFlags(f, &o.retryExhausted)
	addSendingFlags(f, o)
	addSyncFlags(f, &o.sync)
	command.AddApprovalFlags(f)
	f.StringVar(&o.sync.only, "only", "", "take only `what` did not arrive before: failed")
	f.BoolVar(&o.sync.yes, "yes", false, "repair without asking; waives no limit")
}

// addSyncFlags adds what decides about assets that are there already.
func addSyncFlags(f *pflag.FlagSet, o *SyncOptions) {
	f.BoolVar(&o.checksum, "checksum", false, "read every object and compare it with what was sent, whatever its time and version")
	cmdline.Setting(f, "delete", "what becomes of assets whose objects are `gone`")
	cmdline.Setting(f, "grace_period", "`duration` for which an object must have been gone before its asset is trashed, and be missed by two runs")
	cmdline.Setting(f, "max-delete", "trash at most this `number` of assets in a run")
	cmdline.Setting(f, "max-delete-percent", "trash at most this `part` of the known objects in a run, in percent")
	cmdline.Setting(f, "max-changes", "replace, describe or move at most this `number` of assets in a run")
	cmdline.Setting(f, "max-changes-percent", "replace, describe or move at most this `part` of the known objects in a run, in percent")
	cmdline.Setting(f, "sentinel", "`key` of an object that is always at the source; without it nothing is done")
	cmdline.Setting(f, "drift-share", "`part` of the assets that each run compares with what it left at the destination; 0 compares none")
	cmdline.Setting(f, "on-destination-change", "`policy` where people changed an asset")
	cmdline.Setting(f, "on-replace-refused", "`policy` where the service does not take another content for an asset")
	f.BoolVar(&o.repair, "repair", false, "look at every asset, and create again what somebody deleted at the destination; asks first")
	f.BoolVar(&o.again, "refresh-metadata", false, "look once more for what describes objects, in their content, too, and describe their assets by it")
	f.BoolVar(&o.acceptRules, "accept-rules", false, "other rules than those of the last sync are meant")
	f.Int64Var(&o.acceptDeletes, "accept-deletes", 0, "trash up to this `number` of assets, beyond the limits")
	f.Int64Var(&o.acceptChanges, "accept-changes", 0, "replace, describe or move up to this `number` of assets, beyond the limits")
}

// SettingsOfSync are the rules of a sync, but for which objects failed before.
func SettingsOfSync(f *command.Factory, o SyncOptions) *migrate.SyncRules {
	c, r := f.Settings, migrate.DefaultSyncRules()
	r.RefreshMetadata = o.again
	r.Checksum, r.Repair, r.Delete, r.GracePeriod = o.checksum, o.repair, c.Delete, c.GracePeriod
	r.OnReplaceRefused, r.OnDestinationChange = c.OnReplaceRefused, c.OnDestinationChange
	return r
}

// syncRules makes a sync of what would only bring what is new.
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
	return exit.Usage(fmt.Errorf("--only takes failed, and not %q", o.only), "leave it out for all")
}

// takeFailed limits a sync to what did not arrive before. A run that is being applied has more
// to do than what failed in it: it comes first, unless it is given up.
func takeFailed(ctx context.Context, f *command.Factory, s *endpoints, r *migrate.SyncRules, restart bool) error {
	open, err := command.UnfinishedRun(ctx, s.store, s.pair)
	if err != nil {
		return err
	}
	begun := open.State == state.Applying // any other gives way
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
		f.Out.Printf("Nothing is left of what failed before.")
		return exit.Said(exit.CodeDone)
	}
	r.Failed = migrate.NewKeyList(keys)
	r.Failed.Checksum = "failed" // of which there may be fewer when a run is gone on with
	return nil
}

// failedKeys are the keys of objects that did not arrive when they were tried last, in the last
// run that had all of the source or all that had failed, or since.
func (s *endpoints) failedKeys(ctx context.Context) (keys []sources.Key, err error) {
	for f, err := range s.store.Failures(ctx, s.pair.ID, "") {
		if err != nil {
			return nil, err
		}
		keys = append(keys, f.Key)
	}
	_, retried, err := migrate.LastWhole(ctx, s.store, s.pair.ID)
	if err != nil {
		return nil, err
	}
	unarrived, err := s.store.IncompleteKeys(ctx, s.pair.ID, retried)
	return append(keys, unarrived...), err
}

// printOvertaken says that a run was not gone on with, since it could not follow what changed.
func printOvertaken(f *command.Factory, plan migrate.Plan) {
	former := plan.Superseded
	if former == nil {
		return
	}
	f.Summary.Supersedes = former.Run
	f.Out.Notef("%s has changed since run %s was done with it. That run ends here; what it did is kept, and a new run does what is left.",
		ui.Sanitize(string(former.Key)), former.Run)
}

// guard gives a planner the limits of a sync.
func guard(f *command.Factory, p *plan.Planner, o SyncOptions) {
	p.DriftShare, p.SafetyChecks = f.Settings.DriftShare, safetyChecks(f, o)
}

// guards are the limits of a sync.
func safetyChecks(f *command.Factory, o SyncOptions) safety.SafetyChecks {
	c := f.Settings
	return safety.SafetyChecks{
		Sentinel: sources.Key(strings.TrimPrefix(c.Sentinel, "./")), MaxDelete: int64(c.MaxDelete), MaxDeletePercent: c.MaxDeletePercent,
		MaxChanges: int64(c.MaxChanges), MaxChangesPercent: c.MaxChangesPercent,
		AcceptRules: o.acceptRules, AcceptDeletes: o.acceptDeletes, AcceptChanges: o.acceptChanges,
	}
}

// showSafetyChecks tells what keeps a plan, or a part of it, from being carried out. Its error
// ends the command where that is all of it.
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

// agreeToRepair asks before anything is created again that somebody deleted.
func agreeToRepair(ctx context.Context, f *command.Factory, s *endpoints, plan migrate.Plan, o SyncOptions) error {
	deleted, bytes := sumOf(plan.Tallies, state.Create, string(migrate.ReasonAssetDeletedCreated))
	if deleted == 0 || o.yes {
		return nil
	}
	if !ui.IsTerminal(f.Stdin) {
		return exit.Usage(fmt.Errorf("--repair asks before it creates %s again, and nobody is here to answer", ui.Counted(deleted, "asset")),
			"look at the plan with --dry-run, then add --yes")
	}
	yes, err := f.Confirm(ctx, fmt.Sprintf("Create %s again at %s (%s)?\nSomebody deleted them there.", ui.Counted(deleted, "asset"), ui.Sanitize(s.dest.String()), ui.Bytes(bytes)))
	if yes || err != nil {
		return err
	}
	return exit.With(exit.CodeError, errors.New("nobody said yes, so nothing was sent"), "answer y, or use --yes")
}
