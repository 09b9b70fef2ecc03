package plan

import (
	"context"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/migrate/plan/identical"
	"assetferry/sources"
	"assetferry/state"
)

// followedKeys are objects that were deleted and go by another key now.
type followedKeys map[sources.Key]bool

// unreadSizes contains the sizes of new objects that may be deleted ones under another key, and
// whose contents cannot be read.
type unreadSizes map[int64]bool

// moves finds objects of which only the key changed.
type moves struct {
	*planning
	*decisions
	successions *successions
	unread      unreadSizes
}

// do finds, among the new objects, those of which only the key changed: a deleted object has the
// same content. Their assets are moved, and nothing is uploaded.
//
// Only objects of the same size can be identical, so memory holds one size at a time. If several
// objects are identical, a pair is matched if the keys differ in case only, then if they have the
// longest common ending and no other pair has one as long, and then if no other objects are left.
// Otherwise the match is ambiguous, and none of them moves.
func (m *moves) do(ctx context.Context) error {
	if !m.Rules.FollowsDeletions() {
		return nil
	}
	equals := m.State.MoveCandidates(ctx, m.run.Num, m.run.Pair.ID, string(migrate.ObstacleAbsent))
	if err := identical.BySize(equals, func(c state.Candidate) int64 { return c.Size }, func(group []state.Candidate) error { return m.matchGroup(ctx, group) }); err != nil {
		return err
	}
	return m.flush(ctx)
}

// matchGroup matches objects of one size.
func (m *moves) matchGroup(ctx context.Context, group []state.Candidate) error {
	var of identical.Group
	for _, c := range group {
		if c.Deleted {
			of.Deleted = append(of.Deleted, c)
		} else {
			of.New = append(of.New, c)
		}
	}
	if len(of.Deleted) == 0 || len(of.New) == 0 {
		return nil
	}
	contents, unread, err := m.contentsOf(ctx, of)
	if err != nil {
		return err
	}
	for n, why := range unread {
		if why == nil {
			continue
		}
		if err := m.leave(ctx, of.New[n].Item, why); err != nil {
			return err
		}
	}
	for _, equal := range of.ByContent(contents) {
		if err := m.follow(ctx, equal); err != nil {
			return err
		}
	}
	return nil
}

// leave decides about a new object that may be a deleted object under another key, but whose
// content cannot be read. It is not uploaded: it may become readable before the upload, and would
// then get a second asset. An object whose retries are exhausted remains so.
func (m *moves) leave(ctx context.Context, i state.Item, why error) error {
	m.unread[i.Size] = true
	if i.State == state.ItemRetriesExhausted {
		return nil
	}
	m.successions.places.withdraw()
	migrate.SetDecision(&i, state.Skip, migrate.ReasonUnreadable)
	class, _ := retry.Classify(why)
	i.Class, i.Error = string(class), why.Error()
	return m.store(ctx, i)
}

// contentsOf returns the checksums of new objects, or the errors of those that cannot be read.
// Objects with the same version tag are not read. Different version tags do not mean different
// content: the tags of encrypted or multipart objects are not computed from the content, but may
// look as if they were.
func (m *moves) contentsOf(ctx context.Context, of identical.Group) (contents []string, unread []error, err error) {
	byTag := map[string]string{}
	for _, c := range of.Deleted {
		if m.identifiesContent(c.VersionTag) {
			byTag[c.VersionTag] = string(c.Checksum)
		}
	}
	contents, unread = make([]string, len(of.New)), make([]error, len(of.New))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(m.Concurrency)
	for n, c := range of.New {
		if contents[n] = byTag[c.VersionTag]; contents[n] != "" {
			continue
		}
		g.Go(func() error {
			checksum, err := inventory.ChecksumOfObject(parallel, m.Source, c.Item.Object)
			if parallel.Err() != nil {
				return context.Cause(parallel)
			}
			if migrate.HasClass(err, retry.Fatal) {
				return err
			}
			contents[n], unread[n] = string(checksum), err
			return nil
		})
	}
	return contents, unread, g.Wait()
}

// follow decides about objects with the same content, some of which were deleted and some of which
// are new.
func (m *moves) follow(ctx context.Context, of identical.Group) error {
	pairs, ambiguous := of.Pair()
	for _, p := range pairs {
		i, err := m.successions.become(ctx, p)
		if err != nil {
			return err
		}
		if err := m.store(ctx, i); err != nil {
			return err
		}
	}
	for _, c := range ambiguous {
		i := c.Item
		if i.State == state.ItemRetriesExhausted {
			continue
		}
		migrate.SetDecision(&i, state.Create, migrate.ReasonSeveralMoveCandidates)
		if err := m.store(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// successions decide about objects that go by another key now.
type successions struct {
	*planning
	places   *placements
	followed followedKeys
}

// become decides about a new object that has the content of a deleted one. If its retries are
// exhausted, it stays so: that its asset cannot be moved does not mean that the object was deleted.
func (s *successions) become(ctx context.Context, m identical.Move) (state.Item, error) {
	i := m.New.Item
	can, err := s.canBecome(ctx, m)
	if can {
		i.PreviousKey, i.Asset, i.Checksum = m.Deleted.Key, m.Deleted.Asset, m.Deleted.Checksum
		s.followed[i.PreviousKey] = true
	}
	switch retriesExhausted := i.State == state.ItemRetriesExhausted; {
	case can && retriesExhausted:
		migrate.SetDecision(&i, state.Move, migrate.Reason(i.Reason))
	case can:
		migrate.SetDecision(&i, state.Move, migrate.ReasonMoved)
		s.places.withdraw()
	case !retriesExhausted:
		migrate.SetDecision(&i, state.Create, migrate.ReasonCategoryFixed)
	}
	return i, err
}

// canBecome reports whether the asset of a deleted object can get the place and the name of a new
// one. A category rejects extensions that it does not allow. So for a move to another category, the
// old extension must be allowed there, or the new one in the present category.
func (s *successions) canBecome(ctx context.Context, m identical.Move) (bool, error) {
	r, err := s.State.Receipt(ctx, s.run.Pair.ID, m.Deleted.Key)
	if err != nil || r.Category == m.New.Category {
		return err == nil, err
	}
	if err := s.places.need(ctx); err != nil {
		return false, err
	}
	_, extension := migrate.SplitName(m.New.Name)
	return s.places.placer.Allows(m.New.Category, r.Extension) || s.places.placer.Allows(r.Category, extension), nil
}
