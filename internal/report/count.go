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
	"assetferry/internal/sorting"
	"assetferry/migrate"
	"assetferry/state"
)

// maxTypes bounds the extensions that are counted separately: a source may have as many as
// objects. Later ones are counted as other.
const maxTypes = 5000

// other is the name of everything in a chart that has no bar of its own.
const other = "other"

// counts are the results of a walk through a run.
type counts struct {
	l *lists

	listed    Amount
	maybe     Amount // receipts that may be of unchanged objects
	items     chart
	unchanged chart

	skipped  map[string]*Skipped // by reason
	problems map[problemKey]*Problem
	altered  map[string]*Alteration // by state
	hidden   int64
	remarks  remarks

	destination Amount
	categories  map[string]*state.CategorySum
}

// A chart counts objects by type and by size.
type chart struct {
	types map[string]*Amount
	sizes [len(sizes)]Amount
}

func newCounts(l *lists) *counts {
	return &counts{
		l: l, items: chart{types: map[string]*Amount{}}, unchanged: chart{types: map[string]*Amount{}},
		skipped: map[string]*Skipped{}, problems: map[problemKey]*Problem{}, altered: map[string]*Alteration{},
		remarks: remarks{},
	}
}

// walk reads everything that was listed, once.
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
	code := StateOf(i.Action, i.State)
	switch {
	case code == skipped:
		c.countSkipped(i)
	case isAlteration(code):
		a := c.alteration(code)
		a.add(i.Size)
		a.Examples = appendUpTo(shownExamples, a.Examples, string(i.Key))
		if code == moved {
			a.Moves = appendUpTo(shownExamples, a.Moves, Move{string(i.PreviousKey), string(i.Key)})
		}
	case isProblem(code):
		c.countProblem(i, code)
	}
	if hidesObjects(i) {
		c.hidden++
	}
	c.remarks.add(i)
}

func (c *counts) countSkipped(i state.Item) {
	s := c.skippedFor(i.Reason)
	s.add(i.Size)
	s.Examples = appendUpTo(shownExamples, s.Examples, string(i.Key))
}

func (c *counts) skippedFor(reason string) *Skipped {
	return find(c.skipped, reason, func() *Skipped {
		r := migrate.Reason(reason)
		return &Skipped{Reason: reason, Message: reasonText(reason), Missed: r.IsMissed(), ByRule: r.IsOwnRule(), Decides: flagname.InText(r.Remedy())}
	})
}

// countNewSkips counts the objects that no earlier run skipped for the same reason. They are the
// examples, if there are any: earlier reports showed the others.
func (c *counts) countNewSkips(ctx context.Context) error {
	if len(c.skipped) == 0 {
		return nil
	}
	for s, err := range migrate.NewSkips(ctx, c.l.store, c.l.run) {
		if err != nil {
			return err
		}
		o := c.skippedFor(s.Reason)
		if o.New++; o.New == 1 {
			o.Examples = nil
		}
		o.Examples = appendUpTo(shownExamples, o.Examples, string(s.Key))
	}
	return nil
}

func (c *counts) alteration(code string) *Alteration {
	return find(c.altered, code, func() *Alteration { return &Alteration{State: code} })
}

func (c *counts) listSkipped() []Skipped {
	return largestFirst(c.skipped, cmp.Compare[string], func(s *Skipped) Amount { return s.Amount })
}

func (c *counts) listAlterations() []Alteration {
	return largestFirst(c.altered, cmp.Compare[string], func(a *Alteration) Amount { return a.Amount })
}

func (c *counts) countProblem(i state.Item, code string) {
	why := causeOf(i)
	p := find(c.problems, problemKey{code, why.message}, func() *Problem {
		return &Problem{State: code, Reason: why.code, Message: why.message, Remedy: why.remedy}
	})
	p.add(i.Size)
	p.Examples = appendUpTo(shownExamples, p.Examples, Example{string(i.Key), i.Error})
}

// into stores the results in a report.
func (c *counts) into(r *Report) {
	known := Amount{c.l.run.Unchanged, c.l.run.UnchangedBytes}
	c.l.checkUnchanged(c.maybe)
	r.Results.Listed = c.listed.plus(known)
	r.Results.Accounted = r.Results.Listed == r.Results.Total
	r.Destination, r.Unlistable = c.destination, c.hidden
	r.Charted = c.listed
	if c.l.knowsUnchanged {
		r.Charted = r.Results.Listed
		c.items.join(c.unchanged)
	}
	r.Types, r.Sizes = c.items.list()
	r.Skipped, r.Alterations = c.listSkipped(), c.listAlterations()
	r.Problems = largestFirst(c.problems, problemKey.compare, func(p *Problem) Amount { return p.Amount })
	c.privacy(r)
}

// privacy counts the assets of the run by who can see them.
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
			r.URLs.Public += s.WithURL
		}
		*sum = sum.plus(one.Amount)
		r.URLs.Mapped += s.WithURL
		r.Metadata.Pending += s.MetadataPending
		c.l.created = c.l.created.plus(Amount(s.Created))
		r.Privacy.Categories = append(r.Privacy.Categories, one)
	}
	sorting.By(r.Privacy.Categories, func(a, b Category) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	if r.URLs.Mapped > 0 {
		r.URLs.Command = "assetferry urls --run " + c.l.run.ID
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

// typeOf returns the extension of a key in lower case.
func typeOf(key string) string {
	name := path.Base(key)
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 {
		return "no extension"
	}
	return strings.ToLower(name[dot:])
}

// sizes are the bars of the chart of sizes: each counts the objects below a size.
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

// list returns the largest types, all others as one, and all sizes.
func (c *chart) list() (types, bySize []Slice) {
	rest := Slice{Name: other, Amount: *find(c.types, other, newAmount)}
	delete(c.types, other)
	types = []Slice{}
	for name, a := range c.types {
		types = append(types, Slice{name, *a})
	}
	sorting.By(types, func(a, b Slice) int {
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

// largestFirst returns the values of a map, most objects first, then by key.
func largestFirst[K comparable, V any](m map[K]*V, compare func(K, K) int, amount func(*V) Amount) []V {
	all := []V{}
	for _, key := range slices.SortedFunc(maps.Keys(m), compare) {
		all = append(all, *m[key])
	}
	sorting.Stable(all, func(a, b V) int { return cmp.Compare(amount(&b).Objects, amount(&a).Objects) })
	return all
}
