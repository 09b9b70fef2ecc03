package migrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assetferry/sources"
)

// A Wave is a part of a source that is migrated by runs of its own: with a plan, an approval, a
// verification and a redirect map for itself. An object belongs to a wave if its key is in one of
// the folders, matches an Include glob, and matches no Exclude glob. An empty list of folders or
// Include globs has all keys.
//
// A wave is a rule of its runs and nothing else: the state database has one receipt for each object,
// whichever wave uploaded it. So an object that goes from one wave to another stays one asset.
type Wave struct {
	Name    string   `json:"name"`
	Folders []string `json:"folders,omitempty"` // without slashes at their ends
	Include []string `json:"include,omitempty"` // globs; see Match
	Exclude []string `json:"exclude,omitempty"` // globs; beat Include

	// Freeze is the time from which the owners change no object of the wave; zero if there is none.
	Freeze time.Time `json:"freeze,omitzero"`
}

// Has reports whether an object belongs to the wave. Entries that hide objects belong to each wave
// that may have some of these. The nil wave is the whole source.
func (w *Wave) Has(o sources.Object) bool {
	switch {
	case w == nil:
		return true
	case o.Obstacle.HidesObjects():
		return w.mayHaveIn(o.Key)
	}
	return w.HasKey(o.Key)
}

// HasKey reports whether an object with this key belongs to the wave.
func (w *Wave) HasKey(key sources.Key) bool {
	switch {
	case w == nil:
		return true
	case len(w.Folders) > 0 && !slices.ContainsFunc(w.Folders, func(folder string) bool { return isIn(folder, key) }):
		return false
	case len(w.Include) > 0 && !MatchAny(w.Include, key):
		return false
	}
	return !MatchAny(w.Exclude, key)
}

// mayHaveIn reports whether objects whose keys begin with a prefix may belong to the wave.
func (w *Wave) mayHaveIn(prefix sources.Key) bool {
	reaches := func(folder string) bool {
		return isIn(folder, prefix) || strings.HasPrefix(folder+"/", string(prefix))
	}
	return (len(w.Folders) == 0 || slices.ContainsFunc(w.Folders, reaches)) && !MatchAny(w.Exclude, prefix)
}

func isIn(folder string, key sources.Key) bool {
	rest, ok := strings.CutPrefix(string(key), folder)
	return ok && strings.HasPrefix(rest, "/")
}

// IsFrozen reports whether an object changed after the freeze of the wave.
func (w *Wave) IsFrozen(o sources.Object) bool {
	return w != nil && !w.Freeze.IsZero() && o.Time.After(w.Freeze)
}

// Label returns the name of the wave, and "" for the whole source.
func (w *Wave) Label() string {
	if w == nil {
		return ""
	}
	return w.Name
}

// Text returns the definition of the wave for people.
func (w *Wave) Text() string {
	if w == nil {
		return "not set"
	}
	text := w.Name
	for _, part := range []struct {
		name string
		list []string
	}{{"folders", w.Folders}, {"include", w.Include}, {"exclude", w.Exclude}} {
		if len(part.list) > 0 {
			text += fmt.Sprintf(", %s %s", part.name, strings.Join(part.list, " "))
		}
	}
	return text
}

// unfrozen returns the wave without its freeze, which is no rule for a plan.
func (w *Wave) unfrozen() *Wave {
	if w == nil {
		return nil
	}
	v := *w
	v.Freeze = time.Time{}
	return &v
}

// A WaveOverlapError means that several waves have the same objects.
type WaveOverlapError struct {
	Objects int64
	Key     sources.Key // of the first one
	Waves   []string    // that have it
}

func (e *WaveOverlapError) Error() string {
	return fmt.Sprintf("waves overlap: %s in more than one wave, the first is %s (%s); nothing was uploaded",
		countedAre(e.Objects), e.Key, strings.Join(e.Waves, ", "))
}

// Remedy returns the next step.
func (e *WaveOverlapError) Remedy() string {
	return "change the waves in the configuration, so that each object is in one of them (see assetferry help cutover)"
}

// countedAre returns "1 object is" or "2 objects are".
func countedAre(n int64) string {
	if n == 1 {
		return "1 object is"
	}
	return Grouped(n) + " objects are"
}

// Waves are the waves of one source, in their order.
type Waves []*Wave

// Named returns the wave with a name; nil if there is none.
func (all Waves) Named(name string) *Wave {
	for _, w := range all {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// Names returns the names of the waves.
func (all Waves) Names() []string {
	names := make([]string, len(all))
	for n, w := range all {
		names[n] = w.Name
	}
	return names
}

// With returns the waves with one in the place of that of the same name, or at their end.
func (all Waves) With(w *Wave) Waves {
	with := slices.Clone(all)
	if at := slices.IndexFunc(with, func(o *Wave) bool { return o.Name == w.Name }); at >= 0 {
		with[at] = w
		return with
	}
	return append(with, w)
}

// Of returns the waves that an object belongs to.
func (all Waves) Of(o sources.Object) (of Waves) {
	for _, w := range all {
		if w.Has(o) {
			of = append(of, w)
		}
	}
	return of
}

// WaveFindings are what a listing for a wave shows besides its plan.
type WaveFindings struct {
	Unassigned WaveSum // objects in no wave
	Frozen     WaveSum // objects that changed after the freeze of the wave
	Elsewhere  WaveSum // keys of Rules.FilesFrom that do not belong to the wave, without bytes
}

// shownInWaves is how many keys a WaveSum has.
const shownInWaves = 5

// A WaveSum sums up some objects.
type WaveSum struct {
	Objects, Bytes int64
	First          []sources.Key // the first few
}

// Add adds an object.
func (s *WaveSum) Add(o sources.Object) {
	s.Objects, s.Bytes = s.Objects+1, s.Bytes+o.Size
	if len(s.First) < shownInWaves {
		s.First = append(s.First, o.Key)
	}
}
