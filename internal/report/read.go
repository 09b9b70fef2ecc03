package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

const (
	shownExamples    = 5   // of one group
	shownDifferences = 20  // of a verification
	shownNames       = 20  // that differ
	shownPoints      = 120 // of the chart of throughput
	shownTypes       = 12  // all others are one more
)

// Read returns the report of a run. While the run is in progress, parts of the report may be read
// at slightly different times; the counts are read at once.
func Read(ctx context.Context, store *state.Store, run state.Run) (Report, error) {
	r := begin(store, run)
	l := r.lists
	err := r.read(ctx, l.work, l.names, l.results, l.count, l.sync, l.beginFreeze, l.verification, l.deletedLate, l.undo, l.behind, l.renamed, l.versions, l.rest)
	if err != nil {
		return Report{}, err
	}
	r.Results.Message = accountText(r.Results)
	r.Verdict = judge(r)
	return r, nil
}

// ReadForList reads the parts of a report that WriteList needs, and WriteFolders and SplitByFolder
// for CSV. That avoids most of the work, because nothing is counted.
func ReadForList(ctx context.Context, store *state.Store, run state.Run) (Report, error) {
	r := begin(store, run)
	l := r.lists
	return r, r.read(ctx, l.names, l.readUnchanged, l.undoneBy)
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
		ID: run.ID, Command: run.Command, State: string(run.State), Source: run.Pair.Source, Wave: run.Pair.Wave,
		Destination: run.Pair.Destination, URL: run.Pair.URL, Purpose: purposeCode(run.Pair.Purpose), PlanHash: run.PlanHash,
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

// The purposes of destinations.
const (
	sandbox    = "sandbox"
	production = "production"
)

// purposeCode returns whether a destination is a sandbox; empty if unknown.
func purposeCode(p state.Purpose) string {
	switch p {
	case state.Sandbox:
		return sandbox
	case state.Production:
		return production
	}
	return ""
}

// work finds out whether a process carries out the run.
func (l *lists) work(ctx context.Context, r *Report) error {
	if !l.run.Open() {
		return nil
	}
	holder, err := l.store.Holder(ctx)
	r.Run.AtWork = holder.Alive
	return err
}

// names reads the names of the categories.
func (l *lists) names(ctx context.Context, _ *Report) (err error) {
	l.categories, err = l.store.Categories(ctx, l.run.Pair.Destination)
	return err
}

// results counts the objects of the run by state.
func (l *lists) results(ctx context.Context, r *Report) error {
	tallies, err := l.store.Tallies(ctx, l.run.Num)
	if err != nil {
		return err
	}
	parts := newParts()
	for _, t := range tallies {
		parts.add(StateOf(t.Action, t.State), Amount{t.Objects, t.Bytes})
		if t.State == state.ItemDone && migrate.Reason(t.Reason) == migrate.ReasonIdenticalObject {
			r.Results.Shared = r.Results.Shared.plus(Amount{t.Objects, t.Bytes})
		}
	}
	r.Results.States = parts.list()
	r.Results.Total = parts.total()
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

// found reads the warnings and the unmapped fields. Those of an undo are in the report of the run
// that it undoes.
func (l *lists) found(ctx context.Context, r *Report, of remarks) (err error) {
	if l.run.Undoes == 0 {
		r.Found, err = readFound(ctx, l.store, l.run.Pair.ID, l.run.Num, of)
		r.Metadata.NotKept, r.Metadata.EditsKept = r.Found.Of(NotKept), r.Found.Of(EditsKept)
	}
	return err
}

// countPruned fills in the data that exists for a run whose items were pruned.
func (l *lists) countPruned(ctx context.Context, r *Report) error {
	tallies, err := l.store.Tallies(ctx, l.run.Num)
	c := newCounts(l)
	for _, t := range tallies {
		code := StateOf(t.Action, t.State)
		if code == skipped {
			s := c.skippedFor(t.Reason)
			s.Amount, s.Examples = s.plus(Amount{t.Objects, t.Bytes}), []string{}
		}
		if isAlteration(code) {
			a := c.alteration(code)
			a.Amount, a.Examples = a.plus(Amount{t.Objects, t.Bytes}), []string{}
		}
	}
	r.Results.Listed, r.Results.Accounted = r.Results.Total, true // it was checked before they were pruned
	r.Skipped, r.Alterations = c.listSkipped(), c.listAlterations()
	return err
}

// readUnchanged finds out whether the state database knows which objects are unchanged, without
// reading them.
func (l *lists) readUnchanged(ctx context.Context, _ *Report) error {
	if l.run.Unchanged == 0 || l.isPruned() {
		return nil
	}
	sum, err := l.store.SumUnlisted(ctx, l.run)
	l.checkUnchanged(Amount(sum))
	return err
}

// verification reads how the assets are verified: those of the wave of the run, or all.
func (l *lists) verification(ctx context.Context, r *Report) error {
	v := &r.Verification
	*v = Verification{Level: "none", First: []Difference{}}
	wave, sum, err := l.verifiedInScope(ctx, r)
	if err != nil {
		return err
	}
	if !sum.LastArrival.IsZero() {
		v.LastArrival = &sum.LastArrival
	}
	v.Verified, v.ByChecksum, v.NotVerified = sum.Listed, sum.Contents, sum.Unverified()
	last, err := l.store.LastVerificationOf(ctx, l.run.Pair)
	if errors.Is(err, state.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	v.Level, v.At, v.Wave, v.Compared, v.ComparedByChecksum = last.Level, &last.At, last.Wave, last.Receipts, last.Contents
	v.Covers = v.NotVerified == 0
	for d, err := range l.store.CurrentDifferences(ctx, l.run.Pair.ID) {
		if err != nil {
			return err
		}
		if !wave.HasKey(d.Key) {
			continue
		}
		v.Differences++
		v.First = appendUpTo(shownDifferences, v.First, Difference{Key: string(d.Key), AssetID: d.Asset, Field: d.Field, Message: d.What})
	}
	return nil
}

// verifiedInScope counts how the assets are verified that the run covers, by the wave as it was then,
// and notes those that changed after its freeze.
func (l *lists) verifiedInScope(ctx context.Context, r *Report) (*migrate.Wave, state.VerifiedSum, error) {
	wave, err := l.wave()
	if err != nil || wave == nil {
		sum, sumErr := l.store.SumVerified(ctx, l.run.Pair.ID)
		return nil, sum, errors.Join(err, sumErr)
	}
	sum, err := l.store.SumVerifiedOf(ctx, l.run.Pair.ID, func(o sources.Object) bool {
		is := wave.HasKey(o.Key)
		if is && wave.IsFrozen(o) {
			r.Freeze.Changed.note(o, o.Time)
		}
		return is
	})
	return wave, sum, err
}

// behind counts the problems of earlier runs, if this one processed only a part of the source.
func (l *lists) behind(ctx context.Context, r *Report) error {
	if l.run.Undoes != 0 {
		return nil
	}
	rules, err := migrate.ReadRules(l.run)
	r.stopsAtUnsupported = err == nil && rules.StopsAtUnsupported()
	if r.Run.Narrow = err == nil && rules.IsNarrow(); !r.Run.Narrow {
		return err
	}
	r.MissingFromEarlier, err = migrate.CountIncomplete(ctx, l.store, l.run.Pair)
	return err
}

// undo counts what an undo of the run would change, and reads the undos that there were.
func (l *lists) undo(ctx context.Context, r *Report) error {
	r.Undo.By = []UndoneBy{}
	if l.run.Undoes != 0 {
		undone, err := l.store.UndoneRun(ctx, l.run)
		r.Undo.Undoes = undone.ID
		return err
	}
	r.Undo.Created = l.created
	if r.Sync != nil {
		for _, a := range r.Alterations {
			r.Undo.Changed = r.Undo.Changed.plus(a.Amount)
		}
	}
	if err := l.undoneBy(ctx, r); err != nil {
		return err
	}
	for _, u := range r.Undo.By {
		r.Undo.Changed = r.Undo.Changed.less(u.Restored)
	}
	if r.Undo.left() > 0 && !l.isPruned() {
		r.Undo.Command = "assetferry undo --run " + l.run.ID
	}
	return nil
}

// undoneBy reads the runs that undid this one.
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
		if by.Trashed, by.Restored, err = l.undoResult(ctx, u); err != nil {
			return err
		}
		r.Undo.By = append(r.Undo.By, by)
	}
	l.undone = len(undos) > 0
	return nil
}

// undoResult counts what an undo trashed and what it restored.
func (l *lists) undoResult(ctx context.Context, undo state.Run) (inTrash, restored Amount, err error) {
	tallies, err := l.store.Tallies(ctx, undo.Num)
	for _, t := range tallies {
		switch code := StateOf(t.Action, t.State); {
		case code == trashed:
			inTrash = inTrash.plus(Amount{t.Objects, t.Bytes})
		case isDone(code):
			restored = restored.plus(Amount{t.Objects, t.Bytes})
		}
	}
	return inTrash, restored, err
}

// renamed reads the assets whose names differ from those of their objects.
func (l *lists) renamed(ctx context.Context, r *Report) error {
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

// rest reads what the state database counts itself.
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

// thinned merges minutes into at most as many points as a chart shows.
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

// accountText says whether all objects are accounted for, and in which states they are.
func accountText(r Results) string {
	if !r.Accounted {
		return fmt.Sprintf("NOT accounted for: %s, %s were listed; the states add up to %s, %s.",
			objects(r.Listed.Objects), ui.Bytes(r.Listed.Bytes), objects(r.Total.Objects), ui.Bytes(r.Total.Bytes))
	}
	if r.Listed.Objects == 0 {
		return "No objects."
	}
	return fmt.Sprintf("All %s, %s, are accounted for: %s.", objects(r.Listed.Objects), ui.Bytes(r.Listed.Bytes), partsText(r.States))
}
