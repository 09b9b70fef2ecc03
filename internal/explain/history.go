package explain

import (
	"context"
	"errors"
	"slices"
	"time"

	"assetferry/internal/runstatus"
	"assetferry/sources"
	"assetferry/state"
)

// A History is everything that the state database knows about an object.
type History struct {
	pair        state.Pair
	key         sources.Key
	receipt     *state.Receipt
	sharesWith  *sources.Key // the key of the object whose asset it shares; nil if it has its own, or none
	arrival     state.Arrival
	category    state.Category
	folder      string // path
	description *state.Description
	described   state.Described
	differences []state.Difference
	failure     *state.Failure
	stages      []state.Stage
	attempts    map[int64][]state.Attempt

	orphan    *state.Orphan // nil unless it was deleted at the source
	graceEnds time.Time     // of an orphan within its grace period
	earlier   []state.PreviousAsset
	revisions []state.Revision // earlier contents of its asset, from runs with versions
	movedTo   sources.Key      // its present key
	movedIn   string           // the run that moved it

	names   names
	sidecar *sidecar // nil if it is not a sidecar
	next    Next

	by  string   // the requested key or URL, if the object has another key now
	was *History // the history of that key
}

func (h History) isEmpty() bool {
	return h.by == "" && h.receipt == nil && h.failure == nil && len(h.stages) == 0 && h.movedTo == "" && h.sidecar == nil
}

// orNil returns the value, or nil if nothing was found.
func orNil[T any](v T, err error) (*T, error) {
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	return &v, err
}

func (e *Explainer) load(ctx context.Context, p state.Pair, key sources.Key) (h History, err error) {
	h = History{pair: p, key: key, attempts: map[int64][]state.Attempt{}}
	if h.receipt, err = orNil(e.Store.Receipt(ctx, p.ID, key)); err != nil {
		return h, err
	}
	if h.failure, err = orNil(e.Store.Failure(ctx, p.ID, key)); err != nil {
		return h, err
	}
	if h.stages, err = e.Store.Stages(ctx, p.ID, key); err != nil {
		return h, err
	}
	for _, s := range h.stages {
		if h.attempts[s.Run.Num], err = e.Store.Attempts(ctx, s.Run.Num, key); err != nil {
			return h, err
		}
	}
	if err := e.loadSyncs(ctx, &h); err != nil {
		return h, err
	}
	if h.next, err = e.nextOf(ctx, h); err != nil {
		return h, err
	}
	if h.receipt == nil {
		if h.sidecar, err = e.loadSidecar(ctx, h); err != nil {
			return h, err
		}
		h.sharesWith, err = orNil(e.Store.AliasOwner(ctx, p.ID, key))
		return h, err
	}
	return h, errors.Join(e.loadPlace(ctx, &h), e.loadVerification(ctx, &h), e.loadNames(ctx, &h))
}

// loadSyncs reads the changes that syncs made, and whether the object was deleted at the source.
func (e *Explainer) loadSyncs(ctx context.Context, h *History) (err error) {
	if h.orphan, err = orNil(e.Store.Orphan(ctx, h.pair.ID, h.key)); err != nil {
		return err
	}
	if h.orphan != nil {
		if h.graceEnds, err = runstatus.GraceEnds(ctx, e.Store, h.pair, h.orphan.Since); err != nil {
			return err
		}
	}
	if h.earlier, err = e.Store.PreviousAssets(ctx, h.pair.ID, h.key); err != nil {
		return err
	}
	h.movedTo, h.movedIn, err = e.Store.MovedTo(ctx, h.pair.ID, h.key)
	if errors.Is(err, state.ErrNotFound) {
		err = nil
	}
	return err
}

// loadPlace reads the location of the asset, by names.
func (e *Explainer) loadPlace(ctx context.Context, h *History) error {
	categories, err := e.Store.Categories(ctx, h.pair.Destination)
	if err != nil {
		return err
	}
	var isKnown bool
	if h.category, isKnown = categories[h.receipt.Category]; !isKnown {
		h.category = state.Category{ID: h.receipt.Category}
	}
	if h.receipt.Folder != "" {
		path, err := orNil(e.Store.PathOfFolder(ctx, h.pair.Destination, h.receipt.Category, h.receipt.Folder))
		if err != nil {
			return err
		}
		if h.folder = h.receipt.Folder; path != nil {
			h.folder = *path
		}
	}
	if h.description, err = orNil(e.Store.Description(ctx, h.pair.ID, h.key)); err != nil {
		return err
	}
	if h.revisions, err = e.Store.Revisions(ctx, h.pair.ID, *h.receipt); err != nil {
		return err
	}
	h.described, err = e.Store.DescribedAs(ctx, h.pair.ID, h.key)
	return err
}

func (e *Explainer) loadVerification(ctx context.Context, h *History) (err error) {
	if h.arrival, err = e.Store.ArrivalOf(ctx, h.pair.ID, h.key); err != nil || h.arrival.Listed.ID == 0 {
		return err
	}
	if h.differences, err = e.Store.DifferencesOf(ctx, h.arrival.Listed.ID, h.receipt.Asset); err != nil {
		return err
	}
	last := lastStage(h.stages)
	if last == nil || h.next != (Next{}) || !slices.ContainsFunc(h.differences, func(d state.Difference) bool { return d.Field == "presence" }) {
		return nil
	}
	h.next = Next{"The asset was deleted or moved at the destination. To create a deleted asset again:", e.Advice.Repair(last.Run)}
	return nil
}

// lastStage returns the newest stage that is not of a plan, or else the newest one.
func lastStage(all []state.Stage) *state.Stage {
	for n := range slices.Backward(all) {
		if all[n].Run.Command != "plan" {
			return &all[n]
		}
	}
	if len(all) > 0 {
		return &all[len(all)-1]
	}
	return nil
}
