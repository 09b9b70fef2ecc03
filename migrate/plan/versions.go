package plan

import (
	"context"
	"encoding/hex"
	"slices"

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
	if checksums, ok := v.Source.(sources.VersionChecksums); ok && known != nil && len(known.Checksum) > 0 {
		return v.findByContent(ctx, source, checksums, i, *known)
	}
	h := state.History{Key: i.Key}
	var newer []sources.Object // than the known version, the newest first
	isNewer, isEnough := true, false
	for o, err := range source.Versions(ctx, i.Object) {
		if err != nil {
			return err
		}
		h.Older++
		h.OlderBytes += o.Size
		if known != nil && v.isKnown(o, known.Object) {
			isNewer = false // the asset has it
		}
		if isNewer && !isEnough && !movesAsset(i) {
			newer = append(newer, o)
			isEnough = known == nil && v.isEnough(i.Object, newer)
		}
	}
	if known != nil && isNewer {
		newer = newer[:v.knownByContent(newer, known.Object)]
	}
	return v.save(ctx, i, h, newer)
}

// save stores the history of an object with the versions that the asset does not have, the newest first.
func (v *olderVersions) save(ctx context.Context, i state.Item, h state.History, newer []sources.Object) error {
	if h.Older == 0 {
		return nil
	}
	h.Bring = v.bring(i.Object, newer)
	slices.Reverse(h.Bring) // the oldest first
	v.batch = append(v.batch, h)
	if len(v.batch) < migrate.PageSize {
		return nil
	}
	return v.flush(ctx)
}

// isEnough reports whether the rules allow no more versions. To be quick, it looks only at numbers of
// versions that are powers of two.
func (v *olderVersions) isEnough(object sources.Object, newer []sources.Object) bool {
	n := len(newer)
	return n&(n-1) == 0 && len(v.bring(object, newer)) == v.Rules.Versions-1
}

// bring chooses which of some older versions of an object are brought, the newest first: at most as many
// as the rules say, and none that has the content of the next one. An archived one stays behind. Another
// one that cannot be read is tried: its object then fails, or names it as omitted.
func (v *olderVersions) bring(object sources.Object, older []sources.Object) (all []sources.Object) {
	next := object
	for _, o := range older {
		if len(all) == v.Rules.Versions-1 {
			break
		}
		if o.Obstacle != sources.Archived && !(o.Size == next.Size && v.sameContent(o, next)) {
			all = append(all, o)
		}
		next = o
	}
	return all
}

// knownByContent returns the position of the version that an asset has, among versions of which none has
// its time: some services change the time of a version that is replaced. It returns their number if
// there is none.
func (v *olderVersions) knownByContent(newer []sources.Object, known sources.Object) int {
	for at, o := range slices.Backward(newer) {
		if o.Size == known.Size && v.sameContent(o, known) {
			return at
		}
	}
	return len(newer)
}

// sameContent reports whether version tags say that two versions have the same content.
func (v *olderVersions) sameContent(a, b sources.Object) bool {
	return v.Source.Traits().ContentTags && a.VersionTag != "" && a.VersionTag == b.VersionTag
}

func (v *olderVersions) flush(ctx context.Context) error {
	if len(v.batch) == 0 {
		return nil
	}
	err := v.State.SaveHistories(ctx, v.run.Num, v.batch)
	v.batch = v.batch[:0]
	return err
}

// findByContent stores the history of an object by the contents that its asset has had.
func (v *olderVersions) findByContent(ctx context.Context, source sources.Historian, checksums sources.VersionChecksums, i state.Item, known state.Receipt) error {
	h := state.History{Key: i.Key}
	var all []sources.Object // the newest first
	for o, err := range source.Versions(ctx, i.Object) {
		if err != nil {
			return err
		}
		h.Older++
		h.OlderBytes += o.Size
		all = append(all, o)
	}
	if h.Older == 0 || movesAsset(i) {
		return v.save(ctx, i, h, nil)
	}
	revisions, err := v.State.Revisions(ctx, v.run.Pair.ID, known)
	if err != nil {
		return err
	}
	var had, there []string
	for _, r := range revisions {
		had = append(had, hex.EncodeToString(r.Checksum))
	}
	had = append(had, hex.EncodeToString(known.Checksum))
	for _, o := range slices.Backward(all) {
		there = append(there, checksums.Checksum(o))
	}
	isLater := func(n int) bool { return all[len(all)-n].Time.After(known.Time) }
	return v.save(ctx, i, h, all[:len(all)-knownContents(had, there, isLater)])
}

// knownContents returns how many of the contents at the source, from the oldest on, an asset has had. Both
// lists begin with the oldest content. A content may occur several times: then the contents before it
// decide, and among several places with equally many of them the last one before a time, or the first.
// The source may lack the newest contents of the asset.
func knownContents(had, there []string, isLater func(n int) bool) int {
	for ; len(had) > 0; had = had[:len(had)-1] {
		found, most := 0, 0
		for n := len(there); n > 0; n-- {
			alike := 0
			for alike < min(len(had), n) && had[len(had)-1-alike] == there[n-1-alike] {
				alike++
			}
			if alike > most || alike == most && most > 0 && isLater(found) {
				found, most = n, alike
			}
		}
		if most > 0 {
			return found
		}
	}
	return 0
}

// knownVersion returns the version that the asset of an item has; nil if the item creates its asset.
func (v *olderVersions) knownVersion(ctx context.Context, i state.Item) (*state.Receipt, error) {
	if i.Action != state.Replace {
		return nil, nil
	}
	r, err := v.State.Receipt(ctx, v.run.Pair.ID, migrate.ReplacedKey(i))
	return &r, err
}

// movesAsset reports whether an item gets the asset of another key, or restores the content
// that an asset had. It then has only the current version.
func movesAsset(i state.Item) bool {
	return i.Action == state.Replace && (i.PreviousKey != "" && i.PreviousKey != i.Key || restores(i))
}

// isKnown reports whether an older version is one that the asset has, or is older than that: the
// service would otherwise have revisions out of order.
func (v *olderVersions) isKnown(o, known sources.Object) bool {
	if order, ok := v.Source.(sources.VersionOrder); ok && !order.IsNewer(o, known) {
		return true
	}
	precision := v.Source.Traits().Precision
	older := !o.Time.IsZero() && !known.Time.IsZero() && known.Time.Sub(o.Time) >= max(precision, 1)
	return older || sameFingerprint(o, known, precision)
}

// historyInterrupted reports whether an asset has an older version of its object, because a run that
// brings versions was interrupted: such an asset still lacks its metadata.
func (p *planning) historyInterrupted(ctx context.Context, r state.Receipt) (bool, error) {
	if !p.Rules.BringsVersions() || !r.MetadataPending {
		return false, nil
	}
	return p.State.HistoryInterrupted(ctx, p.run.Pair.ID, r.Asset)
}
