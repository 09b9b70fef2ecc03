package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/internal/header"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// Guards are limits to what a sync may do to assets that are there already, and what the
// user consents to beyond them. A source in trouble looks like one in which a lot was done,
// so nothing here is waived by answering yes to everything.
type Guards struct {
	Sentinel          sources.Key // must be listed; empty: none
	MaxDelete         int64       // the most assets that may be trashed
	MaxDeletePercent  float64     // the same, of the objects that are known
	MaxChanges        int64       // the most assets that may be replaced, described or moved
	MaxChangesPercent float64     // the same, of the objects that are known
	AcceptDeletes     int64       // so many may be trashed all the same
	AcceptChanges     int64       // so many may be changed all the same
	AcceptRules       bool        // other rules than those of the last sync are meant
}

// DefaultGuards are the guards where the user says nothing.
func DefaultGuards() Guards {
	return Guards{MaxDelete: 500, MaxDeletePercent: 1, MaxChanges: 1000, MaxChangesPercent: 20}
}

const (
	// fewChanges are never too many, whatever part of a small library they are.
	fewChanges = 20
	// fewDeletes are never too many, as long as at least as many objects are left: one of a
	// hundred is all that one percent is, and a source of three that lost all of them is empty.
	fewDeletes = 5
)

// seeSentinel takes note of the object whose presence says that the source is whole.
func (w *walk) seeSentinel(o sources.Object) {
	if o.Key == w.Guards.Sentinel && o.Obstacle == "" {
		w.sentinel = true
	}
}

// checkSentinel fails if the whole source was listed, and the object that must be there was
// not.
func (w *walk) checkSentinel() error {
	if w.Guards.Sentinel == "" || w.sentinel || w.run.Cursor != "" {
		return nil
	}
	return &migrate.GuardError{
		What:     fmt.Sprintf("the source has no %s, %s; nothing was sent", w.Guards.Sentinel, migrate.GuardSentinelGone),
		NextStep: "see that the disk or share is mounted and whole; put the sentinel back, or name another one",
	}
}

// checkRules fails if the rules are not those of the last sync and nobody said that they are
// meant: what a rule leaves out, or puts elsewhere, is a change to all of the library. Who
// had a run carried out has said so, and need not again when it is gone on with.
func (p *Planner) checkRules(ctx context.Context, run state.Run) error {
	if p.Rules.Sync == nil || p.Guards.AcceptRules || run.State == state.Applying {
		return nil
	}
	last, err := p.Journal.LastFinished(ctx, run.Pair.ID, migrate.SyncCommand)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	was, err := migrate.ReadRules(last)
	if err != nil {
		return err
	}
	changed := p.Rules.ScopeChanges(was)
	if len(changed) == 0 {
		return nil
	}
	return &migrate.GuardError{
		What:     fmt.Sprintf("%s, run %s: %s; nothing was sent", migrate.GuardRulesChanged, last.ID, strings.Join(changed, "; ")),
		NextStep: "look at what they do with {dry_run}, then run it once with {accept_rules}",
	}
}

// guardChanges fails if more assets would be changed than may be.
func (g *guarding) guardChanges(ctx context.Context) error {
	changes, err := g.countPlanned(ctx, state.Replace, state.Describe, state.Move)
	if err != nil || changes == 0 {
		return err
	}
	known, err := g.Journal.SumReceipts(ctx, g.run.Pair.ID)
	if err != nil {
		return err
	}
	most := g.Guards
	few := changes <= fewChanges && changes <= most.MaxChanges
	if few || changes <= most.AcceptChanges || changes <= most.MaxChanges && within(changes, known.Objects, most.MaxChangesPercent) {
		return nil
	}
	return &migrate.GuardError{
		What: fmt.Sprintf(flagname.InText("%s %s, of %s: at most %s and %g %% may be ({max_changes}, {max_changes_percent}); nothing was sent"),
			counted(changes, "asset"), migrate.GuardManyChanges, counted(known.Objects, "known object"), migrate.Grouped(most.MaxChanges), most.MaxChangesPercent),
		NextStep: fmt.Sprintf("see that the source is what it should be, look at the plan with {dry_run}, then {accept_changes} %d", changes),
	}
}

// countPlanned counts what a plan wants to do of some actions.
func (p *planning) countPlanned(ctx context.Context, actions ...state.Action) (n int64, err error) {
	tallies, err := p.Journal.Tallies(ctx, p.run.Num)
	for _, t := range tallies {
		if t.State == state.ItemPlanned && slices.Contains(actions, t.Action) {
			n += t.Objects
		}
	}
	return n, err
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

const (
	// fewestJudged is how many contents must be looked at before they tell anything.
	fewestJudged = 10
	// mostJudged is how many are looked at.
	mostJudged = 100
)

// guardContents fails if what is to take the place of assets is, for the most part, not what
// its name says: so looks a disk that somebody has encrypted.
func (g *guarding) guardContents(ctx context.Context) error {
	replaced, err := g.countPlanned(ctx, state.Replace)
	if err != nil || replaced < fewestJudged || replaced <= g.Guards.AcceptChanges {
		return err
	}
	step := (replaced + mostJudged - 1) / mostJudged
	var seen, judged, odd int64
	for i, err := range g.Journal.Items(ctx, g.run.Num, state.ItemPlanned) {
		if err != nil {
			return err
		}
		if i.Action != state.Replace {
			continue
		}
		if seen++; seen%step != 0 {
			continue
		}
		known, fits, err := g.fits(ctx, i)
		if err != nil {
			return err
		}
		if known {
			judged++
		}
		if known && !fits {
			odd++
		}
	}
	if judged < fewestJudged || odd*2 <= judged {
		return nil
	}
	return &migrate.GuardError{
		What:     fmt.Sprintf("of %d changed objects that were looked into, %d are not what their names say, %s; nothing was sent", judged, odd, migrate.GuardLooksEncrypted),
		NextStep: "open some of them; if that is right all the same, {accept_changes} " + fmt.Sprint(replaced),
	}
}

// fits reports whether the content of an object is of the type that its name says, and
// whether that can be told at all.
func (g *guarding) fits(ctx context.Context, i state.Item) (known, fits bool, err error) {
	_, extension := migrate.SplitName(string(i.Key))
	extension = strings.ToLower(extension)
	if i.Size == 0 || header.Agrees(extension, "") { // nothing that begins with no known bytes is wrong there
		return false, false, nil
	}
	r, err := g.Source.Open(ctx, i.Object, 0)
	if err != nil {
		return false, false, context.Cause(ctx) // sending it will tell what is wrong with it
	}
	head := make([]byte, min(i.Size, header.Enough))
	_, err = io.ReadFull(r, head)
	if err := errors.Join(err, r.Close()); err != nil {
		return false, false, context.Cause(ctx)
	}
	return true, header.Agrees(extension, header.KindOf(head)), nil
}

// guarding holds a plan against the safety checks.
type guarding struct {
	*planning
	held     *heldDeletes
	drifted  *driftCursor
	violated *violations
}

// violations are the safety checks that a plan does not pass, so that none of it is carried out.
type violations struct{ all []*migrate.GuardError }

// do ends a plan that must not be carried out. In a dry run people want to see it, and
// are told.
func (g *guarding) do(ctx context.Context) error {
	if g.Rules.Sync == nil {
		return nil
	}
	checks := []func(context.Context) error{g.guardContents, g.guardChanges}
	for _, check := range checks {
		err := check(ctx)
		if e, ok := errors.AsType[*migrate.GuardError](err); ok {
			g.violated.all = append(g.violated.all, e)
		} else if err != nil {
			return err
		}
	}
	why := g.held.why
	for _, e := range g.violated.all {
		why = migrate.JoinTexts(e.What, why)
	}
	if why == "" && g.run.Stopped == "" && g.drifted.next == "" {
		return nil
	}
	return g.Journal.NoteSync(ctx, g.run.Num, why, g.drifted.next)
}
