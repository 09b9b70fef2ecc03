package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

const (
	shownExamples    = 5   // of one group
	shownDifferences = 20  // of a verification
	shownNames       = 20  // that differ
	shownPoints      = 120 // of the chart of throughput
	shownTypes       = 12  // all others are one more
)

// Read reads a run from its journal. Of a run that is going on meanwhile, its parts may
// be of slightly different moments; the sum is of one.
func Read(ctx context.Context, store *state.Store, run state.Run) (Report, error) {
	r := begin(store, run)
	l := r.lists
	err := r.read(ctx, l.work, l.names, l.sums, l.count, l.night, l.proof, l.undo, l.behind, l.differing, l.rest)
	if err != nil {
		return Report{}, err
	}
	r.Sum.Said = said(r.Sum)
	r.Verdict = judge(r)
	return r, nil
}

// ReadForList reads as much of a report as WriteList needs, and WriteFolders and
// SplitByFolder for CSV, which spares most of the work: nothing is summed up.
func ReadForList(ctx context.Context, store *state.Store, run state.Run) (Report, error) {
	r := begin(store, run)
	l := r.lists
	return r, r.read(ctx, l.names, l.tellUnchanged, l.undoneBy)
}

func begin(store *state.Store, run state.Run) Report {
	return Report{Version: schema, MadeAt: clock.Now().UTC().Truncate(time.Second), Run: about(run), lists: &lists{store: store, run: run}}
}

func (r *Report) read(ctx context.Context, parts ...func(context.Context, *Report) error) error {
	for _, read := range parts {
		if err := read(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func about(run state.Run) Run {
	a := Run{
		ID: run.ID, Command: run.Command, State: string(run.State), Source: run.Pair.Source,
		Destination: run.Pair.Destination, Address: run.Pair.URL, Purpose: run.Pair.Purpose, PlanHash: run.PlanHash,
		GivenUp: run.State == state.Superseded, BeganAt: run.StartedAt, StartedBy: run.StartedBy, ListedAt: run.ListedAt, ListedAll: run.Scanned,
	}
	if by := run.Approver; by.Name != "" {
		a.Approval = &Approval{By: by.Name, StatedBy: by.StatedBy, Key: by.Key, At: run.ApprovedAt}
	}
	if !run.FinishedAt.IsZero() {
		a.FinishedAt, a.Seconds = &run.FinishedAt, run.FinishedAt.Sub(run.StartedAt).Seconds()
	}
	if !run.PrunedAt.IsZero() {
		a.PrunedAt = &run.PrunedAt
	}
	return a
}

// work finds out whether a process is at work on the run.
func (l *lists) work(ctx context.Context, r *Report) error {
	if !l.run.Open() {
		return nil
	}
	holder, err := l.store.Holder(ctx)
	r.Run.AtWork = holder.Alive
	return err
}

// names finds what people call the categories.
func (l *lists) names(ctx context.Context, _ *Report) (err error) {
	l.categories, err = l.store.Categories(ctx, l.run.Pair.Destination)
	return err
}

// sums sums the run up by what became of its objects.
func (l *lists) sums(ctx context.Context, r *Report) error {
	tallies, err := l.store.Tallies(ctx, l.run.Num)
	if err != nil {
		return err
	}
	r.Sum.Of = "listed"
	parts := newParts()
	for _, t := range tallies {
		parts.add(Told(t.Action, t.State), Amount{t.Objects, t.Bytes})
		if t.State == state.ItemDone && migrate.Reason(t.Reason) == migrate.ReasonIdenticalObject {
			r.Sum.Shared = r.Sum.Shared.plus(Amount{t.Objects, t.Bytes})
		}
	}
	r.Sum.Parts = parts.list()
	for _, p := range r.Sum.Parts {
		r.Sum.Total = r.Sum.Total.plus(p.Amount)
	}
	return nil
}

// count walks through everything that was listed.
func (l *lists) count(ctx context.Context, r *Report) error {
	c := newCounts(l)
	if err := c.walk(ctx); err != nil {
		return err
	}
	c.into(r)
	if err := l.found(ctx, r, c.remarks); err != nil {
		return err
	}
	if l.isPruned() {
		return l.countPruned(ctx, r)
	}
	return nil
}

// found says what was found of objects and is not in their assets. What an undo finds was
// told of the run that it takes back.
func (l *lists) found(ctx context.Context, r *Report, of remarks) (err error) {
	if l.run.Undoes == 0 {
		r.Found, err = readFound(ctx, l.store, l.run.Num, of)
		r.Metadata.NotKept, r.Metadata.EditsKept = r.Found.Of(NotKept), r.Found.Of(EditsKept)
	}
	return err
}

// countPruned tells of a run that has no items any more what its sums say.
func (l *lists) countPruned(ctx context.Context, r *Report) error {
	tallies, err := l.store.Tallies(ctx, l.run.Num)
	c := newCounts(l)
	for _, t := range tallies {
		if Told(t.Action, t.State) == skipped {
			o := c.leftOutFor(t.Reason)
			o.Amount, o.Examples = o.plus(Amount{t.Objects, t.Bytes}), []string{}
		}
		if told := Told(t.Action, t.State); isAlteration(told) {
			a := c.alteration(told)
			a.Amount, a.Examples = a.plus(Amount{t.Objects, t.Bytes}), []string{}
		}
	}
	r.Sum.Listed, r.Sum.Closes = r.Sum.Total, true // or it would have been told when it was counted
	r.LeftOut, r.Alterations = c.listLeftOut(), c.listAlterations()
	return err
}

// tellUnchanged finds out whether the journal tells which objects are unchanged, without
// reading them.
func (l *lists) tellUnchanged(ctx context.Context, _ *Report) error {
	if l.run.Unchanged == 0 || l.isPruned() {
		return nil
	}
	sum, err := l.store.SumUnlisted(ctx, l.run)
	l.tell(Amount(sum))
	return err
}

func (l *lists) proof(ctx context.Context, r *Report) error {
	r.Proof = Proof{Level: "none", First: []Difference{}}
	sum, err := l.store.SumVerified(ctx, l.run.Pair.ID)
	if err != nil {
		return err
	}
	if !sum.LastArrival.IsZero() {
		r.Proof.LastArrival = &sum.LastArrival
	}
	r.Proof.Verified, r.Proof.ByContent, r.Proof.NotVerified = sum.Listed, sum.Contents, sum.Unverified()
	v, err := l.store.LastVerification(ctx, l.run.Pair.ID)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	p := &r.Proof
	p.Level, p.At, p.Receipts, p.ReadBack, p.Differences = v.Level, &v.At, v.Receipts, v.Contents, v.Differences
	p.Covers = p.NotVerified == 0
	for d, err := range l.store.Differences(ctx, v.ID) {
		if err != nil {
			return err
		}
		if len(p.First) == shownDifferences {
			break
		}
		p.First = append(p.First, Difference{Key: string(d.Key), AssetID: d.Asset, Field: d.Field, What: d.What})
	}
	return nil
}

// behind counts what other runs have left, if this one did not look at all.
func (l *lists) behind(ctx context.Context, r *Report) error {
	if l.run.Undoes != 0 {
		return nil
	}
	rules, err := migrate.ReadRules(l.run)
	r.stopsAtUnsupported = err == nil && rules.StopsAtUnsupported()
	if r.Run.Narrow = err == nil && rules.IsNarrow(); !r.Run.Narrow {
		return err
	}
	r.LeftBehind, err = migrate.CountIncomplete(ctx, l.store, l.run.Pair.ID)
	return err
}

// undo says how to take the run back, and whether that was done.
func (l *lists) undo(ctx context.Context, r *Report) error {
	r.Undo.By = []UndoneBy{}
	if l.run.Undoes != 0 {
		undone, err := l.store.UndoneRun(ctx, l.run)
		r.Undo.Undoes, r.Sum.Of = undone.ID, "to be taken back"
		return err
	}
	r.Undo.Created = l.created
	if r.Night != nil {
		for _, a := range r.Alterations {
			r.Undo.Changed = r.Undo.Changed.plus(a.Amount)
		}
	}
	if err := l.undoneBy(ctx, r); err != nil {
		return err
	}
	for _, u := range r.Undo.By {
		r.Undo.Changed = r.Undo.Changed.less(u.PutBack)
	}
	if r.Undo.left() > 0 && !l.isPruned() {
		r.Undo.Command = "assetferry undo --run " + l.run.ID
	}
	return nil
}

// undoneBy finds the runs that took this one back.
func (l *lists) undoneBy(ctx context.Context, r *Report) error {
	if l.run.Undoes != 0 {
		return nil
	}
	undos, err := l.store.UndoneBy(ctx, l.run.Num)
	if err != nil {
		return err
	}
	for _, u := range undos {
		by := UndoneBy{Run: u.ID, State: string(u.State), At: u.StartedAt}
		if by.Trashed, by.PutBack, err = l.takenBackBy(ctx, u); err != nil {
			return err
		}
		r.Undo.By = append(r.Undo.By, by)
	}
	l.undone = len(undos) > 0
	return nil
}

// takenBackBy sums up what an undo has trashed, and put back as it was.
func (l *lists) takenBackBy(ctx context.Context, undo state.Run) (gone, back Amount, err error) {
	tallies, err := l.store.Tallies(ctx, undo.Num)
	for _, t := range tallies {
		switch told := Told(t.Action, t.State); {
		case told == trashed:
			gone = gone.plus(Amount{t.Objects, t.Bytes})
		case isDone(told):
			back = back.plus(Amount{t.Objects, t.Bytes})
		}
	}
	return gone, back, err
}

// differing counts the assets that are called otherwise than their objects.
func (l *lists) differing(ctx context.Context, r *Report) error {
	r.Names.First = []Name{}
	for n, err := range migrate.RenamedAssets(ctx, l.store, l.run.Pair.ID) {
		if err != nil {
			return err
		}
		r.Names.Count++
		r.Names.First = appendUpTo(shownNames, r.Names.First, Name{string(n.Key), n.Filename(), n.Asset})
	}
	return nil
}

// rest reads what is summed up by the journal itself.
func (l *lists) rest(ctx context.Context, r *Report) error {
	d, err := l.store.SumDescriptions(ctx, l.run)
	if err != nil {
		return err
	}
	r.Metadata.Objects, r.Metadata.ContentTypes, r.Metadata.Fields, r.Metadata.Tags = d.Objects, d.ContentTypes, d.Metadata, d.Tags
	minutes, err := l.store.Throughput(ctx, l.run.Num)
	r.Throughput = thinned(minutes)
	return err
}

// thinned joins minutes to at most as many points as a chart shows.
func thinned(minutes []state.Minute) []Point {
	points := []Point{}
	if len(minutes) == 0 {
		return points
	}
	begin, end := minutes[0].At, minutes[len(minutes)-1].At.Add(time.Minute)
	width := int(end.Sub(begin).Minutes()+shownPoints-1) / shownPoints
	step := time.Duration(width) * time.Minute
	for _, m := range minutes {
		at := begin.Add(m.At.Sub(begin) / step * step)
		if n := len(points); n == 0 || !points[n-1].At.Equal(at) {
			points = append(points, Point{At: at, Minutes: width})
		}
		p := &points[len(points)-1]
		p.Items, p.Bytes = p.Items+m.Items, p.Bytes+m.Bytes
	}
	return points
}

// said is the sum in a sentence.
func said(s Sum) string {
	var parts []string
	for _, p := range s.Parts {
		parts = append(parts, ui.Count(p.Objects)+" "+p.Name)
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	verb := "the sum closes, in objects and bytes"
	if !s.Closes {
		verb = fmt.Sprintf("the sum does NOT close: that is %s and %s", objects(s.Total.Objects), ui.Bytes(s.Total.Bytes))
	}
	return fmt.Sprintf("%s %s, %s = %s; %s.", capital(s.Of), objects(s.Listed.Objects), ui.Bytes(s.Listed.Bytes), strings.Join(parts, " + "), verb)
}
