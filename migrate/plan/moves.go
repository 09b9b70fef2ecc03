package plan

import (
	"context"
	"iter"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// followedKeys are objects that are gone and go by another key now.
type followedKeys map[sources.Key]bool

// moves are objects that only got another key.
type moves struct {
	*planning
	*decisions
	successions *successions
}

// do finds among what is new the objects that have only got another key: those
// whose content is that of an object that is gone. Their assets are moved then, and nothing
// is sent.
//
// Only objects of one size can be equal, so there is never more in memory than those. Which
// of several equal ones has become which is told by keys that differ in case only, and then by
// the longest end that keys have in common, as long as it is the only one; else nobody can
// tell, and none of them moves.
func (m *moves) do(ctx context.Context) error {
	if !m.Rules.FollowsGone() {
		return nil
	}
	equals := m.Journal.MoveCandidates(ctx, m.run.Num, m.run.Pair.ID, string(migrate.ObstacleAbsent))
	if err := eachSize(equals, func(c state.Candidate) int64 { return c.Size }, func(group []state.Candidate) error { return m.matchGroup(ctx, group) }); err != nil {
		return err
	}
	return m.flush(ctx)
}

// eachSize passes what has one size to f, group by group, of a list in the order of sizes. A
// group is good until f returns.
func eachSize[T any](list iter.Seq2[T, error], size func(T) int64, f func(group []T) error) error {
	var group []T
	for one, err := range list {
		if err != nil {
			return err
		}
		if len(group) > 0 && size(group[0]) != size(one) {
			if err := f(group); err != nil {
				return err
			}
			group = group[:0]
		}
		group = append(group, one)
	}
	return f(group)
}

// twins are objects of one content.
type twins struct{ gone, new []state.Candidate }

// matchGroup matches objects of one size.
func (m *moves) matchGroup(ctx context.Context, group []state.Candidate) error {
	var of twins
	for _, c := range group {
		if c.Gone {
			of.gone = append(of.gone, c)
		} else {
			of.new = append(of.new, c)
		}
	}
	if len(of.gone) == 0 || len(of.new) == 0 {
		return nil
	}
	contents, err := m.contentsOf(ctx, of)
	if err != nil {
		return err
	}
	byContent := map[string]*twins{}
	for _, c := range of.gone {
		content := string(c.Digest)
		if byContent[content] == nil {
			byContent[content] = &twins{}
		}
		byContent[content].gone = append(byContent[content].gone, c)
	}
	var inOrder []*twins // so that the plan is always the same
	for n, c := range of.new {
		equal := byContent[contents[n]]
		if equal == nil {
			continue
		}
		if len(equal.new) == 0 {
			inOrder = append(inOrder, equal)
		}
		equal.new = append(equal.new, c)
	}
	for _, equal := range inOrder {
		if err := m.follow(ctx, *equal); err != nil {
			return err
		}
	}
	return nil
}

// contentsOf gives the digests of new objects; "" for those that cannot be read. What a
// version tag tells need not be read. That tags differ tells nothing: those of objects that are
// encrypted, or came in parts, are not made from the content, and need not look otherwise.
func (m *moves) contentsOf(ctx context.Context, of twins) ([]string, error) {
	byTag := map[string]string{}
	for _, c := range of.gone {
		if m.provesContent(c.VersionTag) {
			byTag[c.VersionTag] = string(c.Digest)
		}
	}
	contents := make([]string, len(of.new))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(m.Concurrency)
	for n, c := range of.new {
		if contents[n] = byTag[c.VersionTag]; contents[n] != "" {
			continue
		}
		g.Go(func() error {
			digest, err := inventory.DigestOfObject(parallel, m.Source, c.Item.Object)
			if parallel.Err() != nil {
				return context.Cause(parallel)
			}
			if err == nil { // else sending it will tell what is wrong with it
				contents[n] = string(digest)
			}
			return nil
		})
	}
	return contents, g.Wait()
}

// follow decides what becomes of objects of one content, some of which are gone and some
// new.
func (m *moves) follow(ctx context.Context, of twins) error {
	pairs, ambiguous := pairUp(of)
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
		if i.State == state.ItemParked {
			continue
		}
		migrate.SetDecision(&i, state.Create, migrate.ReasonAmbiguous)
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

// become decides about a new object whose content is that of one which is gone. If it is
// parked, it stays so: that its asset cannot be moved does not mean that the object is gone.
func (s *successions) become(ctx context.Context, m movement) (state.Item, error) {
	i := m.new.Item
	can, err := s.canBecome(ctx, m)
	if can {
		i.Origin, i.Asset, i.Digest = m.gone.Key, m.gone.Asset, m.gone.Digest
		s.followed[i.Origin] = true
	}
	switch parked := i.State == state.ItemParked; {
	case can && parked:
		migrate.SetDecision(&i, state.Move, migrate.Reason(i.Reason))
	case can:
		migrate.SetDecision(&i, state.Move, migrate.ReasonMoved)
		s.places.withdraw()
	case !parked:
		migrate.SetDecision(&i, state.Create, migrate.ReasonOtherKind)
	}
	return i, err
}

// canBecome reports whether the asset of an object that is gone can get the place and the
// name of a new one. No category takes an extension that it does not allow, so on the way
// into another one either the old extension has to be allowed there, or the new one where
// the asset comes from.
func (s *successions) canBecome(ctx context.Context, m movement) (bool, error) {
	r, err := s.Journal.Receipt(ctx, s.run.Pair.ID, m.gone.Key)
	if err != nil || r.Category == m.new.Category {
		return err == nil, err
	}
	if err := s.places.need(ctx); err != nil {
		return false, err
	}
	_, extension := migrate.SplitName(m.new.Name)
	return s.places.placer.Allows(m.new.Category, r.Extension) || s.places.placer.Allows(r.Category, extension), nil
}

// A movement is an object under its old key and its new one.
type movement struct{ gone, new state.Candidate }

// pairUp tells which of equal objects has become which: those whose keys differ in case only,
// those whose keys end alike, the longer the better, and what is left on both sides if that is
// one each. New objects are ambiguous if several are left that any of those which are gone may
// have become.
func pairUp(of twins) (pairs []movement, ambiguous []state.Candidate) {
	pairs, of = of.pairBy(func(key sources.Key) (string, bool) { return migrate.FoldName(string(key)), true })
	for parts := mostParts(of); parts > 0 && len(of.gone) > 0 && len(of.new) > 0; parts-- {
		more, rest := of.pairBy(func(key sources.Key) (string, bool) { return endOf(string(key), parts) })
		pairs, of = append(pairs, more...), rest
	}
	switch {
	case len(of.gone) == 1 && len(of.new) == 1:
		return append(pairs, movement{of.gone[0], of.new[0]}), nil
	case len(of.gone) > 0:
		return pairs, of.new
	}
	return pairs, nil
}

// pairBy pairs those of which nobody else has the same sign, and gives the others.
func (of twins) pairBy(sign func(key sources.Key) (string, bool)) (pairs []movement, rest twins) {
	gone, new := bySign(of.gone, sign), bySign(of.new, sign)
	isPair := func(c state.Candidate) (s string, is bool) {
		s, has := sign(c.Key)
		return s, has && len(new[s]) == 1 && len(gone[s]) == 1
	}
	for _, c := range of.new {
		if s, is := isPair(c); is {
			pairs = append(pairs, movement{gone[s][0], c})
		} else {
			rest.new = append(rest.new, c)
		}
	}
	for _, c := range of.gone {
		if _, is := isPair(c); !is {
			rest.gone = append(rest.gone, c)
		}
	}
	return pairs, rest
}

// mostParts is how many names the longest of the keys has, folders included.
func mostParts(of twins) (n int) {
	for _, c := range slices.Concat(of.gone, of.new) {
		n = max(n, strings.Count(string(c.Key), "/")+1)
	}
	return n
}

func bySign(all []state.Candidate, sign func(key sources.Key) (string, bool)) map[string][]state.Candidate {
	signs := map[string][]state.Candidate{}
	for _, c := range all {
		if s, has := sign(c.Key); has {
			signs[s] = append(signs[s], c)
		}
	}
	return signs
}

// endOf gives the last names of a key, so many of them if it has as many. A library that was
// copied between systems has the same names in another Unicode form.
func endOf(key string, parts int) (end string, ok bool) {
	key = migrate.NormalName(key)
	at := len(key)
	for range parts {
		if at < 0 {
			return "", false
		}
		at = strings.LastIndexByte(key[:at], '/')
	}
	return key[at+1:], true
}
