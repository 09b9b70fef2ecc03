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

// BySize calls f with each group of equal size in a list that is ordered by size: only objects of
// the same size can be identical. A group is valid until f returns.
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

// A Group contains deleted and new objects.
type Group struct{ Deleted, New []state.Candidate }

// ByContent returns a group for each content that both deleted and new objects have, in the order
// of the new objects. The argument contains the contents of the new objects.
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

// Pair matches identical deleted and new objects: first those whose keys differ in case only, then
// those with the longest common ending of their keys, and then a last pair if one is left on each
// side. Other new objects are ambiguous if a deleted object is left.
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

// pairBy matches the objects with the same sign if no other object has it, and returns the others.
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

// mostParts returns the number of segments of the longest key.
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

// endOf returns the last segments of a key, up to a number of them. It normalizes Unicode, because
// a library that was copied between systems has names in another form.
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
