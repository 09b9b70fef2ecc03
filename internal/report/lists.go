package report

import (
	"context"
	"errors"
	"iter"
	"slices"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// lists reads long lists from the state database, in pages.
type lists struct {
	store      *state.Store
	run        state.Run
	categories map[string]state.Category
	// knowsUnchanged reports whether the state database knows which objects are unchanged.
	knowsUnchanged bool
	// undone reports whether the run was undone, completely or in part.
	undone bool
	// created counts the assets that the run created.
	created Amount
}

// checkUnchanged finds out whether the state database knows which objects are unchanged: that
// is so if as many receipts without items are left as objects were unchanged.
func (l *lists) checkUnchanged(receipts Amount) {
	l.knowsUnchanged = !l.isPruned() && receipts == Amount{l.run.Unchanged, l.run.UnchangedBytes}
}

// isPruned reports whether the items of the run were deleted because of their age.
func (l *lists) isPruned() bool { return !l.run.PrunedAt.IsZero() }

// fates walks through the objects of the run in key order, with their states.
func (l *lists) fates(ctx context.Context) iter.Seq2[state.ItemStatus, error] {
	items := l.store.ItemStatuses(ctx, l.run.Num)
	if !l.hasUnlisted() {
		return items
	}
	return merge(func(f state.ItemStatus) sources.Key { return f.Key }, items, l.store.Unlisted(ctx, l.run))
}

// accounts walks through the objects of the run in key order: those in the given states, or all.
func (l *lists) accounts(ctx context.Context, states ...state.ItemState) iter.Seq2[state.ObjectReport, error] {
	items := l.store.ObjectReports(ctx, l.run, states...)
	if !l.hasUnlisted() || len(states) > 0 && !slices.Contains(states, state.ItemSkipped) {
		return items
	}
	return merge(func(a state.ObjectReport) sources.Key { return a.Key }, items, l.store.UnlistedReports(ctx, l.run))
}

// hasUnlisted reports whether there are unchanged objects that are known and have no items.
func (l *lists) hasUnlisted() bool { return l.knowsUnchanged && l.run.Unchanged > 0 }

// merge merges two sequences in key order.
func merge[T any](key func(T) sources.Key, one, other iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next, stop := iter.Pull2(other)
		defer stop()
		w, failed, more := next()
		for v, err := range one {
			for more && (failed != nil || err == nil && key(w) < key(v)) {
				if !yield(w, failed) || failed != nil {
					return
				}
				w, failed, more = next()
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
		for more && yield(w, failed) && failed == nil {
			w, failed, more = next()
		}
	}
}

// Lines lists the objects of the run in key order: those in the given states of reports, or all.
// Unchanged objects are included if the state database knows them, see Report.Charted.
func (r Report) Lines(ctx context.Context, states ...string) iter.Seq2[Line, error] {
	return r.lists.lines(ctx, Choice{states: states})
}

// lines lists the selected objects in key order.
func (l *lists) lines(ctx context.Context, c Choice) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		next, stop := iter.Pull2(migrate.RenamedAssets(ctx, l.store, l.run.Pair.ID))
		defer stop()
		differs, failed, more := next()
		for a, err := range l.accounts(ctx, itemStates(c.states)...) {
			for more && failed == nil && differs.Key < a.Key {
				differs, failed, more = next()
			}
			if err = errors.Join(err, failed); err != nil {
				yield(Line{}, err)
				return
			}
			line := l.line(a)
			if more && differs.Key == a.Key {
				line.AssetName = differs.Filename()
			}
			if c.takes(line) && !yield(line, nil) {
				return
			}
		}
	}
}

// line returns an object as it is listed.
func (l *lists) line(a state.ObjectReport) Line {
	return Line{
		Undone: l.undone && a.State == state.ItemDone && a.Action == state.Create && !a.Held,
		Key:    string(a.Key), Action: string(a.Action), State: StateOf(a.Action, a.State), Reason: a.Reason, Message: reasonText(a.Reason), Size: a.Size,
		Category: l.category(a.Category), Folder: a.Folder, Name: a.Name, AssetID: a.Asset, URL: a.URL,
		Class: a.Class, Error: a.Error, Attempts: a.Attempts, PreviousKey: previousKey(a.Action, a.PreviousKey),
	}
}

// previousKey returns the key of an object before it was moved. For an object that shares the asset
// of another one, the stored key is that of the other one.
func previousKey(a state.Action, stored sources.Key) string {
	if a == state.Adopt {
		return ""
	}
	return string(stored)
}

// category returns the name of a category, or its ID if the name is unknown.
func (l *lists) category(id string) string {
	if c, ok := l.categories[id]; ok {
		return c.Name
	}
	name, _ := migrate.WantedCategory(id)
	return name
}
