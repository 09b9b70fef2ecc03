// Package safety checks a plan of a sync against limits to the changes of existing assets.
package safety

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// SafetyChecks are limits to the changes of existing assets in a sync, and the exceptions that the
// user accepts. A broken source looks like one with many changes, so answering yes to all questions
// accepts no exception.
type SafetyChecks struct {
	Sentinel          sources.Key // must be listed; empty: none
	MaxDelete         int64       // the most assets that may be trashed
	MaxDeletePercent  float64     // the same, of the objects that are known
	MaxChanges        int64       // the most assets that may be replaced, described or moved
	MaxChangesPercent float64     // the same, of the objects that are known
	AcceptDeletes     int64       // this number may be trashed beyond the limit
	AcceptChanges     int64       // this number may be changed beyond the limit
	AcceptRules       bool        // accept rules that differ from those of the last sync
}

// DefaultChecks returns the default limits.
func DefaultChecks() SafetyChecks {
	return SafetyChecks{MaxDelete: 500, MaxDeletePercent: 1, MaxChanges: 1000, MaxChangesPercent: 20}
}

const (
	// fewChanges is a number of changes that is always accepted, even if it is a large part of a
	// small library.
	fewChanges = 20
	// fewDeletes is a number of deletions that is always accepted if at least as many objects are
	// left: one percent of a hundred objects is only one, and a source that lost all of its three
	// objects is empty.
	fewDeletes = 5
)

// MissingSentinel returns the failed check of a source whose sentinel was not listed.
func (g SafetyChecks) MissingSentinel() *migrate.SafetyCheckError {
	return &migrate.SafetyCheckError{
		What:     fmt.Sprintf("the source has no %s, %s; nothing was uploaded", g.Sentinel, migrate.CheckSentinelMissing),
		NextStep: "check that the disk or share is mounted and complete; restore the sentinel, or name another one",
	}
}

// CheckRules fails if the rules differ from those of the last sync and are not accepted: a rule
// that excludes or moves objects changes the whole library. It also fails if the credentials are
// missing that the last run had. Resuming a run asks for no second confirmation.
func (g SafetyChecks) CheckRules(ctx context.Context, store *state.Store, run state.Run, rules migrate.Rules) error {
	if rules.Sync == nil || g.AcceptRules || run.State == state.Applying {
		return nil
	}
	if err := checkAccess(ctx, store, run, rules); err != nil {
		return err
	}
	last, err := store.LastFinished(ctx, run.Pair, migrate.SyncCommand)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	was, err := migrate.ReadRules(last)
	if err != nil {
		return err
	}
	changed := rules.ScopeChanges(was)
	if len(changed) == 0 {
		return nil
	}
	return &migrate.SafetyCheckError{
		What:     fmt.Sprintf("%s, run %s: %s; nothing was uploaded", migrate.CheckRulesChanged, last.ID, strings.Join(changed, "; ")),
		NextStep: "check their effect with {dry_run}, then run once with {accept_rules}",
	}
}

// checkAccess fails if the last run had an application password, and this one has none.
func checkAccess(ctx context.Context, store *state.Store, run state.Run, rules migrate.Rules) error {
	if rules.Access != migrate.Public {
		return nil
	}
	last, err := store.FinishedBefore(ctx, run, 1)
	if err != nil || len(last) == 0 {
		return err
	}
	was, err := migrate.ReadRules(last[0])
	if err != nil || was.Access != migrate.ByPassword {
		return err
	}
	return &migrate.SafetyCheckError{
		What:     fmt.Sprintf("%s, and run %s had one: files that are not public would look deleted, and texts would change; nothing was uploaded", migrate.CheckSignedOut, last[0].ID),
		NextStep: "set the variables of the application password again, or run once with {accept_rules} if the site has none any more",
	}
}

// CheckChanges fails if more of the known objects would be changed than the limit allows.
func (g SafetyChecks) CheckChanges(changes, known int64) error {
	few := changes <= fewChanges && changes <= g.MaxChanges
	if few || changes <= g.AcceptChanges || changes <= g.MaxChanges && within(changes, known, g.MaxChangesPercent) {
		return nil
	}
	return &migrate.SafetyCheckError{
		What: fmt.Sprintf(flagname.InText("%s %s, of %s: the limits are %s and %g %% ({max_changes}, {max_changes_percent}); nothing was uploaded"),
			counted(changes, "asset"), migrate.CheckManyChanges, counted(known, "known object"), migrate.Grouped(g.MaxChanges), g.MaxChangesPercent),
		NextStep: fmt.Sprintf("check the source and the plan with {dry_run}, then use {accept_changes} %d", changes),
	}
}

// TooManyDeletes returns why the number of assets to trash exceeds the limit, or "" if it does not.
func (g SafetyChecks) TooManyDeletes(due, known int64) (why string) {
	few := due <= fewDeletes && 2*due <= known && g.MaxDeletePercent > 0
	if due <= g.AcceptDeletes || due <= g.MaxDelete && (few || within(due, known, g.MaxDeletePercent)) {
		return ""
	}
	return fmt.Sprintf("%s %s, of %s: the limits are %s and %g %%; none was trashed",
		counted(due, "asset"), migrate.CheckManyDeletes, counted(known, "known object"), migrate.Grouped(g.MaxDelete), g.MaxDeletePercent)
}

// within reports whether n is at most a percentage of all.
func within(n, all int64, percent float64) bool { return float64(n)*100 <= percent*float64(all) }

// counted returns a number with its word.
func counted(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return migrate.Grouped(n) + " " + word + "s"
}
