package verify

import (
	"slices"

	"assetferry/migrate"
	"assetferry/state"
)

// A scope is the wave that a verification covers, or all of the source.
type scope struct {
	*migrate.Wave // nil: all
	places        map[state.Container]bool
	covered       []state.KeyRange // ascending
	ends          bool             // the last range has ended
}

// add notes an asset of the wave, and reports whether it is one. Assets come in the order of their
// keys.
func (s *scope) add(e state.Expected) bool {
	switch {
	case s.Wave == nil:
		return true
	case !s.HasKey(e.Key):
		s.ends = true
		return false
	case s.ends || len(s.covered) == 0:
		s.covered = append(s.covered, state.KeyRange{First: e.Key, Last: e.Key})
	default:
		s.covered[len(s.covered)-1].Last = e.Key
	}
	s.ends = false
	s.places[state.Container{Category: e.Category, Folder: e.Folder}] = true
	return true
}

// containersOf returns the containers with assets of the wave.
func (s *scope) containersOf(all []state.Container) []state.Container {
	if s.Wave == nil {
		return all
	}
	return slices.DeleteFunc(all, func(c state.Container) bool { return !s.places[c] })
}
