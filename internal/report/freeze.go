package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A Freeze lists the objects of a wave that changed at the source, or were deleted there, after the
// freeze of the wave.
type Freeze struct {
	At      time.Time   `json:"at"`
	Changed LateChanges `json:"changed"`
	Deleted LateChanges `json:"deleted"`
}

// LateChanges are changes after a freeze.
type LateChanges struct {
	Amount
	First []LateChange `json:"first"` // by key
}

// A LateChange is one of them. At is the time of the object, or of the listing that missed it first.
type LateChange struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
}

func (l *LateChanges) note(o sources.Object, at time.Time) {
	l.add(o.Size)
	l.First = appendUpTo(shownExamples, l.First, LateChange{string(o.Key), at.UTC().Truncate(time.Second)})
}

// Left counts the objects that are not in First.
func (l LateChanges) Left() int64 { return l.Objects - int64(len(l.First)) }

// Shown counts the objects in First.
func (l LateChanges) Shown() int64 { return int64(len(l.First)) }

// Text says what changed after the freeze.
func (f Freeze) Text() string {
	deleted := ui.CountedAs(f.Deleted.Objects, "object was deleted", "objects were deleted")
	switch {
	case f.Changed.Objects+f.Deleted.Objects == 0:
		return "No later change of an object at the source is known, and this run trashed none."
	case f.Changed.Objects == 0:
		return deleted + " at the source since then."
	}
	text := fmt.Sprintf("%s, %s, changed at the source since then", objects(f.Changed.Objects), ui.Bytes(f.Changed.Bytes))
	if f.Deleted.Objects > 0 {
		text += ", and " + deleted
	}
	return text + "."
}

// wave returns the wave of the run as it was then; nil if there is none, as for an undo.
func (l *lists) wave() (*migrate.Wave, error) {
	if l.run.Pair.Wave == "" || l.run.Undoes != 0 {
		return nil, nil
	}
	rules, err := migrate.ReadRules(l.run)
	return rules.Wave, err
}

// beginFreeze begins the list of late changes, if the wave of the run has a freeze.
func (l *lists) beginFreeze(_ context.Context, r *Report) error {
	wave, err := l.wave()
	if err == nil && wave != nil && !wave.Freeze.IsZero() {
		r.Freeze = &Freeze{At: wave.Freeze, Changed: LateChanges{First: []LateChange{}}, Deleted: LateChanges{First: []LateChange{}}}
	}
	return err
}

// deletedLate adds the deleted objects to the freeze: those whose assets still exist, and those that
// the run trashed.
func (l *lists) deletedLate(ctx context.Context, r *Report) error {
	rules, err := migrate.ReadRules(l.run)
	if err != nil || r.Freeze == nil {
		return err
	}
	for o, err := range l.store.Orphans(ctx, l.run.Pair.ID, "") {
		if err != nil {
			return err
		}
		if rules.Wave.HasKey(o.Key) && o.Since.After(r.Freeze.At) {
			r.Freeze.Deleted.note(sources.Object{Key: o.Key}, o.Since)
		}
	}
	for i, err := range l.store.Remarkable(ctx, l.run.Num) {
		switch at := l.missedSince(rules, i); {
		case err != nil:
			return err
		case i.Action == state.Trash && i.State == state.ItemDone && at.After(r.Freeze.At):
			r.Freeze.Deleted.note(i.Object, at)
		case i.Action == state.Create && isProblem(StateOf(i.Action, i.State)) && rules.Wave.IsFrozen(i.Object): // others have receipts
			r.Freeze.Changed.note(i.Object, i.Time)
		}
	}
	for _, list := range []*LateChanges{&r.Freeze.Changed, &r.Freeze.Deleted} {
		slices.SortFunc(list.First, func(a, b LateChange) int { return cmp.Compare(a.Key, b.Key) })
	}
	return nil
}

// missedSince returns the latest time of the first listing that missed an object that the run trashed.
func (l *lists) missedSince(rules migrate.Rules, i state.Item) time.Time {
	if migrate.Reason(i.Reason) == migrate.ReasonGracePeriodOver && rules.Sync != nil {
		return l.run.ListedAt.Add(-rules.Sync.GracePeriod)
	}
	return l.run.ListedAt
}

// ShowsFreeze reports whether there was a freeze before the end of the report.
func (r Report) ShowsFreeze() bool { return r.Freeze != nil && r.Freeze.At.Before(r.MadeAt) }

func (t *text) freeze(r Report) {
	if !r.ShowsFreeze() {
		return
	}
	t.heading("Freeze")
	t.say(2, "Wave %s has been frozen since %s. %s", r.Run.Wave, t.at(r.Freeze.At), r.Freeze.Text())
	for _, list := range r.Freeze.Lists() {
		t.say(2, "%s:", list.Title)
		for _, c := range list.First {
			t.quote(4, t.at(c.At)+"  "+c.Key)
		}
		if list.Left() > 0 {
			t.say(4, "… and %s more", ui.Count(list.Left()))
		}
	}
}

// A lateList is a list of late changes with its titles.
type lateList struct {
	ID, Title, Time string
	LateChanges
}

// Lists returns the lists that are not empty.
func (f Freeze) Lists() []lateList {
	all := []lateList{{"late-changes", "Changed at the source", "Changed", f.Changed}, {"late-deletions", "Deleted at the source", "First missed", f.Deleted}}
	return slices.DeleteFunc(all, func(l lateList) bool { return l.Objects == 0 })
}
