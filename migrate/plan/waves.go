package plan

import (
	"context"
	"errors"
	"fmt"

	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A run of a wave lists the whole source, and skips the objects of other waves: they get no
// item, whatever happens to them. Two facts about them still matter. An object that is new in this
// wave may be one of another wave that was moved here, so objects of other waves that were deleted
// are staged until moves are found; see otherWaves. And an object of this wave that was deleted may
// have been moved to another wave, whose sync follows the move, so its asset is kept until then.

// division sorts listed objects by waves.
type division struct {
	waves   migrate.Waves             // all, with that of the run
	own     int64                     // listed objects of the wave
	missed  map[int64]bool            // sizes of objects of the wave that earlier runs missed
	overlap *migrate.WaveOverlapError // so far; nil if there is none
}

// newDivision returns nil if the run has no wave.
func (p *planning) newDivision(ctx context.Context) (*division, error) {
	wave := p.Rules.Wave
	if wave == nil {
		return nil, nil
	}
	d := &division{waves: p.Waves.With(wave)}
	if !p.Rules.Trashes() || !p.Rules.FollowsDeletions() {
		return d, nil
	}
	d.missed = map[int64]bool{}
	for o, err := range p.State.Orphans(ctx, p.run.Pair.ID, "") {
		if err != nil {
			return nil, err
		}
		if !wave.HasKey(o.Key) {
			continue
		}
		r, err := p.State.Receipt(ctx, p.run.Pair.ID, o.Key)
		if errors.Is(err, state.ErrNotFound) { // the run of another wave moved it
			continue
		} else if err != nil {
			return nil, err
		}
		d.missed[r.Size] = true
	}
	return d, nil
}

// hasKey reports whether the run includes objects with a key.
func (p *planning) hasKey(key sources.Key) bool { return p.Rules.Wave.HasKey(key) }

// isElsewhere reports whether an object with a key that the user named does not belong to the run. A
// sidecar is in the wave of its object.
func (p *planning) isElsewhere(key sources.Key) bool {
	_, sidecar := metadata.OwnerOf(string(key))
	return !sidecar && !p.hasKey(key)
}

// sort finds the waves of an object, and reports whether it belongs to the run. It notes what
// people must know: objects in several waves or in none, and changes after the freeze.
func (w *walk) sort(o sources.Object) (own bool) {
	d := w.division
	if d == nil {
		return true
	}
	of := d.waves.Of(o)
	own = of.Named(w.Rules.Wave.Name) != nil
	if owner, may := metadata.OwnerOf(string(o.Key)); may && w.FollowsSidecars() {
		return own || w.chain.has(string(o.Key), owner) // a sidecar is in the wave of its object
	}
	switch {
	case o.Obstacle != "" || w.Rules.SkipReason(o, w.started) != "":
	case len(of) > 1:
		if d.overlap == nil {
			d.overlap = &migrate.WaveOverlapError{Key: o.Key, Waves: of.Names()}
		}
		d.overlap.Objects++
	case len(of) == 0:
		if w.waves.Unassigned.Add(o); w.Unassigned != nil {
			w.Unassigned(o)
		}
	case own && w.Rules.Wave.IsFrozen(o):
		w.waves.Frozen.Add(o)
	}
	if own {
		d.own++
	}
	return own
}

// overlaps reports whether the waves overlap. Nothing more is staged then.
func (w *walk) overlaps() bool { return w.division != nil && w.division.overlap != nil }

// skipElsewhere handles an object of another wave. If it is new, and as large as an object of this wave
// that was missed before, it may be that object: the asset is kept until the other wave is synced.
func (w *walk) skipElsewhere(o sources.Object, r *objectMemory) {
	if r.memory == migrate.MemoryNone && !r.shares && w.division.missed[o.Size] {
		w.unread[o.Size] = true
	}
	w.count()
}

// stageElsewhere stages a deleted object of another wave, which may have been moved to this one. An
// asset that other objects share stays with them.
func (u *unlisted) stageElsewhere(ctx context.Context, r state.Receipt) error {
	for _, err := range u.State.AliasesOf(ctx, u.run.Pair.ID, r.Key) {
		return err
	}
	i := state.Item{Object: r.Object}
	i.Obstacle = migrate.ObstacleAbsent
	migrate.SetDecision(&i, state.Skip, migrate.ReasonOtherWave)
	return u.add(ctx, i)
}

// otherWaves removes the deleted objects of other waves from the plan, except those that were moved
// to this wave, which have no item of their own.
type otherWaves struct {
	*planning
	*decisions
}

func (o *otherWaves) do(ctx context.Context) error {
	if o.Rules.Wave == nil || !o.Rules.FollowsDeletions() {
		return nil
	}
	tallies, err := o.tallies(ctx)
	if err != nil || countOf(tallies, migrate.ReasonOtherWave) == 0 {
		return err
	}
	o.overview.changed()
	return o.State.DropItems(ctx, o.run.Num, string(migrate.ReasonOtherWave))
}

// sumKnown sums up the uploaded objects that the run includes.
func (p *planning) sumKnown(ctx context.Context) (sum state.ReceiptSum, err error) {
	if p.Rules.Wave == nil {
		return p.State.SumReceipts(ctx, p.run.Pair.ID)
	}
	if p.knownSum != nil {
		return *p.knownSum, nil
	}
	for r, err := range p.State.Fingerprints(ctx, p.run.Pair.ID, "") {
		if err != nil {
			return sum, err
		}
		if p.hasKey(r.Key) {
			sum.Objects, sum.Bytes = sum.Objects+1, sum.Bytes+r.Size
		}
	}
	p.knownSum = &sum
	return sum, nil
}

// An UnfinishedWaveError means that the run of another wave may have uploaded an object that belongs
// to this wave now: its outcome is unknown.
type UnfinishedWaveError struct {
	Run state.Run
	Key sources.Key // of the first such object
}

func (e *UnfinishedWaveError) Error() string {
	return fmt.Sprintf("%s may have been uploaded by run %s of wave %s, which is not finished", e.Key, e.Run.ID, e.Run.Pair.Wave)
}

// Remedy returns the next step, with settings in braces.
func (e *UnfinishedWaveError) Remedy() string {
	return "finish that run first, with the waves as they were: {wave} " + e.Run.Pair.Wave
}

// checkOtherWaves fails if an unfinished run of another wave may have uploaded objects of this one:
// that happens if the waves were changed meanwhile.
func (p *planning) checkOtherWaves(ctx context.Context) error {
	if p.Rules.Wave == nil {
		return nil
	}
	others, err := p.State.UnfinishedElsewhere(ctx, p.run.Pair)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Undoes != 0 {
			continue
		}
		for i, err := range p.State.Items(ctx, other.Num, state.ItemSending, state.ItemSent, state.ItemUnconfirmed, state.ItemRetryScheduled) {
			if err != nil {
				return err
			}
			if p.hasKey(i.Key) {
				return &UnfinishedWaveError{Run: other, Key: i.Key}
			}
		}
	}
	return nil
}
