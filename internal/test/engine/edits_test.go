package engine

import (
	"fmt"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// An editing is a world with a service that has a clock, and a source whose objects have the
// metadata that a test sets.
type editing struct {
	*world
	now   *clock
	words *said
	rules migrate.Rules
}

func newEditing(t *testing.T) *editing {
	t.Helper()
	e := &editing{now: &clock{}, words: says(), rules: syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })}
	e.world = newWorld(t, e.now.of)
	return e
}

// day lets a minute pass and runs a sync.
func (e *editing) day() migrate.Plan {
	e.Helper()
	e.now.passes(time.Minute)
	return e.syncWith(e.depsWith(), e.rules)
}

func (e *editing) depsWith() migrate.Deps {
	d := e.depsAt(e.now)
	d.Describer = e.words
	return d
}

// people replaces the content of an asset as a user does, with content of the same size.
func (e *editing) people(key, content string) {
	e.Helper()
	e.now.passes(time.Minute)
	e.replace(key, content)
}

func (e *editing) wantConflict(p migrate.Plan, key, after string) {
	e.Helper()
	if i := e.item(p, key); i.State != state.ItemConflict || i.Reason != string(migrate.ReasonAssetEdited) {
		e.Errorf("%s: %s is %s %s: %s", after, key, i.Action, i.State, i.Reason)
	}
}

// TestEditsAreNotHiddenByWhatIsDoneAfterThem verifies that our own changes to an asset do not hide
// that a user gave it other content of the same size: neither a later change of its object nor its
// deletion overwrites the edit.
func TestEditsAreNotHiddenByWhatIsDoneAfterThem(t *testing.T) {
	t.Parallel()
	const theirs = "A"
	for _, tt := range []struct {
		what string
		do   func(e *editing) (key string)
	}{
		{"described", func(e *editing) string {
			e.words.of["a.txt"] = metadata.Metadata{Description: "A pier"}
			e.day()
			return "a.txt"
		}},
		{"described as it is", func(e *editing) string { // writes nothing
			said := "A pier"
			e.edit("a.txt", assets.Changes{Description: &said})
			e.words.of["a.txt"] = metadata.Metadata{Description: said}
			e.day()
			return "a.txt"
		}},
		{"moved", func(e *editing) string {
			e.source.Delete("a.txt")
			e.put("dir/b.txt", "a")
			e.day()
			return "dir/b.txt"
		}},
		{"moved and described", func(e *editing) string {
			e.source.Delete("a.txt")
			e.put("dir/b.txt", "a")
			e.words.of["dir/b.txt"] = metadata.Metadata{Description: "A pier"}
			e.day()
			return "dir/b.txt"
		}},
		{"described, which is taken back", func(e *editing) string {
			e.words.of["a.txt"] = metadata.Metadata{Description: "A pier"}
			day := e.day()
			e.now.passes(time.Minute)
			e.undoAt(e.now, day)
			e.words.of["a.txt"] = metadata.Metadata{Description: "A quay"}
			return "a.txt"
		}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			e := newEditing(t)
			e.put("a.txt", "a", "stays.txt", "s")
			e.words.of["a.txt"] = metadata.Metadata{Description: "A quay"}
			e.day()
			e.people("a.txt", theirs)
			key := tt.do(e)
			e.put(key, "changed")
			e.wantConflict(e.day(), key, "its object changed")
			e.source.Delete("a.txt")
			e.source.Delete(sources.Key(key))
			e.day()
			e.wantConflict(e.day(), key, "its object is gone")
			if got := e.content(e.assetOf(key)); got != theirs {
				t.Errorf("the asset has %q", got)
			}
		})
	}
}

// TestEditsBetweenAPlanAndItsEnd verifies that edits by users while a plan is applied are not
// hidden either.
func TestEditsBetweenAPlanAndItsEnd(t *testing.T) {
	e := newEditing(t)
	e.put("a.txt", "a")
	e.day()
	e.words.of["a.txt"] = metadata.Metadata{Description: "A pier"}
	e.now.passes(time.Minute)
	deps := e.depsWith()
	deps.Watch = &editor{witness: e.watch, edit: func() { e.people("a.txt", "A") }}
	e.syncWith(deps, e.rules)
	e.put("a.txt", "changed")
	e.wantConflict(e.day(), "a.txt", "its object changed")
}

// TestEditsBeforeAnUndo verifies that an undo keeps what users changed after the run.
func TestEditsBeforeAnUndo(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		e := newEditing(t)
		e.put("a.txt", "a", "stays.txt", "s")
		e.day()
		if moved {
			e.source.Delete("a.txt")
			e.put("dir/b.txt", "a")
		} else {
			e.words.of["a.txt"] = metadata.Metadata{Description: "A pier"}
		}
		day := e.day()
		if moved {
			e.people("dir/b.txt", "A")
			e.source.Delete("dir/b.txt")
		} else {
			e.people("a.txt", "A")
		}
		e.now.passes(time.Minute)
		e.undoAt(e.now, day)
		e.put("a.txt", "changed")
		e.wantConflict(e.day(), "a.txt", "its object changed")
		e.close()
	}
}

// TestEditsThatAreOverwritten verifies that, if the source wins, an edit whose asset has had a
// metadata update since is found and overwritten, and that the asset is then like any other.
func TestEditsThatAreOverwritten(t *testing.T) {
	e := newEditing(t)
	e.rules.Sync.OnDestinationChange = "overwrite"
	e.put("a.txt", "a", "stays.txt", "s")
	e.day()
	e.people("a.txt", "A")
	e.words.of["a.txt"] = metadata.Metadata{Description: "A pier"}
	e.day()
	e.put("a.txt", "changed")
	e.wantStates(e.day(), map[string]int64{"unchanged skipped": 1, "replace done": 1})
	e.rules.Sync.OnDestinationChange = "keep"
	e.put("a.txt", "changed again")
	e.wantStates(e.day(), map[string]int64{"unchanged skipped": 1, "replace done": 1})
}

// An editor calls edit, as a user, when a plan is complete and about to be applied.
type editor struct {
	*witness
	edit func()
}

func (w *editor) Phase(p migrate.Phase, _, _ int64) {
	if p == migrate.PhaseApply {
		w.edit()
	}
}

// TestWordsAreNotHiddenByWhatIsDoneAfterThem verifies that our own changes to an asset do not hide
// metadata that users wrote: it is not trashed with that metadata, whether its content was replaced
// since, or restored by an undo.
func TestWordsAreNotHiddenByWhatIsDoneAfterThem(t *testing.T) {
	t.Parallel()
	theirs := "By hand"
	for name, words := range map[string]assets.Changes{
		"a description": {Description: &theirs},
		"an attribute":  {CustomAttributes: map[string]any{"owner": "Ada"}},
		"nothing":       {},
	} {
		for _, undoes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, taken back %v", name, undoes), func(t *testing.T) {
				e := newEditing(t)
				e.words.of["a.txt"] = metadata.Metadata{Description: "A quay", Tags: []string{"quay"}}
				e.put("a.txt", "a", "b.txt", "b", "stays.txt", "s")
				e.day()
				e.now.passes(time.Minute)
				if name != "nothing" {
					e.edit("a.txt", words)
					e.edit("b.txt", words)
				}
				e.put("a.txt", "changed", "b.txt", "changed, too")
				day := e.day()
				if undoes {
					e.now.passes(time.Minute)
					e.undoAt(e.now, day)
				}
				e.source.Delete("a.txt")
				e.source.Delete("b.txt")
				e.day()
				last := e.day()
				if name == "nothing" {
					e.wantStates(last, map[string]int64{"unchanged skipped": 1, "trash done": 2})
					return
				}
				e.wantConflict(last, "a.txt", "its object is gone")
				e.wantConflict(last, "b.txt", "its object is gone")
			})
		}
	}
}

// TestMovesThatAreOverwritten verifies that an asset that users only moved does not count as edited
// once it is in its place again.
func TestMovesThatAreOverwritten(t *testing.T) {
	e := newEditing(t)
	e.rules.Sync.OnDestinationChange = "overwrite"
	e.put("a.txt", "a", "stays.txt", "s")
	e.day()
	e.now.passes(time.Minute)
	must(t, e.other.Move(t.Context(), targetOf(e.folder(e.texts, "", "by people")), transferOf(e.assetOf("a.txt").ID)))
	e.source.Delete("a.txt")
	e.put("b.txt", "a")
	e.wantStates(e.day(), map[string]int64{"unchanged skipped": 1, "move done": 1})
	e.rules.Sync.OnDestinationChange = "keep"
	e.source.Delete("b.txt")
	e.day()
	e.wantStates(e.day(), map[string]int64{"unchanged skipped": 1, "trash done": 1})
}

// TestEditsThatAreOverwrittenTwice verifies that undoing a run that overwrote an edit leaves a
// revision that does not count as an edit: to undo another such run restores the user's edit.
func TestEditsThatAreOverwrittenTwice(t *testing.T) {
	e := newEditing(t)
	e.rules.Sync.OnDestinationChange = "overwrite"
	e.put("a.txt", "a", "stays.txt", "s")
	e.day()
	e.people("a.txt", "A")
	for _, content := range []string{"b", "c", "d"} {
		e.put("a.txt", content)
		day := e.day()
		if got := e.content(e.assetOf("a.txt")); got != content {
			t.Errorf("the asset has %q, want %q", got, content)
		}
		e.now.passes(time.Minute)
		e.undoAt(e.now, day)
		if got := e.content(e.assetOf("a.txt")); got != "A" {
			t.Errorf("the asset has %q again, want what people made of it", got)
		}
	}
}
