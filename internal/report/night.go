package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

const (
	shownChanges = 20 // of one kind
	lookBack     = 30 // runs, for the sync before
)

// A Night is what a sync found and changed, set against the sync before it.
type Night struct {
	// Before is the finished sync before this one, nil if it was the first.
	Before *Before `json:"before,omitempty"`
	// Measures are the main sums of both.
	Measures []Measure `json:"measures"`
	// Quiet says that it finished and found everything as the sync before had left it.
	Quiet bool `json:"quiet"`
	// Stopped says why a guard kept it, or a part of it, from being carried out.
	Stopped string `json:"stopped,omitempty"`
	// Changes are what was carried out, by parts of the sum.
	Changes []Change `json:"changes"`
	// Drift is what people did at the destination, by what follows from it.
	Drift   []Change `json:"drift"`
	Failing Failing  `json:"failing"`
	// Gone and Recovered are nil where the items that tell were pruned.
	Gone      *Gone   `json:"gone,omitempty"`
	Recovered *Change `json:"recovered,omitempty"` // did not come through the night before
}

// A Before names the sync before.
type Before struct {
	Run string    `json:"run"`
	At  time.Time `json:"at"` // when it began
}

// A Measure is a number of a sync beside that of the sync before it.
type Measure struct {
	// Name is objects or bytes, of the whole sum; gone; failing, for whatever did not come
	// through; or a part of the sum.
	Name   string `json:"name"`
	Now    int64  `json:"now"`
	Before *int64 `json:"before,omitempty"` // nil without a sync before
}

// Difference is how much more it is than the night before, 0 where there was none.
func (m Measure) Difference() int64 {
	if m.Before == nil {
		return 0
	}
	return m.Now - *m.Before
}

// A Change is what one thing was done to, or happened to.
type Change struct {
	What string `json:"what"`
	Amount
	First []Changed `json:"first"` // the first few by key
}

// Left counts the objects that are not among the first.
func (c Change) Left() int64 { return c.Objects - int64(len(c.First)) }

// A Changed is one object of a Change.
type Changed struct {
	Key  string `json:"key"`
	From string `json:"from,omitempty"` // the key it went by before, if it was moved
}

// Gone tells of objects that have arrived and are not at the source any more.
type Gone struct {
	Amount        // all that this sync missed
	New    Amount `json:"new"`  // missed for the first time
	Stay   Amount `json:"stay"` // whose assets stay: orphans
	// GracePeriod is the part of Stay whose assets a later sync trashes unless their objects
	// come back, the first of them from TrashedFrom on.
	GracePeriod Amount       `json:"grace_period"`
	TrashedFrom *time.Time   `json:"trashed_from,omitempty"`
	First       []GoneObject `json:"first"` // those missed for the first time come first
}

// Left counts the objects that are not among the first.
func (g Gone) Left() int64 { return g.Objects - int64(len(g.First)) }

// A GoneObject is one that is gone.
type GoneObject struct {
	Key         string     `json:"key"`
	New         bool       `json:"new"`
	Since       *time.Time `json:"since,omitempty"`        // of the listing that missed it first, where that is known
	TrashedFrom *time.Time `json:"trashed_from,omitempty"` // if it is in quarantine
	State       string     `json:"state"`                  // a part of the sum
	Reason      string     `json:"reason"`
}

// Failing tells since when objects do not come through.
type Failing struct {
	Objects int64           `json:"objects"` // that did not come through in this sync
	First   []FailingObject `json:"first"`   // those that fail for the longest time
}

// Left counts the objects that are not among the first.
func (f Failing) Left() int64 { return f.Objects - int64(len(f.First)) }

// A FailingObject is one that does not come through.
type FailingObject struct {
	Key   string     `json:"key"`
	State string     `json:"state"`           // a part of the sum
	Since *time.Time `json:"since,omitempty"` // when the first of the runs began
	Runs  int        `json:"runs"`            // one after the other; 0 where that is not counted, as of conflicts
	Error string     `json:"error,omitempty"`
}

// goneReasons are those of objects that are gone and of which no person has to decide.
var goneReasons = map[migrate.Reason]bool{
	migrate.ReasonDeletedAtSource: true, migrate.ReasonGracePeriod: true, migrate.ReasonPossiblyMoved: true, migrate.ReasonTooManyDeletes: true, migrate.ReasonGracePeriodOver: true, migrate.ReasonDeletedAtBoth: true,
}

// driftReasons are those that follow from what people did at the destination.
var driftReasons = map[migrate.Reason]bool{
	migrate.ReasonAssetDeleted: true, migrate.ReasonAssetMoved: true, migrate.ReasonAssetEdited: true, migrate.ReasonAssetMetadataEdited: true,
	migrate.ReasonAssetMovedReverted: true, migrate.ReasonAssetEditedReverted: true, migrate.ReasonAssetDeletedCreated: true, migrate.ReasonDeletedAtBoth: true,
}

// syncRules are the rules of a run that is a sync, nil of any other.
func syncRules(run state.Run) (*migrate.SyncRules, error) {
	if run.Undoes != 0 || run.Command == "plan" {
		return nil, nil
	}
	rules, err := migrate.ReadRules(run)
	return rules.Sync, err
}

// night sets a sync against the one before.
func (l *lists) night(ctx context.Context, r *Report) error {
	rules, err := syncRules(l.run)
	if rules == nil || err != nil {
		return err
	}
	r.Sum.Of = "listed or known before"
	before, err := l.nightBefore(ctx)
	if err != nil {
		return err
	}
	n := &nightReader{lists: l, night: &Night{Stopped: l.run.Stopped}, before: before, rules: rules}
	if err := n.read(ctx); err != nil {
		return err
	}
	r.Night = n.night
	r.Night.Quiet = r.Run.State == string(state.Finished) && n.isQuiet()
	r.Alterations = append(r.Alterations, n.described()...)
	return nil
}

// nightBefore finds the finished sync before this one; its number is 0 if there is none.
func (l *lists) nightBefore(ctx context.Context) (state.Run, error) {
	runs, err := l.store.FinishedBefore(ctx, l.run, lookBack)
	if err != nil {
		return state.Run{}, err
	}
	for _, run := range runs {
		if rules, err := syncRules(run); rules != nil || err != nil {
			return run, err
		}
	}
	return state.Run{}, nil
}

// A nightReader reads what there is to tell of a night.
type nightReader struct {
	*lists
	night  *Night
	before state.Run
	rules  *migrate.SyncRules
}

func (n *nightReader) read(ctx context.Context) error {
	tallies, err := n.store.Tallies(ctx, n.run.Num)
	if err != nil {
		return err
	}
	n.night.Measures = measure(tallies)
	steps := []func(context.Context) error{n.compare, n.gone, n.recovered, n.failing}
	if n.isPruned() {
		steps = steps[:1]
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	n.night.Failing.Objects = valueOf(n.night.Measures, failing)
	if n.night.Changes, err = n.changes(ctx, tallies, whatWasDone); err != nil {
		return err
	}
	n.night.Drift, err = n.changes(ctx, tallies, whatPeopleDid)
	return err
}

// isQuiet reports whether nothing had to be done or looked at.
func (n *nightReader) isQuiet() bool {
	v := n.night
	return len(v.Changes) == 0 && len(v.Drift) == 0 && v.Failing.Objects == 0 && v.Stopped == "" && v.Gone != nil && v.Gone.New.Objects == 0
}

// described are the assets of which the sync wrote anew what describes them.
func (n *nightReader) described() (all []Alteration) {
	for _, c := range n.night.Changes {
		if c.What != described {
			continue
		}
		a := Alteration{Action: described, Amount: c.Amount}
		for _, o := range c.First[:min(len(c.First), shownExamples)] {
			a.Examples = append(a.Examples, o.Key)
		}
		all = append(all, a)
	}
	return all
}

// Names of measures that are no parts of the sum.
const (
	objectsMeasured = "objects"
	bytesMeasured   = "bytes"
	gone            = "gone"
	failing         = "failing"
)

// measure takes the main sums of a run.
func measure(tallies []state.Tally) []Measure {
	sums := map[string]int64{}
	for _, t := range tallies {
		told := Told(t.Action, t.State)
		sums[objectsMeasured] += t.Objects
		sums[bytesMeasured] += t.Bytes
		sums[told] += t.Objects
		if isTrouble(told) {
			sums[failing] += t.Objects
		}
		if goneReasons[migrate.Reason(t.Reason)] {
			sums[gone] += t.Objects
		}
	}
	var all []Measure
	for _, name := range []string{objectsMeasured, bytesMeasured, created, adopted, replaced, described, moved, trashed, gone, failing} {
		all = append(all, Measure{Name: name, Now: sums[name]})
	}
	return all
}

func valueOf(all []Measure, name string) int64 {
	return all[slices.IndexFunc(all, func(m Measure) bool { return m.Name == name })].Now
}

func (n *nightReader) compare(ctx context.Context) error {
	if n.before.Num == 0 {
		return nil
	}
	n.night.Before = &Before{n.before.ID, n.before.StartedAt}
	tallies, err := n.store.Tallies(ctx, n.before.Num)
	for i, m := range measure(tallies) {
		n.night.Measures[i].Before = &m.Now
	}
	return err
}

// whatWasDone names what was carried out; nothing for all else.
func whatWasDone(t state.Tally) string {
	if t.State != state.ItemDone {
		return ""
	}
	return Told(t.Action, t.State)
}

// whatPeopleDid gives the reason of what follows from what people did.
func whatPeopleDid(t state.Tally) string {
	if !driftReasons[migrate.Reason(t.Reason)] {
		return ""
	}
	return t.Reason
}

// changes sums up the tallies that are named alike, in the order of the sum.
func (n *nightReader) changes(ctx context.Context, tallies []state.Tally, nameOf func(state.Tally) string) ([]Change, error) {
	all := []Change{}
	for _, t := range tallies {
		what := nameOf(t)
		if what == "" {
			continue
		}
		at := slices.IndexFunc(all, func(c Change) bool { return c.What == what })
		if at < 0 {
			at, all = len(all), append(all, Change{What: what, First: []Changed{}})
		}
		c := &all[at]
		c.Amount = c.plus(Amount{t.Objects, t.Bytes})
		items, err := n.store.FirstOf(ctx, n.run.Num, t, shownChanges)
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			c.First = append(c.First, Changed{string(i.Key), formerKey(i.Action, i.PreviousKey)})
		}
		slices.SortFunc(c.First, func(a, b Changed) int { return cmp.Compare(a.Key, b.Key) })
		c.First = c.First[:min(len(c.First), shownChanges)]
	}
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(slices.Index(order, a.What), slices.Index(order, b.What)) })
	return all, nil
}

func (n *nightReader) gone(ctx context.Context) error {
	g := &Gone{First: []GoneObject{}}
	var known []GoneObject
	for m, err := range n.store.Missed(ctx, n.run, n.before.Num, string(migrate.ObstacleAbsent)) {
		if err != nil {
			return err
		}
		o := n.goneObject(m)
		g.add(m.Size)
		if o.New {
			g.New.add(m.Size)
			g.First = appendUpTo(shownChanges, g.First, o)
		} else {
			known = appendUpTo(shownChanges, known, o)
		}
		if o.State == skipped {
			g.Stay.add(m.Size)
		}
		if o.TrashedFrom != nil {
			g.GracePeriod.add(m.Size)
			if g.TrashedFrom == nil || o.TrashedFrom.Before(*g.TrashedFrom) {
				g.TrashedFrom = o.TrashedFrom
			}
		}
	}
	for _, o := range known {
		g.First = appendUpTo(shownChanges, g.First, o)
	}
	n.night.Gone = g
	return nil
}

func (n *nightReader) goneObject(m state.Missed) GoneObject {
	o := GoneObject{Key: string(m.Key), New: !m.Again, State: Told(m.Action, m.State), Reason: m.Reason}
	since := m.Since
	if since.IsZero() && o.New {
		since = n.run.ListedAt
	}
	if since.IsZero() {
		return o
	}
	o.New, o.Since = since.Equal(n.run.ListedAt), &since
	if migrate.Reason(m.Reason) == migrate.ReasonGracePeriod {
		from := since.Add(n.rules.GracePeriod)
		o.TrashedFrom = &from
	}
	return o
}

func (n *nightReader) recovered(ctx context.Context) error {
	if n.before.Num == 0 || !n.before.PrunedAt.IsZero() {
		return nil
	}
	c := &Change{What: "recovered", First: []Changed{}}
	for f, err := range n.store.Recovered(ctx, n.run, n.before.Num) {
		if err != nil {
			return err
		}
		c.add(f.Size)
		c.First = appendUpTo(shownChanges, c.First, Changed{Key: string(f.Key)})
	}
	n.night.Recovered = c
	return nil
}

func (n *nightReader) failing(ctx context.Context) error {
	n.night.Failing.First = []FailingObject{}
	all, err := n.store.LongFailures(ctx, n.run, shownChanges)
	for _, l := range all {
		o := FailingObject{Key: string(l.Key), State: Told(l.Action, l.State), Runs: l.Runs, Error: l.Error}
		if !l.Since.IsZero() {
			o.Since = &l.Since
		}
		n.night.Failing.First = append(n.night.Failing.First, o)
	}
	return err
}

// titleOf is what people call a change or a measure.
func titleOf(name string) string {
	switch name {
	case objectsMeasured:
		return "Objects listed or known before"
	case bytesMeasured:
		return "Their bytes"
	case created:
		return "New"
	case adopted:
		return "New, without an upload"
	case replaced:
		return "Changed"
	case described:
		return "Described anew"
	case moved:
		return "Moved"
	case trashed:
		return "Trashed"
	case gone:
		return "Gone from the source"
	case failing:
		return "Not come through"
	}
	return capital(name)
}

// arrow says which way a number went, without colours.
func arrow(difference int64, text func(int64) string) string {
	switch {
	case difference > 0:
		return "↑ " + text(difference)
	case difference < 0:
		return "↓ " + text(-difference)
	}
	return "="
}

// runsInARow says for how many runs something fails, nothing where that is not counted.
func runsInARow(runs int) string {
	switch runs {
	case 0:
		return ""
	case 1:
		return "for the first time"
	}
	return fmt.Sprintf("in %s in a row", ui.Counted(int64(runs), "run"))
}
