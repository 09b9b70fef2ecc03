package plan

import (
	"context"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// olderVersions finds the older versions of the objects that the plan uploads.
type olderVersions struct {
	*planning
	batch []state.History
}

// do stores which versions are brought before each object.
func (v *olderVersions) do(ctx context.Context) error {
	if !v.Rules.BringsVersions() {
		return nil
	}
	if err := v.State.ForgetHistories(ctx, v.run.Num); err != nil {
		return err
	}
	source, ok := v.Source.(sources.Historian)
	if !ok {
		return nil
	}
	uploads, err := v.countPlanned(ctx, state.Create, state.Replace)
	if err != nil || uploads == 0 {
		return err
	}
	kept, err := source.KeepsVersions(ctx)
	if err != nil || !kept {
		return err
	}
	v.Watch.Phase(migrate.PhaseVersions, uploads, -1)
	for i, err := range v.State.Items(ctx, v.run.Num, state.ItemPlanned) {
		if err != nil {
			return err
		}
		if i.Action != state.Create && i.Action != state.Replace || i.Attempts > 0 {
			continue
		}
		if err := v.find(ctx, source, i); err != nil {
			return err
		}
		v.Watch.Progress(1, 0)
	}
	return v.flush(ctx)
}

// find stores the history of one object, if it has one.
func (v *olderVersions) find(ctx context.Context, source sources.Historian, i state.Item) error {
	known, err := v.knownVersion(ctx, i)
	if err != nil {
		return err
	}
	traits := v.Source.Traits()
	h := state.History{Key: i.Key}
	next, wanted := i.Object, true
	for o, err := range source.Versions(ctx, i.Object) {
		if err != nil {
			return err
		}
		h.Older++
		h.OlderBytes += o.Size
		if known != nil && isKnown(o, *known, traits) {
			wanted = false // the asset has it
		}
		same := traits.ContentTags && o.VersionTag != "" && o.VersionTag == next.VersionTag && o.Size == next.Size
		next = o
		if wanted && !same && o.Obstacle == "" && len(h.Bring) < v.Rules.Versions-1 && !movesAsset(i) {
			h.Bring = append(h.Bring, o)
		}
	}
	if h.Older == 0 {
		return nil
	}
	for n, m := 0, len(h.Bring)-1; n < m; n, m = n+1, m-1 { // the oldest first
		h.Bring[n], h.Bring[m] = h.Bring[m], h.Bring[n]
	}
	v.batch = append(v.batch, h)
	if len(v.batch) < migrate.PageSize {
		return nil
	}
	return v.flush(ctx)
}

func (v *olderVersions) flush(ctx context.Context) error {
	if len(v.batch) == 0 {
		return nil
	}
	err := v.State.SaveHistories(ctx, v.run.Num, v.batch)
	v.batch = v.batch[:0]
	return err
}

// knownVersion returns the version that the asset of an item has; nil if the item creates its asset.
func (v *olderVersions) knownVersion(ctx context.Context, i state.Item) (*sources.Object, error) {
	if i.Action != state.Replace {
		return nil, nil
	}
	r, err := v.State.Receipt(ctx, v.run.Pair.ID, migrate.ReplacedKey(i))
	return &r.Object, err
}

// movesAsset reports whether an item gets the asset of another key, or restores the content
// that an asset had. It then has only the current version.
func movesAsset(i state.Item) bool {
	return i.Action == state.Replace && (i.PreviousKey != "" && i.PreviousKey != i.Key || restores(i))
}

// isKnown reports whether an older version is one that the asset has, or is older than that: the
// service would otherwise have revisions out of order.
func isKnown(o, known sources.Object, traits sources.Traits) bool {
	older := !o.Time.IsZero() && !known.Time.IsZero() && known.Time.Sub(o.Time) >= max(traits.Precision, 1)
	return older || sameFingerprint(o, known, traits.Precision)
}

// historyInterrupted reports whether an asset has an older version of its object, because a run that
// brings versions was interrupted: such an asset still lacks its metadata.
func (p *planning) historyInterrupted(ctx context.Context, r state.Receipt) (bool, error) {
	if !p.Rules.BringsVersions() || !r.MetadataPending {
		return false, nil
	}
	return p.State.HistoryInterrupted(ctx, p.run.Pair.ID, r.Asset)
}
