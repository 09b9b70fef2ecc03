package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

// trashing returns rules that make the destination equal to the source without a grace period.
func trashing() migrate.Rules {
	return syncing(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
}

// isKilled leaves the next run in the state of a process that is killed after the upload of an item
// and before it records the upload.
func (w *world) isKilled(r migrate.Rules, arrives func(state.Item)) migrate.Plan {
	w.Helper()
	run, err := w.store.Begin(w.Context(), w.pair, "sync", marshal(w, r))
	must(w, err)
	p := plan.New(w.deps(), r)
	p.SafetyChecks, p.DriftShare = wide(), 0
	plan, err := p.Plan(w.Context(), run)
	must(w, err)
	must(w, w.store.SetRunState(w.Context(), run.Num, state.Planned, state.Applying))
	items, err := w.store.Take(w.Context(), run.Num, state.Next{N: 100, Time: time.Now()})
	must(w, err)
	for _, i := range items {
		arrives(i)
	}
	return plan
}

// sends uploads the content of an item as the engine does.
func (w *world) sends(i state.Item) {
	w.Helper()
	content := w.contentOf(string(i.Key))
	switch i.Action {
	case state.Create:
		w.upload(i.Category, "", i.Name, content)
	case state.Replace:
		w.replacesAt(i.Asset, i.Name, content)
	case state.Move:
		name, _, _ := strings.Cut(i.Name, ".")
		_, err := w.other.Update(w.Context(), i.Asset, assets.Changes{Name: &name})
		must(w, err)
	default:
		w.Fatalf("%s of %s", i.Action, i.Key)
	}
}

func (w *world) replacesAt(asset, name, content string) {
	w.Helper()
	_, err := w.other.Replace(w.Context(), asset, assets.Replacement{
		Filename: name, Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader([]byte(content))), nil
		},
	})
	must(w, err)
}

// follows resumes the killed run, and starts as many runs as it takes to trash the assets of
// objects that are deleted at the source.
func (w *world) follows(r migrate.Rules) {
	w.Helper()
	for range 4 {
		w.migrate(r)
	}
}

// changesUnconfirmed are the changes of an object whose upload is not recorded.
var changesUnconfirmed = []struct {
	name   string
	change func(w *world)
	want   []placed
}{
	{"changed", func(w *world) { w.put("a.jpg", "two") }, []placed{{"Images", "", "a.jpg", checksum("two")}}},
	{"changed in size", func(w *world) { w.put("a.jpg", "longer") }, []placed{{"Images", "", "a.jpg", checksum("longer")}}},
	{"deleted", func(w *world) { w.source.Delete("a.jpg") }, nil},
	{"renamed", func(w *world) { w.renamed("a.jpg", "b.jpg") }, []placed{{"Images", "", "b.jpg", checksum("one")}}},
	{"moved", func(w *world) { w.renamed("a.jpg", "dir/a.jpg") }, []placed{{"Images", "dir", "a.jpg", checksum("one")}}},
	{"renamed and changed", func(w *world) { w.source.Delete("a.jpg"); w.put("b.jpg", "two") }, []placed{{"Images", "", "b.jpg", checksum("two")}}},
	{"renamed in case", func(w *world) { w.renamed("a.jpg", "A.jpg") }, []placed{{"Images", "", "A.jpg", checksum("one")}}},
	{"changed again and back", func(w *world) { w.put("a.jpg", "two"); w.put("a.jpg", "one") }, []placed{{"Images", "", "a.jpg", checksum("one")}}},
}

// TestObjectChangesWhileItsUploadIsUnconfirmed verifies that a confirmed upload is ours, whatever
// happened to its object before the check: it leaves neither an outdated asset nor a duplicate at
// the destination.
func TestObjectChangesWhileItsUploadIsUnconfirmed(t *testing.T) {
	t.Parallel()
	for _, action := range []state.Action{state.Create, state.Replace, state.Move} {
		for _, c := range changesUnconfirmed {
			t.Run(string(action)+"/"+c.name, func(t *testing.T) {
				w := newWorld(t)
				w.put("other.jpg", "other")
				before := map[state.Action]func(){
					state.Create:  func() {},
					state.Replace: func() { w.put("a.jpg", "old") },
					state.Move:    func() { w.put("before.jpg", "one") },
				}
				before[action]()
				w.migrate(trashing())
				w.source.Delete("before.jpg")
				w.put("a.jpg", "one")
				w.isKilled(trashing(), w.sends)
				c.change(w)
				w.follows(trashing())
				want := append(append([]placed{}, c.want...), placed{"Images", "", "other.jpg", checksum("other")})
				sortPlaced(want)
				w.wantAssets(want)
				last := w.migrate(trashing())
				w.wantStates(last, map[string]int64{"unchanged skipped": int64(len(want))})
				w.wantSound()
			})
		}
	}
}

// TestAdoptedWhileItsReplacementIsUnconfirmed verifies that the run knows which object an asset
// belongs to after a case-only renaming, even if the new listing has removed the item that adopted
// the asset.
func TestAdoptedWhileItsReplacementIsUnconfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put("Photo.jpg", "old", "other.jpg", "other")
	w.migrate(trashing())
	w.source.Delete("Photo.jpg")
	w.put("photo.jpg", "one")
	plan := w.isKilled(trashing(), w.sends)
	w.put("photo.jpg", "two")
	must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), plan.Run))
	must(t, w.store.Relist(t.Context(), plan.Run.Num))
	w.wantSound()
	w.follows(trashing())
	want := []placed{{"Images", "", "photo.jpg", checksum("two")}, {"Images", "", "other.jpg", checksum("other")}}
	sortPlaced(want)
	w.wantAssets(want)
	w.wantSound()
}

// TestObjectRevertedWhileItsReplacementIsUnconfirmed verifies that an object whose content reverts
// to what it was before a replacement gets the former content again.
func TestObjectRevertedWhileItsReplacementIsUnconfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.source.Put("a.jpg", []byte("old"))
	w.migrate(trashing())
	w.put("a.jpg", "one")
	w.isKilled(trashing(), w.sends)
	w.source.PutObject(sources.Object{Key: "a.jpg", Time: old.Time}, []byte("old"))
	w.follows(trashing())
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("old")}})
}

// TestObjectIsLockedWhileItsUploadIsUnconfirmed verifies that an object that becomes unreadable
// while its upload is unconfirmed delays nothing else. Its upload is adopted, and is compared once
// the object is readable again.
func TestObjectIsLockedWhileItsUploadIsUnconfirmed(t *testing.T) {
	t.Parallel()
	for _, old := range []string{"", "old"} {
		for _, now := range []string{"one", "two"} {
			t.Run(fmt.Sprintf("%q, then %q", old, now), func(t *testing.T) {
				w := newWorld(t)
				w.put("other.jpg", "other")
				if old != "" {
					w.put("a.jpg", old)
				}
				w.migrate(trashing())
				w.put("a.jpg", "one")
				plan := w.isKilled(trashing(), w.sends)
				w.source.PutObject(sources.Object{Key: "a.jpg", Obstacle: sources.Unreadable}, nil)
				w.put("new.jpg", "new")
				must(t, w.applier(w.deps()).ConfirmUploads(t.Context(), plan.Run))
				must(t, w.store.Relist(t.Context(), plan.Run.Num))
				w.follows(trashing())
				sent := func(content string) []placed {
					all := []placed{{"Images", "", "a.jpg", checksum(content)}, {"Images", "", "new.jpg", checksum("new")}, {"Images", "", "other.jpg", checksum("other")}}
					sortPlaced(all)
					return all
				}
				w.wantAssets(sent("one"))
				w.put("a.jpg", now)
				w.follows(trashing())
				w.wantAssets(sent(now))
				w.wantStates(w.migrate(trashing()), map[string]int64{"unchanged skipped": 3})
				w.wantSound()
			})
		}
	}
}

// TestWhatWasThereIsNotTakenForWhatIsUnconfirmed verifies that an asset that existed before the
// upload is not adopted, however recent it is.
func TestWhatWasThereIsNotTakenForWhatIsUnconfirmed(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "one", "other.jpg", "other")
	w.upload(w.images, "", "a.jpg", "xyz")
	beside := trashing()
	beside.OnExisting = "create"
	w.isKilled(beside, func(i state.Item) {
		if i.Key == "other.jpg" {
			w.sends(i)
		}
	})
	w.source.Delete("a.jpg")
	w.follows(beside)
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("xyz")}, {"Images", "", "other.jpg", checksum("other")}})
	if _, err := w.store.Receipt(t.Context(), w.pair.ID, "a.jpg"); !errors.Is(err, state.ErrNotFound) {
		t.Errorf("somebody else's asset is taken for ours: %v", err)
	}
}

// TestUndoLeavesWhatIsTakenUnproven verifies that undo keeps an asset that may not be ours.
func TestUndoLeavesWhatIsTakenUnproven(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "one", "other.jpg", "other")
	plan := w.isKilled(trashing(), w.sends)
	w.put("a.jpg", "two")
	w.migrate(trashing())
	w.undo(plan)
	w.wantAssets([]placed{{"Images", "", "a.jpg", checksum("one")}})
}

// TestStrangersAreNotTakenForWhatIsUnconfirmed verifies that an asset that may belong to another
// user is not adopted, and is reported until a person decides.
func TestStrangersAreNotTakenForWhatIsUnconfirmed(t *testing.T) {
	t.Parallel()
	for name, stranger := range map[string]func(w *world){
		"two alike": func(w *world) { w.upload(w.images, "", "a.jpg", "xyz") },
		"described": func(w *world) {
			for _, a := range w.namedAtRoot("a.jpg") {
				_, err := w.other.Update(w.Context(), a.ID, assets.Changes{Tags: &[]string{"mine"}})
				must(w, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.jpg", "one", "other.jpg", "other")
			w.isKilled(trashing(), w.sends)
			stranger(w)
			before := w.assetsAt()
			w.source.Delete("a.jpg")
			first := w.migrate(trashing())
			if i := w.item(first, "a.jpg"); i.State != state.ItemChanged || !strings.Contains(i.Error, "it is unknown whether asset") {
				t.Errorf("got %+v", i)
			}
			for range 3 {
				w.wantStates(w.migrate(trashing()), map[string]int64{"skip retries_exhausted": 1, "unchanged skipped": 1})
			}
			w.wantAssets(before)
			r := trashing()
			must(t, w.isConfirmed(r)) // a person has checked it and says so
			w.wantStates(w.migrate(r), map[string]int64{"unchanged skipped": 1})
		})
	}
}

// isConfirmed runs a sync with --retry-exhausted.
func (w *world) isConfirmed(r migrate.Rules) error {
	run, err := w.store.Begin(w.Context(), w.pair, "sync", marshal(w, r))
	must(w, err)
	p := plan.New(w.deps(), r)
	p.SafetyChecks, p.DriftShare, p.RetryExhausted = wide(), 0, true
	plan, err := p.Plan(w.Context(), run)
	must(w, err)
	w.wantStates(plan, map[string]int64{"unchanged skipped": 1})
	return w.applier(w.deps()).Apply(w.Context(), plan.Run)
}

func (w *world) namedAtRoot(name string) (all []assets.Asset) {
	w.Helper()
	for a, err := range w.other.List(w.Context(), assets.ListOptions{CategoryID: w.images}) {
		must(w, err)
		if a.Filename() == name {
			all = append(all, a)
		}
	}
	return all
}
