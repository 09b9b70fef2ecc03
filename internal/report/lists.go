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

// lists reads what is long from the journal, in pages.
type lists struct {
	store      *state.Store
	run        state.Run
	categories map[string]state.Category
	// told says that the journal tells which objects are unchanged.
	told bool
	// undone says that the run was taken back, all of it or a part.
	undone bool
	// created is what the run made.
	created Amount
}

// tell finds out whether the journal tells which objects are unchanged: those that it has
// receipts of and no items are just as many.
func (l *lists) tell(receipts Amount) {
	l.told = !l.isPruned() && receipts == Amount{l.run.Unchanged, l.run.UnchangedBytes}
}

// isPruned reports whether the items of the run were deleted because it is too long ago.
func (l *lists) isPruned() bool { return !l.run.PrunedAt.IsZero() }

// fates walks through what became of the objects of the run, in key order.
func (l *lists) fates(ctx context.Context) iter.Seq2[state.ItemStatus, error] {
	items := l.store.ItemStatuses(ctx, l.run.Num)
	if !l.hasUnlisted() {
		return items
	}
	return merge(func(f state.ItemStatus) sources.Key { return f.Key }, items, l.store.Unlisted(ctx, l.run))
}

// accounts walks through the objects of the run in key order: those in the given states of
// items, or all.
func (l *lists) accounts(ctx context.Context, states ...state.ItemState) iter.Seq2[state.ObjectReport, error] {
	items := l.store.ObjectReports(ctx, l.run, states...)
	if !l.hasUnlisted() || len(states) > 0 && !slices.Contains(states, state.ItemSkipped) {
		return items
	}
	return merge(func(a state.ObjectReport) sources.Key { return a.Key }, items, l.store.UnlistedReports(ctx, l.run))
}

// hasUnlisted reports whether there are unchanged objects that the journal tells and has no
// items of.
func (l *lists) hasUnlisted() bool { return l.told && l.run.Unchanged > 0 }

// merge makes one walk in key order of two that are.
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

// Lines lists the objects of the run in key order: those that became what is named, as
// told to people, or all. Unchanged objects are among them where the journal tells which
// ones they are, see Report.Charted.
func (r Report) Lines(ctx context.Context, told ...string) iter.Seq2[Line, error] {
	return r.lists.lines(ctx, Choice{told: told})
}

// lines lists the chosen objects in key order.
func (l *lists) lines(ctx context.Context, c Choice) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		next, stop := iter.Pull2(migrate.RenamedAssets(ctx, l.store, l.run.Pair.ID))
		defer stop()
		differs, failed, more := next()
		for a, err := range l.accounts(ctx, statesOf(c.told)...) {
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

// line makes readable what the journal has to tell of an object.
func (l *lists) line(a state.ObjectReport) Line {
	return Line{
		Undone: l.undone && a.State == state.ItemDone && a.Action == state.Create && !a.Held,
		Key:    string(a.Key), Action: string(a.Action), State: Told(a.Action, a.State), Reason: a.Reason, Size: a.Size,
		Category: l.category(a.Category), Folder: a.Folder, Name: a.Name, AssetID: a.Asset, URL: a.URL,
		Class: a.Class, Error: a.Error, Attempts: a.Attempts, PreviousKey: formerKey(a.Action, a.PreviousKey),
	}
}

// formerKey is the key that an object went by before, by the origin of its item. That of one
// that shares the asset of another object is the key of the other one.
func formerKey(a state.Action, origin sources.Key) string {
	if a == state.Adopt {
		return ""
	}
	return string(origin)
}

// category is the name of a category, or its id where that is not known.
func (l *lists) category(id string) string {
	if c, ok := l.categories[id]; ok {
		return c.Name
	}
	name, _ := migrate.WantedCategory(id)
	return name
}
