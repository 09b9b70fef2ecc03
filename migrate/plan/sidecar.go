package plan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/internal/sorting"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/sources"
	"assetferry/state"
)

// A chain contains the listed objects that the next key may be a sidecar of. In key order, all keys
// between an object and its sidecar have the common prefix of both. So there are never more of them
// than a key has bytes.
type chain struct {
	keys  []string
	stems []string // keys without their extensions, but with the dot
}

// pass adds an object that is no sidecar, and removes those that no later sidecar can belong to.
func (c *chain) pass(key sources.Key) {
	c.forget(string(key))
	c.keys = append(c.keys, string(key))
	if stem, ok := metadata.StemOf(string(key)); ok && !slices.Contains(c.stems, stem+".") {
		c.stems = append(c.stems, stem+".")
	}
}

func (c *chain) forget(before string) {
	passed := func(begin string) bool { return !strings.HasPrefix(before, begin) }
	c.keys, c.stems = slices.DeleteFunc(c.keys, passed), slices.DeleteFunc(c.stems, passed)
}

// has reports whether a sidecar describes one of the objects.
func (c *chain) has(sidecar string, o metadata.Owner) bool {
	c.forget(sidecar)
	return slices.ContainsFunc(c.keys, func(key string) bool { return slices.Contains(o.Keys, key) }) ||
		o.Begin != "" && slices.Contains(c.stems, o.Begin)
}

func asSidecar(i state.Item) state.Sidecar {
	folded, _ := metadata.FoldSidecar(string(i.Key))
	return state.Sidecar{Object: i.Object, Folded: folded, Pending: true}
}

// possibleSidecars handles listed files that may be sidecars of other objects.
type possibleSidecars struct {
	*planning
	*decisions
	listing *listing
}

// do separates sidecars from objects if that was impossible while they were listed.
func (m *possibleSidecars) do(ctx context.Context) error {
	if !m.FollowsSidecars() || m.listing.decided && !m.listing.possibleSidecars {
		return nil
	}
	for page, err := range migrate.Pages(m.State.Items(ctx, m.run.Num), migrate.PageSize) {
		if err != nil {
			return err
		}
		reported, err := m.recordSidecars(ctx, page)
		if err != nil {
			return err
		}
		for _, i := range reported {
			if err := m.store(ctx, i); err != nil {
				return err
			}
		}
	}
	return m.flush(ctx)
}

// recordSidecars returns the items that are sidecars of other objects. It stores them as sidecars
// before their items are decided, because a resumed run does not check them again.
func (m *possibleSidecars) recordSidecars(ctx context.Context, page []state.Item) (reported []state.Item, err error) {
	var asked []sources.Key
	for _, i := range page {
		if isUnknown(i) {
			asked = append(asked, i.Key)
		}
	}
	owners, err := m.owners(ctx, asked)
	if err != nil {
		return nil, err
	}
	var found []state.Sidecar
	for _, i := range page {
		if !isUnknown(i) || len(owners[i.Key]) == 0 {
			continue
		}
		found = append(found, asSidecar(i))
		migrate.SetDecision(&i, state.Skip, migrate.ReasonSidecar)
		reported = append(reported, i)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return reported, m.State.SaveSidecars(ctx, m.run.Num, found)
}

// isUnknown reports whether an item may be a sidecar.
func isUnknown(i state.Item) bool {
	return i.Obstacle == maybeSidecar && i.State == state.ItemStaged
}

// owners returns the objects that each of some sidecars belongs to. An object may have the name of
// a sidecar if there is no object that it would belong to.
func (p *planning) owners(ctx context.Context, sidecars []sources.Key) (map[sources.Key][]state.SidecarOwner, error) {
	if len(sidecars) == 0 {
		return nil, nil
	}
	asked := map[sources.Key]metadata.Owner{}
	var keys, begins []string
	for _, sidecar := range sidecars {
		owner, _ := metadata.OwnerOf(string(sidecar))
		asked[sidecar] = owner
		if keys = append(keys, owner.Keys...); owner.Begin != "" {
			begins = append(begins, owner.Begin)
		}
	}
	there, err := p.State.SidecarOwners(ctx, p.run.Num, p.run.Pair.ID, keys, begins)
	if err != nil {
		return nil, err
	}
	owners := map[sources.Key][]state.SidecarOwner{}
	for sidecar, owner := range asked {
		owners[sidecar] = described(owner, there)
	}
	return owners, p.skipSidecars(ctx, owners)
}

// described selects the objects that a sidecar belongs to, in key order.
func described(by metadata.Owner, objects []state.SidecarOwner) (all []state.SidecarOwner) {
	find := func(key sources.Key) (at int, found bool) {
		return slices.BinarySearchFunc(objects, key, func(o state.SidecarOwner, key sources.Key) int { return strings.Compare(string(o.Key), string(key)) })
	}
	for _, key := range by.Keys {
		if at, found := find(sources.Key(key)); found {
			all = append(all, objects[at])
		}
	}
	if by.Begin == "" {
		return all
	}
	for at, _ := find(sources.Key(by.Begin)); at < len(objects) && strings.HasPrefix(string(objects[at].Key), by.Begin); at++ {
		if o := objects[at]; by.Describes(string(o.Key)) && !slices.Contains(by.Keys, string(o.Key)) {
			all = append(all, o)
		}
	}
	return all
}

// skipSidecars removes objects that are sidecars of other objects themselves.
func (p *planning) skipSidecars(ctx context.Context, described map[sources.Key][]state.SidecarOwner) error {
	isAnother := func(o state.SidecarOwner) bool {
		_, also := metadata.OwnerOf(string(o.Key))
		return also && !o.Arrived
	}
	var others []sources.Key
	for _, all := range described {
		for _, o := range all {
			if isAnother(o) {
				others = append(others, o.Key)
			}
		}
	}
	theirs, err := p.owners(ctx, others) // their names are shorter, so the recursion ends
	for sidecar := range described {
		described[sidecar] = slices.DeleteFunc(described[sidecar], func(o state.SidecarOwner) bool { return isAnother(o) && len(theirs[o.Key]) > 0 })
	}
	return err
}

// changedSidecars handles sidecars whose present version no run has processed.
type changedSidecars struct {
	*planning
	*decisions
	listing *listing
}

// do updates the metadata of assets whose sidecars changed. An object that is uploaded in this run
// gets its metadata anyway. A sidecar counts as processed only when the run has finished.
func (s *changedSidecars) do(ctx context.Context) error {
	if !s.FollowsSidecars() || s.onlyFailed() != nil || s.listing.claimed {
		return nil
	}
	if s.Approval != nil { // it cannot have more updates than the approved plan
		if known, err := s.State.SumReceipts(ctx, s.run.Pair.ID); err != nil || known.Objects > 0 {
			return err
		}
	}
	if s.listing.unrecorded || s.run.Cursor != "" { // by this process, or by the one that began the listing
		if err := s.RecordSidecars(ctx, s.run); err != nil {
			return err
		}
	}
	for page, err := range migrate.Pages(s.State.PendingSidecars(ctx, s.run.Pair.ID), migrate.PageSize) {
		if err != nil {
			return err
		}
		if err := s.followPage(ctx, page); err != nil {
			return err
		}
	}
	return s.flush(ctx)
}

func (s *changedSidecars) followPage(ctx context.Context, page []state.Sidecar) error {
	var keys []sources.Key
	for _, c := range page {
		keys = append(keys, c.Key)
	}
	owners, err := s.owners(ctx, keys)
	if err != nil {
		return err
	}
	work := sidecarWork{items: map[sources.Key]state.Item{}}
	for _, c := range page {
		if err := s.follow(ctx, c, owners[c.Key], &work); err != nil {
			return err
		}
	}
	claimed := errors.Join(s.State.ClaimSidecars(ctx, s.run.Pair.ID, s.run.Num, work.ours), s.State.ClaimSidecars(ctx, s.run.Pair.ID, 0, work.later))
	if claimed != nil || len(work.items) == 0 {
		return claimed
	}
	return s.addDrift(ctx, inOrder(work.items))
}

// sidecarWork is the work that changed sidecars cause.
type sidecarWork struct {
	ours, later []sources.Key              // sidecars that this run, or a later one, processes
	items       map[sources.Key]state.Item // of the objects that they describe
}

// follow finds the work for one sidecar.
func (s *changedSidecars) follow(ctx context.Context, c state.Sidecar, owners []state.SidecarOwner, work *sidecarWork) error {
	own, others := s.byWave(owners)
	if s.Rules.Wave != nil && len(own) == 0 && (len(others) > 0 || !s.hasKey(c.Key)) {
		return nil // a run of another wave processes it
	}
	updated, another := ownersToUpdate(c, own)
	if elsewhere, _ := ownersToUpdate(c, others); len(elsewhere) > 0 {
		another = true
	}
	if len(updated) > 0 && c.Unread {
		if unread, err := s.recordUnread(ctx, c); unread || err != nil {
			return err
		}
	}
	if another || len(updated) > 0 && s.Rules.Sync == nil {
		work.later = append(work.later, c.Key)
	} else {
		work.ours = append(work.ours, c.Key)
	}
	if s.Rules.Sync == nil {
		return nil
	}
	for _, key := range updated {
		i, err := s.updateItem(ctx, key)
		if err != nil {
			return err
		}
		work.items[key] = i
	}
	return nil
}

// byWave separates the objects of the run from those of other waves.
func (p *planning) byWave(all []state.SidecarOwner) (own, others []state.SidecarOwner) {
	for _, o := range all {
		if p.hasKey(o.Key) {
			own = append(own, o)
		} else {
			others = append(others, o)
		}
	}
	return own, others
}

// ownersToUpdate returns the objects of a sidecar whose assets need a metadata update, and whether
// a later run has to update one. Assets that were written after a run claimed the sidecar are up to
// date, even if that run did not finish.
func ownersToUpdate(c state.Sidecar, owners []state.SidecarOwner) (updated []sources.Key, later bool) {
	for _, o := range owners {
		switch {
		case !o.Arrived && o.Action != state.Move && o.Action != state.Adopt:
		case o.Action == "" && c.Claimed != 0 && o.Run >= c.Claimed:
		case o.Action == "" || o.Action == state.UpdateMetadata:
			updated = append(updated, o.Key)
		case o.Action != state.Create && o.Action != state.Replace:
			later = true
		}
	}
	return updated, later
}

// updateItem returns the item of an unchanged object whose metadata is updated.
func (s *changedSidecars) updateItem(ctx context.Context, key sources.Key) (state.Item, error) {
	r, err := s.State.Receipt(ctx, s.run.Pair.ID, key)
	if err != nil {
		return state.Item{}, err
	}
	i := state.Item{Object: r.Object}
	i.Asset = r.Asset
	action, why := migrate.Decide(migrate.Situation{Memory: migrate.MemorySame, MetadataRefreshed: true}, s.Rules)
	migrate.SetDecision(&i, action, why)
	return i, nil
}

func inOrder(items map[sources.Key]state.Item) []state.Item {
	all := make([]state.Item, 0, len(items))
	for _, i := range items {
		all = append(all, i)
	}
	sorting.By(all, func(a, b state.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return all
}

// recordUnread tries again to read a sidecar that could not be read when an asset should be
// updated by it, and reports it, as of an object, if it cannot be read now either.
func (s *changedSidecars) recordUnread(ctx context.Context, c state.Sidecar) (unread bool, err error) {
	_, err = s.ReadSidecar(ctx, c)
	switch {
	case err == nil, collect.IsMalformedSidecar(err):
		return false, nil
	case ctx.Err() != nil:
		return true, context.Cause(ctx)
	case migrate.HasClass(err, retry.Fatal):
		return true, err
	}
	i, missing := s.State.Item(ctx, s.run.Num, c.Key)
	if errors.Is(missing, state.ErrNotFound) { // it is in a folder that cannot be read
		return true, nil
	} else if missing != nil {
		return true, missing
	}
	migrate.SetDecision(&i, state.Skip, migrate.ReasonUnreadable)
	i.Error = err.Error()
	return true, s.store(ctx, i)
}
