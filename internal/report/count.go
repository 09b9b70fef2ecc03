package report

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/migrate"
	"assetferry/state"
)

// maxTypes bounds the extensions that are told apart: a source may have as many as
// objects. What comes later is counted as other.
const maxTypes = 5000

// other is the name of what is not told apart in a chart.
const other = "other"

// counts are what a walk through a run finds.
type counts struct {
	l *lists

	listed    Amount
	maybe     Amount // receipts that may be of unchanged objects
	items     chart
	unchanged chart

	leftOut  map[string]*LeftOut    // by reason
	troubles map[string]*Trouble    // by what it is
	altered  map[string]*Alteration // by action
	hidden   int64
	remarks  remarks

	destination Amount
	categories  map[string]*state.CategorySum
}

// A chart is what there is of objects by their type and by their size.
type chart struct {
	types map[string]*Amount
	sizes [len(sizes)]Amount
}

func newCounts(l *lists) *counts {
	return &counts{
		l: l, items: chart{types: map[string]*Amount{}}, unchanged: chart{types: map[string]*Amount{}},
		leftOut: map[string]*LeftOut{}, troubles: map[string]*Trouble{}, altered: map[string]*Alteration{},
		remarks: remarks{},
	}
}

// walk reads everything that was listed, each thing of it that is counted once.
func (c *counts) walk(ctx context.Context) error {
	for f, err := range c.l.store.ItemStatuses(ctx, c.l.run.Num) {
		if err != nil {
			return err
		}
		c.listed.add(f.Size)
		c.items.add(string(f.Key), f.Size)
	}
	for i, err := range c.l.store.Remarkable(ctx, c.l.run.Num) {
		if err != nil {
			return err
		}
		c.countRemarkable(i)
	}
	for f, err := range c.l.store.Unlisted(ctx, c.l.run) {
		if err != nil {
			return err
		}
		c.maybe.add(f.Size)
		c.unchanged.add(string(f.Key), f.Size)
	}
	return errors.Join(c.countNewSkips(ctx), c.sumReceipts(ctx))
}

func (c *counts) sumReceipts(ctx context.Context) error {
	sum, err := c.l.store.SumReceipts(ctx, c.l.run.Pair.ID)
	if err != nil {
		return err
	}
	c.destination = Amount(sum)
	c.categories, err = c.l.store.SumCategories(ctx, c.l.run)
	return err
}

func (c *counts) countRemarkable(i state.Item) {
	told := Told(i.Action, i.State)
	switch {
	case told == skipped:
		c.countLeftOut(i)
	case isAlteration(told):
		a := c.alteration(told)
		a.add(i.Size)
		a.Examples = appendUpTo(shownExamples, a.Examples, string(i.Key))
		if told == moved {
			a.Moves = appendUpTo(shownExamples, a.Moves, Move{string(i.PreviousKey), string(i.Key)})
		}
	case isTrouble(told):
		c.countTrouble(i, told)
	}
	if hidesObjects(i) {
		c.hidden++
	}
	c.remarks.add(i)
}

func (c *counts) countLeftOut(i state.Item) {
	o := c.leftOutFor(i.Reason)
	o.add(i.Size)
	o.Examples = appendUpTo(shownExamples, o.Examples, string(i.Key))
}

func (c *counts) leftOutFor(reason string) *LeftOut {
	return find(c.leftOut, reason, func() *LeftOut {
		r := migrate.Reason(reason)
		return &LeftOut{Reason: reason, Missed: r.IsMissed(), ByRule: r.IsOwnRule(), Decides: flagname.InText(r.Remedy())}
	})
}

// countNewSkips finds out which objects no earlier run skipped for the same reason. Those
// are the examples, where there are any: the others were shown before.
func (c *counts) countNewSkips(ctx context.Context) error {
	if len(c.leftOut) == 0 {
		return nil
	}
	for s, err := range migrate.NewSkips(ctx, c.l.store, c.l.run) {
		if err != nil {
			return err
		}
		o := c.leftOutFor(s.Reason)
		if o.New++; o.New == 1 {
			o.Examples = nil
		}
		o.Examples = appendUpTo(shownExamples, o.Examples, string(s.Key))
	}
	return nil
}

func (c *counts) alteration(told string) *Alteration {
	return find(c.altered, told, func() *Alteration { return &Alteration{Action: told} })
}

func (c *counts) listLeftOut() []LeftOut {
	return largestFirst(c.leftOut, func(o *LeftOut) Amount { return o.Amount })
}

func (c *counts) listAlterations() []Alteration {
	return largestFirst(c.altered, func(a *Alteration) Amount { return a.Amount })
}

func (c *counts) countTrouble(i state.Item, told string) {
	what, remedy := RemedyFor(i)
	t := find(c.troubles, what, func() *Trouble { return &Trouble{What: what, Remedy: remedy, byPart: newParts()} })
	t.add(i.Size)
	t.byPart.add(told, Amount{1, i.Size})
	t.Examples = appendUpTo(shownExamples, t.Examples, Example{string(i.Key), i.Error})
}

// into writes down what was found.
func (c *counts) into(r *Report) {
	known := Amount{c.l.run.Unchanged, c.l.run.UnchangedBytes}
	c.l.tell(c.maybe)
	r.Sum.Listed = c.listed.plus(known)
	r.Sum.Closes = r.Sum.Listed == r.Sum.Total
	r.Destination, r.Unlistable = c.destination, c.hidden
	r.Charted = c.listed
	if c.l.told {
		r.Charted = r.Sum.Listed
		c.items.join(c.unchanged)
	}
	r.Types, r.Sizes = c.items.list()
	r.LeftOut, r.Alterations = c.listLeftOut(), c.listAlterations()
	r.Troubles = largestFirst(c.troubles, func(t *Trouble) Amount { return t.Amount })
	for n := range r.Troubles {
		r.Troubles[n].Parts = r.Troubles[n].byPart.list()
	}
	c.privacy(r)
}

// privacy sorts what the run has at the destination by who can see it.
func (c *counts) privacy(r *Report) {
	r.Privacy.Categories = []Category{}
	for id, s := range c.categories {
		known, ok := c.l.categories[id]
		one := Category{ID: id, Name: c.l.category(id), Amount: Amount(s.ReceiptSum)}
		sum := &r.Privacy.Unknown
		switch one.Privacy = "unknown"; {
		case ok && known.Private:
			one.Privacy, sum = "private", &r.Privacy.Private
		case ok:
			one.Privacy, sum = "public", &r.Privacy.Public
			r.Addresses.Public += s.Addressed
		}
		*sum = sum.plus(one.Amount)
		r.Addresses.Mapped += s.Addressed
		r.Metadata.MetadataPending += s.MetadataPending
		c.l.created = c.l.created.plus(Amount(s.Created))
		r.Privacy.Categories = append(r.Privacy.Categories, one)
	}
	slices.SortFunc(r.Privacy.Categories, func(a, b Category) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	if r.Addresses.Mapped > 0 {
		r.Addresses.Command = "assetferry urls --run " + c.l.run.ID
	}
}

func (c *chart) add(key string, size int64) {
	name := typeOf(key)
	sum := c.types[name]
	if sum == nil {
		if len(c.types) >= maxTypes {
			name = other
		}
		sum = find(c.types, name, newAmount)
	}
	sum.add(size)
	c.sizes[sizeOf(size)].add(size)
}

func newAmount() *Amount { return &Amount{} }

func (c *chart) join(d chart) {
	for name, a := range d.types {
		sum := find(c.types, name, newAmount)
		*sum = sum.plus(*a)
	}
	for n, a := range d.sizes {
		c.sizes[n] = c.sizes[n].plus(a)
	}
}

// typeOf is the extension of a key in lower case, as people know it.
func typeOf(key string) string {
	name := path.Base(key)
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 {
		return "no extension"
	}
	return strings.ToLower(name[dot:])
}

// sizes are the steps of the chart of sizes: each is of objects smaller than it.
var sizes = [...]struct {
	below int64
	name  string
}{
	{1, "empty"}, {10e3, "under 10 kB"}, {100e3, "10 to 100 kB"}, {1e6, "100 kB to 1 MB"},
	{10e6, "1 to 10 MB"}, {100e6, "10 to 100 MB"}, {1 << 62, "100 MB and more"},
}

func sizeOf(size int64) int {
	for n, s := range sizes {
		if size < s.below {
			return n
		}
	}
	return len(sizes) - 1
}

// list gives the largest types, all others as one, and all sizes.
func (c *chart) list() (types, bySize []Slice) {
	rest := Slice{Name: other, Amount: *find(c.types, other, newAmount)}
	delete(c.types, other)
	types = []Slice{}
	for name, a := range c.types {
		types = append(types, Slice{name, *a})
	}
	slices.SortFunc(types, func(a, b Slice) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range types[min(len(types), shownTypes):] {
		rest.Amount = rest.plus(s.Amount)
	}
	types = types[:min(len(types), shownTypes)]
	if rest.Objects > 0 {
		types = append(types, rest)
	}
	for n, s := range sizes {
		bySize = append(bySize, Slice{s.name, c.sizes[n]})
	}
	return types, bySize
}

func find[K comparable, V any](m map[K]*V, key K, fresh func() *V) *V {
	if m[key] == nil {
		m[key] = fresh()
	}
	return m[key]
}

func appendUpTo[T any](limit int, list []T, v T) []T {
	if len(list) < limit {
		return append(list, v)
	}
	return list
}

// largestFirst gives what was found, most objects first.
func largestFirst[V any](m map[string]*V, amount func(*V) Amount) []V {
	all := []V{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, *m[name])
	}
	slices.SortStableFunc(all, func(a, b V) int { return cmp.Compare(amount(&b).Objects, amount(&a).Objects) })
	return all
}
