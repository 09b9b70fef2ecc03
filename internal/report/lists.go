package report

import (
	"context"
	"iter"

	"assetferry/migrate"
	"assetferry/state"
)

// lists reads what is long from the journal, in pages.
type lists struct {
	journal    *state.Store
	run        state.Run
	categories map[string]state.Category
	// told says that the journal tells which objects are unchanged.
	told bool
	// undone says that the run was taken back, all of it or a part.
	undone bool
}

// A row is an item of the run and the receipt of its object; one of the two may be
// missing.
type row struct {
	item    *state.Item
	receipt *state.Receipt
}

// mayBeUnchanged reports whether a row stands for an object that was as the journal
// remembered it when the run listed it, or was gone from the source by then.
func (r row) mayBeUnchanged(run state.Run) bool {
	return r.item == nil && r.receipt.Run < run.Num
}

// rows walks through the items of the run, and beside them through the receipts of all
// runs, in key order.
func (l *lists) rows(ctx context.Context) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		items, stopItems := pull(l.journal.Items(ctx, l.run.Num))
		defer stopItems()
		receipts, stopReceipts := pull(l.journal.Receipts(ctx, l.run.Pair.ID, ""))
		defer stopReceipts()
		item, err := items()
		receipt, other := receipts()
		for {
			if err != nil || other != nil {
				yield(row{}, firstOf(err, other))
				return
			}
			switch {
			case item == nil && receipt == nil:
				return
			case receipt == nil || item != nil && item.Key < receipt.Key:
				if !yield(row{item: item}, nil) {
					return
				}
				item, err = items()
			case item == nil || receipt.Key < item.Key:
				if !yield(row{receipt: receipt}, nil) {
					return
				}
				receipt, other = receipts()
			default:
				if !yield(row{item, receipt}, nil) {
					return
				}
				item, err = items()
				receipt, other = receipts()
			}
		}
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pull gives one row after the other, nil at the end.
func pull[T any](rows iter.Seq2[T, error]) (next func() (*T, error), stop func()) {
	pulled, stop := iter.Pull2(rows)
	return func() (*T, error) {
		v, err, more := pulled()
		if !more || err != nil {
			return nil, err
		}
		return &v, nil
	}, stop
}

// Lines lists the objects of the run in key order: those that became what is named, as
// told to people, or all. Unchanged objects are among them where the journal tells which
// ones they are, see Report.Charted.
func (r Report) Lines(ctx context.Context, told ...string) iter.Seq2[Line, error] {
	wanted := map[string]bool{}
	for _, t := range told {
		wanted[t] = true
	}
	return func(yield func(Line, error) bool) {
		for row, err := range r.lists.rows(ctx) {
			if err != nil {
				yield(Line{}, err)
				return
			}
			line, ok := r.lists.line(row)
			if ok && (len(wanted) == 0 || wanted[line.State]) && !yield(line, nil) {
				return
			}
		}
	}
}

// line makes a row readable; it is not ok if the row is none of this run.
func (l *lists) line(r row) (Line, bool) {
	var line Line
	switch {
	case r.item != nil:
		i := r.item
		line = Line{
			Undone: l.undone && i.State == state.ItemDone && i.Action == state.Create && (r.receipt == nil || r.receipt.Asset != i.Asset),
			Key:    i.Key, Action: string(i.Action), State: Told(i.Action, i.State), Reason: i.Reason, Size: i.Size,
			Category: l.category(i.Category), Folder: i.Folder, Name: i.Name,
			AssetID: i.Asset, Class: i.Class, Error: i.Error, Attempts: i.Attempts,
		}
	case l.told && r.mayBeUnchanged(l.run):
		line = Line{Key: r.receipt.Key, Action: string(state.Unchanged), State: unchanged, Reason: string(migrate.ReasonSame), Size: r.receipt.Size}
	default:
		return line, false
	}
	if c := r.receipt; c != nil && (line.AssetID == "" || line.AssetID == c.Asset) && line.State != conflict {
		line.AssetID, line.URL, line.Name, line.Category = c.Asset, c.URL, c.Filename(), l.category(c.Category)
	}
	return line, true
}

// category is the name of a category, or its id where that is not known.
func (l *lists) category(id string) string {
	if c, ok := l.categories[id]; ok {
		return c.Name
	}
	name, _ := migrate.WantedCategory(id)
	return name
}
