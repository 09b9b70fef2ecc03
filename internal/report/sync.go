package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"assetferry/internal/sorting"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

const (
	shownChanges = 20 // of one kind
	lookBack     = 30 // runs, to find the previous sync
)

// A Sync lists the changes of a sync and compares it with the previous one.
type Sync struct {
	// Previous is the last finished sync before this one; nil if this is the first.
	Previous *PreviousSync `json:"previous,omitempty"`
	// Trend compares the main counts of both.
	Trend []Measure `json:"trend"`
	// Unchanged reports whether the sync finished and had nothing to do.
	Unchanged bool `json:"nothing_changed"`
	// Stopped says why a safety check stopped the sync or a part of it.
	Stopped string `json:"stopped,omitempty"`
	// Changes are the finished actions, by state.
	Changes []Change `json:"changes"`
	// Drift lists objects whose assets other users changed at the destination, by reason.
	Drift   []Change `json:"changed_at_destination"`
	Failing Failing  `json:"failing"`
	// Deleted and Recovered are nil if the items were pruned.
	Deleted   *Deleted `json:"deleted_at_source,omitempty"`
	Recovered *Change  `json:"recovered,omitempty"` // had a problem in the previous sync
}

// A PreviousSync identifies the previous sync.
type PreviousSync struct {
	Run string    `json:"run"`
	At  time.Time `json:"started_at"`
}

// A Measure compares one count with the previous sync.
type Measure struct {
	// Name is objects or bytes, for everything listed; deleted_at_source; failing, for all
	// objects that need attention; or a state.
	Name   string `json:"name"`
	Now    int64  `json:"current"`
	Before *int64 `json:"previous,omitempty"` // nil without a previous sync
}

// Difference returns the increase since the previous sync; 0 if there was none.
func (m Measure) Difference() int64 {
	if m.Before == nil {
		return 0
	}
	return m.Now - *m.Before
}

// A Change lists the objects with the same state, or the same reason.
type Change struct {
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Amount
	First []Changed `json:"first"` // by key
}

// Left counts the objects that are not in First.
func (c Change) Left() int64 { return c.Objects - int64(len(c.First)) }

// A Changed is one object of a Change.
type Changed struct {
	Key         string `json:"key"`
	PreviousKey string `json:"previous_key,omitempty"` // if it was moved
}

// Deleted lists objects that were uploaded and have been deleted at the source.
type Deleted struct {
	Amount
	New  Amount `json:"new"`  // first missing in this sync
	Kept Amount `json:"kept"` // whose assets are kept
	// InGrace is the part of Kept whose assets a later sync trashes unless the objects reappear.
	// The first grace period ends at GraceEnds.
	InGrace   Amount          `json:"in_grace_period"`
	GraceEnds *time.Time      `json:"grace_period_ends,omitempty"`
	First     []DeletedObject `json:"first"` // new ones first
}

// Left counts the objects that are not in First.
func (d Deleted) Left() int64 { return d.Objects - int64(len(d.First)) }

// A DeletedObject is an object that was deleted at the source.
type DeletedObject struct {
	Key       string     `json:"key"`
	New       bool       `json:"new"`
	Since     *time.Time `json:"since,omitempty"`             // the first listing without it; nil if unknown
	GraceEnds *time.Time `json:"grace_period_ends,omitempty"` // nil if it has no grace period
	State     string     `json:"state"`
	Reason    string     `json:"reason"`
	Message   string     `json:"message"`
}

// Failing lists objects that need attention, with the number of runs in which they did.
type Failing struct {
	Objects int64           `json:"objects"`
	First   []FailingObject `json:"first"` // the longest time first
}

// Left counts the objects that are not in First.
func (f Failing) Left() int64 { return f.Objects - int64(len(f.First)) }

// A FailingObject is an object that needs attention.
type FailingObject struct {
	Key   string     `json:"key"`
	State string     `json:"state"`
	Since *time.Time `json:"since,omitempty"` // start of the first of the runs
	Runs  int        `json:"runs"`            // in a row; 0 where runs are not counted, such as for conflicts
	Error string     `json:"error,omitempty"`
}

// deletedReasons are the reasons of objects that were deleted at the source and need no decision.
var deletedReasons = map[migrate.Reason]bool{
	migrate.ReasonDeletedAtSource: true, migrate.ReasonGracePeriod: true, migrate.ReasonPossiblyMoved: true, migrate.ReasonTooManyDeletes: true, migrate.ReasonGracePeriodOver: true, migrate.ReasonDeletedAtBoth: true,
}

// driftReasons are the reasons of objects whose assets other users changed at the destination.
var driftReasons = map[migrate.Reason]bool{
	migrate.ReasonAssetDeleted: true, migrate.ReasonAssetMoved: true, migrate.ReasonAssetEdited: true, migrate.ReasonAssetMetadataEdited: true,
	migrate.ReasonAssetMovedReverted: true, migrate.ReasonAssetEditedReverted: true, migrate.ReasonAssetDeletedCreated: true, migrate.ReasonDeletedAtBoth: true,
}

// syncRules returns the rules of a run that is a sync, and nil for any other.
func syncRules(run state.Run) (*migrate.SyncRules, error) {
	if run.Undoes != 0 || run.Command == "plan" {
		return nil, nil
	}
	rules, err := migrate.ReadRules(run)
	return rules.Sync, err
}

// sync compares a sync with the previous one.
func (l *lists) sync(ctx context.Context, r *Report) error {
	rules, err := syncRules(l.run)
	if rules == nil || err != nil {
		return err
	}
	previous, err := l.previousSync(ctx)
	if err != nil {
		return err
	}
	s := &syncReader{lists: l, sync: &Sync{Stopped: l.run.Stopped}, previous: previous, rules: rules}
	if err := s.read(ctx); err != nil {
		return err
	}
	r.Sync = s.sync
	r.Sync.Unchanged = r.Run.State == string(state.Finished) && s.isUnchanged()
	r.Alterations = append(r.Alterations, s.metadataUpdated()...)
	return nil
}

// previousSync returns the last finished sync before this one; its number is 0 if there is none.
func (l *lists) previousSync(ctx context.Context) (state.Run, error) {
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

// A syncReader reads the part of a report that is only about syncs.
type syncReader struct {
	*lists
	sync     *Sync
	previous state.Run
	rules    *migrate.SyncRules
}

func (s *syncReader) read(ctx context.Context) error {
	tallies, err := s.store.Tallies(ctx, s.run.Num)
	if err != nil {
		return err
	}
	s.sync.Trend = measure(tallies)
	steps := []func(context.Context) error{s.compare, s.deleted, s.recovered, s.failing}
	if s.isPruned() {
		steps = steps[:1]
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.sync.Failing.Objects = valueOf(s.sync.Trend, failing)
	if s.sync.Changes, err = s.changes(ctx, tallies, finishedAction); err != nil {
		return err
	}
	s.sync.Drift, err = s.changes(ctx, tallies, drift)
	return err
}

// isUnchanged reports whether the sync had nothing to do and found nothing that needs attention.
func (s *syncReader) isUnchanged() bool {
	v := s.sync
	return len(v.Changes) == 0 && len(v.Drift) == 0 && v.Failing.Objects == 0 && v.Stopped == "" && v.Deleted != nil && v.Deleted.New.Objects == 0
}

// metadataUpdated returns the assets of which only the metadata changed.
func (s *syncReader) metadataUpdated() (all []Alteration) {
	for _, c := range s.sync.Changes {
		if c.State != metadataUpdated {
			continue
		}
		a := Alteration{State: metadataUpdated, Amount: c.Amount}
		for _, o := range c.First[:min(len(c.First), shownExamples)] {
			a.Examples = append(a.Examples, o.Key)
		}
		all = append(all, a)
	}
	return all
}

// Names of measures that are no states.
const (
	objectsMeasured = "objects"
	bytesMeasured   = "bytes"
	deletedAtSource = "deleted_at_source"
	failing         = "failing"
)

// measure returns the main counts of a run.
func measure(tallies []state.Tally) []Measure {
	sums := map[string]int64{}
	for _, t := range tallies {
		code := StateOf(t.Action, t.State)
		sums[objectsMeasured] += t.Objects
		sums[bytesMeasured] += t.Bytes
		sums[code] += t.Objects
		if isProblem(code) {
			sums[failing] += t.Objects
		}
		if deletedReasons[migrate.Reason(t.Reason)] {
			sums[deletedAtSource] += t.Objects
		}
	}
	var all []Measure
	for _, name := range []string{objectsMeasured, bytesMeasured, created, adopted, replaced, metadataUpdated, moved, trashed, deletedAtSource, failing} {
		all = append(all, Measure{Name: name, Now: sums[name]})
	}
	return all
}

func valueOf(all []Measure, name string) int64 {
	return all[slices.IndexFunc(all, func(m Measure) bool { return m.Name == name })].Now
}

func (s *syncReader) compare(ctx context.Context) error {
	if s.previous.Num == 0 {
		return nil
	}
	s.sync.Previous = &PreviousSync{s.previous.ID, s.previous.StartedAt}
	tallies, err := s.store.Tallies(ctx, s.previous.Num)
	for i, m := range measure(tallies) {
		s.sync.Trend[i].Before = &m.Now
	}
	return err
}

// finishedAction returns the change by its state; false if the action was not carried out.
func finishedAction(t state.Tally) (Change, bool) {
	return Change{State: StateOf(t.Action, t.State)}, t.State == state.ItemDone
}

// drift returns the change by its reason; false if no other user changed the destination.
func drift(t state.Tally) (Change, bool) {
	return Change{Reason: t.Reason, Message: reasonText(t.Reason)}, driftReasons[migrate.Reason(t.Reason)]
}

// changes merges the tallies with the same change, in the order of states.
func (s *syncReader) changes(ctx context.Context, tallies []state.Tally, changeOf func(state.Tally) (Change, bool)) ([]Change, error) {
	all := []Change{}
	for _, t := range tallies {
		kind, ok := changeOf(t)
		if !ok {
			continue
		}
		at := slices.IndexFunc(all, func(c Change) bool { return c.State == kind.State && c.Reason == kind.Reason })
		if at < 0 {
			kind.First = []Changed{}
			at, all = len(all), append(all, kind)
		}
		c := &all[at]
		c.Amount = c.plus(Amount{t.Objects, t.Bytes})
		items, err := s.store.FirstOf(ctx, s.run.Num, t, shownChanges)
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			c.First = append(c.First, Changed{string(i.Key), previousKey(i.Action, i.PreviousKey)})
		}
		sorting.By(c.First, func(a, b Changed) int { return cmp.Compare(a.Key, b.Key) })
		c.First = c.First[:min(len(c.First), shownChanges)]
	}
	sorting.Stable(all, func(a, b Change) int { return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State)) })
	return all, nil
}

func (s *syncReader) deleted(ctx context.Context) error {
	d := &Deleted{First: []DeletedObject{}}
	var known []DeletedObject
	for m, err := range s.store.Missed(ctx, s.run, s.previous.Num, string(migrate.ObstacleAbsent)) {
		if err != nil {
			return err
		}
		o := s.deletedObject(m)
		d.add(m.Size)
		if o.New {
			d.New.add(m.Size)
			d.First = appendUpTo(shownChanges, d.First, o)
		} else {
			known = appendUpTo(shownChanges, known, o)
		}
		if o.State == skipped {
			d.Kept.add(m.Size)
		}
		if o.GraceEnds != nil {
			d.InGrace.add(m.Size)
			if d.GraceEnds == nil || o.GraceEnds.Before(*d.GraceEnds) {
				d.GraceEnds = o.GraceEnds
			}
		}
	}
	for _, o := range known {
		d.First = appendUpTo(shownChanges, d.First, o)
	}
	s.sync.Deleted = d
	return nil
}

func (s *syncReader) deletedObject(m state.Missed) DeletedObject {
	o := DeletedObject{Key: string(m.Key), New: !m.Again, State: StateOf(m.Action, m.State), Reason: m.Reason, Message: reasonText(m.Reason)}
	since := m.Since
	if since.IsZero() && o.New {
		since = s.run.ListedAt
	}
	if since.IsZero() {
		return o
	}
	o.New, o.Since = since.Equal(s.run.ListedAt), &since
	if migrate.Reason(m.Reason) == migrate.ReasonGracePeriod {
		ends := since.Add(s.rules.GracePeriod)
		o.GraceEnds = &ends
	}
	return o
}

func (s *syncReader) recovered(ctx context.Context) error {
	if s.previous.Num == 0 || !s.previous.PrunedAt.IsZero() {
		return nil
	}
	c := &Change{First: []Changed{}}
	for f, err := range s.store.Recovered(ctx, s.run, s.previous.Num) {
		if err != nil {
			return err
		}
		c.add(f.Size)
		c.First = appendUpTo(shownChanges, c.First, Changed{Key: string(f.Key)})
	}
	s.sync.Recovered = c
	return nil
}

func (s *syncReader) failing(ctx context.Context) error {
	s.sync.Failing.First = []FailingObject{}
	all, err := s.store.LongFailures(ctx, s.run, shownChanges)
	for _, l := range all {
		o := FailingObject{Key: string(l.Key), State: StateOf(l.Action, l.State), Runs: l.Runs, Error: l.Error}
		if !l.Since.IsZero() {
			o.Since = &l.Since
		}
		s.sync.Failing.First = append(s.sync.Failing.First, o)
	}
	return err
}

// titleOf returns the heading of a change or the label of a measure.
func titleOf(name string) string {
	switch name {
	case bytesMeasured:
		return "Size"
	case deletedAtSource:
		return "Deleted at the source"
	case failing:
		return "Failed or in conflict"
	}
	return capital(words(name))
}

// arrow shows the direction of a difference without colours.
func arrow(difference int64, text func(int64) string) string {
	switch {
	case difference > 0:
		return "↑ " + text(difference)
	case difference < 0:
		return "↓ " + text(-difference)
	}
	return "="
}

// runsInARow says in how many runs an object failed; empty where that is not counted.
func runsInARow(runs int) string {
	switch runs {
	case 0:
		return ""
	case 1:
		return "first time"
	}
	return ui.Counted(int64(runs), "run") + " in a row"
}
