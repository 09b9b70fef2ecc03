// Package identical shows which objects have identical content, and of those which were deleted and new
// which has become which.
package identical

import (
	"iter"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// BySize passes what has one size to f, group by group, of a list in the order of sizes: only
// such objects can be identical. A group is good until f returns.
func BySize[T any](list iter.Seq2[T, error], size func(T) int64, f func(group []T) error) error {
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

// A Group is of objects that were deleted and of new ones.
type Group struct{ Deleted, New []state.Candidate }

// ByContent returns a group for each content that objects which were deleted and new ones have, in the
// order of the new ones. The contents of these are given.
func (g Group) ByContent(contents []string) (groups []Group) {
	byContent := map[string]*Group{}
	for _, c := range g.Deleted {
		content := string(c.Checksum)
		if byContent[content] == nil {
			byContent[content] = &Group{}
		}
		byContent[content].Deleted = append(byContent[content].Deleted, c)
	}
	var inOrder []*Group // so that the plan is always the same
	for n, c := range g.New {
		equal := byContent[contents[n]]
		if equal == nil {
			continue
		}
		if len(equal.New) == 0 {
			inOrder = append(inOrder, equal)
		}
		equal.New = append(equal.New, c)
	}
	for _, equal := range inOrder {
		groups = append(groups, *equal)
	}
	return groups
}

// A Move is an object under its old key and its new one.
type Move struct{ Deleted, New state.Candidate }

// Pair shows which of equal objects has become which: those whose keys differ in case only,
// those whose keys end alike, the longer the better, and what is left on both sides if that is
// one each. New objects are ambiguous if several are left that any of those which were deleted may
// have become.
func (g Group) Pair() (pairs []Move, ambiguous []state.Candidate) {
	pairs, g = g.pairBy(func(key sources.Key) (string, bool) { return migrate.FoldName(string(key)), true })
	for parts := mostParts(g); parts > 0 && len(g.Deleted) > 0 && len(g.New) > 0; parts-- {
		more, rest := g.pairBy(func(key sources.Key) (string, bool) { return endOf(string(key), parts) })
		pairs, g = append(pairs, more...), rest
	}
	switch {
	case len(g.Deleted) == 1 && len(g.New) == 1:
		return append(pairs, Move{g.Deleted[0], g.New[0]}), nil
	case len(g.Deleted) > 0:
		return pairs, g.New
	}
	return pairs, nil
}

// pairBy pairs those of which no other process has the same sign, and gives the others.
func (g Group) pairBy(sign func(key sources.Key) (string, bool)) (pairs []Move, rest Group) {
	deleted, new := bySign(g.Deleted, sign), bySign(g.New, sign)
	isPair := func(c state.Candidate) (s string, is bool) {
		s, has := sign(c.Key)
		return s, has && len(new[s]) == 1 && len(deleted[s]) == 1
	}
	for _, c := range g.New {
		if s, is := isPair(c); is {
			pairs = append(pairs, Move{deleted[s][0], c})
		} else {
			rest.New = append(rest.New, c)
		}
	}
	for _, c := range g.Deleted {
		if _, is := isPair(c); !is {
			rest.Deleted = append(rest.Deleted, c)
		}
	}
	return pairs, rest
}

// mostParts is how many names the longest of the keys has, folders included.
func mostParts(g Group) (n int) {
	for _, c := range slices.Concat(g.Deleted, g.New) {
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
