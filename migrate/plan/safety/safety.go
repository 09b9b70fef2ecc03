// Package safety holds a sync against its safety checks: limits to what it may do to assets that are
// there already.
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

// SafetyChecks are limits to what a sync may do to assets that are there already, and what the
// user accepts beyond them. A source in trouble looks like one in which a lot was done,
// so nothing here is waived by answering yes to everything.
type SafetyChecks struct {
	Sentinel          sources.Key // must be listed; empty: none
	MaxDelete         int64       // the most assets that may be trashed
	MaxDeletePercent  float64     // the same, of the objects that are known
	MaxChanges        int64       // the most assets that may be replaced, described or moved
	MaxChangesPercent float64     // the same, of the objects that are known
	AcceptDeletes     int64       // so many may be trashed all the same
	AcceptChanges     int64       // so many may be changed all the same
	AcceptRules       bool        // other rules than those of the last sync are meant
}

// DefaultChecks are the safety checks where the user says nothing.
func DefaultChecks() SafetyChecks {
	return SafetyChecks{MaxDelete: 500, MaxDeletePercent: 1, MaxChanges: 1000, MaxChangesPercent: 20}
}

const (
	// fewChanges are never too many, whatever part of a small library they are.
	fewChanges = 20
	// fewDeletes are never too many, as long as at least as many objects are left: one of a
	// hundred is all that one percent is, and a source of three that lost all of them is empty.
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
// that excludes or moves objects changes the whole library. Resuming a run asks for no second
// confirmation.
func (g SafetyChecks) CheckRules(ctx context.Context, store *state.Store, run state.Run, rules migrate.Rules) error {
	if rules.Sync == nil || g.AcceptRules || run.State == state.Applying {
		return nil
	}
	last, err := store.LastFinished(ctx, run.Pair.ID, migrate.SyncCommand)
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

// CheckChanges fails if more of the known objects would be changed than may be.
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

// TooManyDeletes returns why more assets of the known objects are due than may be trashed, or "" if
// they are not.
func (g SafetyChecks) TooManyDeletes(due, known int64) (why string) {
	few := due <= fewDeletes && 2*due <= known && g.MaxDeletePercent > 0
	if due <= g.AcceptDeletes || due <= g.MaxDelete && (few || within(due, known, g.MaxDeletePercent)) {
		return ""
	}
	return fmt.Sprintf("%s %s, of %s: the limits are %s and %g %%; none was trashed",
		counted(due, "asset"), migrate.CheckManyDeletes, counted(known, "known object"), migrate.Grouped(g.MaxDelete), g.MaxDeletePercent)
}

// within reports whether so many are at most a part of all, in percent.
func within(n, all int64, percent float64) bool { return float64(n)*100 <= percent*float64(all) }

// counted gives a number with its word.
func counted(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return migrate.Grouped(n) + " " + word + "s"
}
