package engine

import (
	"testing"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// This file verifies that each object at the source has its content at the destination, or is
// reported, whatever happens to the asset that objects share.

// TestNothingJoinsWhatWasDeleted verifies that, after a user deletes a shared asset, the other
// objects get an asset of their own. The run notices the deletion when another object would join
// the asset. The user knew of one object only.
func TestNothingJoinsWhatWasDeleted(t *testing.T) {
	only := migrate.DefaultRules()
	only.Duplicates = "one-asset"
	for name, rules := range map[string]migrate.Rules{"sync": joining(), "migrate": only} {
		t.Run(name, func(t *testing.T) {
			w := threeCopies(t)
			w.syncs(rules)
			w.trash("a.jpg")
			w.put("d.jpg", "same")
			w.wantStates(w.syncs(rules), map[string]int64{"unchanged skipped": 2, "create done": 1, "adopt done": 2})
			w.wantContents(map[string]int{"same": 1, "else": 1})
			w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "c.jpg", "d.jpg": "c.jpg", "dir/e.jpg": "c.jpg"})
			w.put("f.jpg", "same") // the deleted asset must not be the first choice again
			w.wantStates(w.syncs(rules), map[string]int64{"unchanged skipped": 5, "adopt done": 1})
			w.wantContents(map[string]int{"same": 1, "else": 1})
			w.wantSound()
		})
	}
}

// TestAliasesPartFromWhatPeopleMadeOfTheAsset verifies that aliases get an asset of their own when
// a sync finds their shared asset deleted, edited or moved.
func TestAliasesPartFromWhatPeopleMadeOfTheAsset(t *testing.T) {
	t.Parallel()
	deleted := func(w *world) { w.trash("a.jpg") }
	edited := func(w *world) { w.replace("a.jpg", "by hand") }
	elsewhere := func(w *world) {
		private := w.category("Private", "jpg")
		must(w, w.other.Move(w.Context(), assets.Target{CategoryID: private}, transferOf(w.assetOf("a.jpg").ID)))
	}
	renamed := func(w *world) { w.edit("a.jpg", changesOf("by hand")) }
	overwriting := func(s *migrate.SyncRules) { s.OnDestinationChange = "overwrite" }
	repairing := func(s *migrate.SyncRules) { s.Repair = true }
	keeping := func(*migrate.SyncRules) {}
	for _, c := range []struct {
		name  string
		visit func(*world)
		rules func(*migrate.SyncRules)
		owner string // the action and state of the owner when the run checks its asset
		drift bool   // the aliases separate when the run checks all assets
		joins bool   // the aliases separate when another object would join them
	}{
		{"deleted", deleted, keeping, "skip skipped", true, true},
		{"deleted, repaired", deleted, repairing, "create done", false, false},
		{"edited", edited, keeping, "conflict conflict", true, true},
		{"edited, overwritten", edited, overwriting, "replace done", false, true},
		{"moved to another category", elsewhere, keeping, "conflict conflict", true, true},
		{"moved to another category, overwritten", elsewhere, overwriting, "move done", false, true},
		{"renamed", renamed, keeping, "conflict conflict", false, false},
	} {
		for _, joins := range []bool{false, true} {
			name, parts := c.name+", drift", c.drift
			if joins {
				name, parts = c.name+", joined", c.joins
			}
			t.Run(name, func(t *testing.T) {
				w := threeCopies(t)
				w.syncs(joining())
				c.visit(w)
				sync := w.syncsAll
				if joins { // the run checks the asset only because a new object would share it
					w.put("d.jpg", "same")
					sync = w.syncs
				}
				plan := sync(joining(c.rules))
				if !joins {
					if i := w.item(plan, "a.jpg"); string(i.Action)+" "+string(i.State) != c.owner {
						t.Errorf("the owner is %+v, want %s", i, c.owner)
					}
				}
				w.syncs(joining(c.rules))
				want := map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "a.jpg", "dir/e.jpg": "a.jpg"}
				if parts {
					want["c.jpg"], want["dir/e.jpg"] = "c.jpg", "c.jpg"
				}
				if joins {
					want["d.jpg"] = want["c.jpg"]
				}
				w.wantLeadTo(want)
				w.wantAllThere()
				w.wantSound()
			})
		}
	}
}

// wantAllThere verifies that each alias at the source leads to an asset with the content of the
// alias.
func (w *world) wantAllThere() {
	w.Helper()
	for o, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		if o.Obstacle != "" {
			continue
		}
		a, err := w.store.AssetURLByKey(w.Context(), w.pair.ID, o.Key)
		if err != nil {
			w.Errorf("%s leads nowhere: %v", o.Key, err)
			continue
		}
		if a.Key == o.Key {
			continue
		}
		asset, err := w.other.Asset(w.Context(), a.Asset)
		must(w, err)
		if got, want := w.content(asset), w.contentOf(a.As); got != want {
			w.Errorf("%s leads to %q, and is %q", o.Key, got, want)
		}
	}
}

// TestHeirOfWhatWasDeleted verifies that an owner whose object and asset are both deleted has no
// asset to pass on to an alias.
func TestHeirOfWhatWasDeleted(t *testing.T) {
	for _, repair := range []bool{false, true} {
		w := threeCopies(t)
		rules := joining(func(s *migrate.SyncRules) { s.Repair = repair })
		w.syncs(rules)
		w.trash("a.jpg")
		w.source.Delete("a.jpg")
		w.syncs(rules)
		w.wantContents(map[string]int{"same": 1, "else": 1})
		w.wantAllThere()
		w.syncs(rules)
		w.wantContents(map[string]int{"same": 1, "else": 1})
		w.wantSound()
	}
}

// TestNoHeirThatHasChanged verifies that an alias whose content has changed does not inherit the
// asset of its former content.
func TestNoHeirThatHasChanged(t *testing.T) {
	w := threeCopies(t)
	w.syncs(joining())
	w.source.Delete("a.jpg")
	w.put("c.jpg", "mine")
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 1, "create done": 1, "move done": 1})
	w.wantContents(map[string]int{"same": 1, "else": 1, "mine": 1})
	w.wantLeadTo(map[string]string{"a.jpg": "dir/e.jpg", "b.jpg": "b.jpg", "c.jpg": "c.jpg", "dir/e.jpg": "dir/e.jpg"})
	w.wantSound()
}

// TestHiddenAlias verifies that an alias in an unreadable folder keeps its shared asset, and that
// the run draws no other conclusion from its absence.
func TestHiddenAlias(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*world)
		want   map[string]int64
	}{
		{"gone", func(w *world) { w.source.Delete("a.jpg") }, map[string]int64{"unchanged skipped": 2, "skip skipped": 2, "skip failed": 1}},
		{"replaced", func(w *world) { w.put("a.jpg", "news") }, map[string]int64{"unchanged skipped": 2, "conflict conflict": 1, "skip skipped": 1, "skip failed": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := threeCopies(t)
			removing := joining(func(s *migrate.SyncRules) { s.Delete, s.GracePeriod = "trash", 0 })
			w.syncs(removing)
			w.source.Delete("c.jpg")
			w.put("f.jpg", "more") // the listing has it after the folder
			w.syncs(removing)
			c.change(w)
			w.source.Delete("dir/e.jpg")
			w.source.PutObject(sources.Object{Key: "dir/", Obstacle: sources.UnreadableDirectory}, nil)
			plan := w.syncs(removing)
			if i := w.item(plan, "dir/e.jpg"); i.Reason != string(migrate.ReasonFolderNotRead) || i.State != state.ItemSkipped {
				t.Errorf("got %+v", i)
			}
			w.wantStates(plan, c.want)
			w.syncs(removing)
			w.syncs(removing)
			w.source.Delete("dir/")
			w.put("dir/e.jpg", "same")
			for range 2 {
				w.syncs(removing)
			}
			w.wantAllThere()
			w.wantSound()
		})
	}
}

// TestWhatIsRepairedDoesNotJoin verifies that an asset that is created again has its own receipt,
// and shares no other asset.
func TestWhatIsRepairedDoesNotJoin(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "same", "b.jpg", "same")
	w.syncs(syncing())
	w.trash("b.jpg")
	w.put("c.jpg", "same")
	repairing := joining(func(s *migrate.SyncRules) { s.Repair = true })
	w.wantStates(w.syncs(repairing), map[string]int64{"unchanged skipped": 1, "create done": 1, "adopt done": 1})
	w.wantContents(map[string]int{"same": 2})
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "a.jpg"})
	w.wantSound()
}

// TestAliasesOfSeveralOwnersPart verifies that each object counts once, in whatever order the keys
// of several owners and their aliases sort.
func TestAliasesOfSeveralOwnersPart(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "same", "b.jpg", "twin", "c.jpg", "twin", "d.jpg", "same", "stays.jpg", "else")
	w.syncs(joining())
	w.put("a.jpg", "news", "b.jpg", "more")
	w.wantStates(w.syncs(joining()), map[string]int64{"unchanged skipped": 1, "replace done": 2, "create done": 2})
	w.wantContents(map[string]int{"same": 1, "twin": 1, "else": 1, "news": 1, "more": 1})
	w.wantSound()
}

// TestAssetsKeepWhatAnAbsentAliasHas verifies that an asset keeps its content while an object
// without an asset of its own needs it. An object that a run excludes, for whatever reason, must
// not lose its uploaded content.
func TestAssetsKeepWhatAnAbsentAliasHas(t *testing.T) {
	t.Parallel()
	only := func(keys ...sources.Key) *migrate.KeyList { return migrate.NewKeyList(keys) }
	for _, c := range []struct {
		name   string
		source func(*world)
		rules  func(*migrate.Rules)
		why    migrate.Reason
	}{
		{"excluded", nil, func(r *migrate.Rules) { r.Exclude = []string{"c.jpg"} }, migrate.ReasonExcluded},
		{"not listed", nil, func(r *migrate.Rules) { r.FilesFrom = only("a.jpg") }, migrate.ReasonNotInList},
		{"not failed", nil, func(r *migrate.Rules) { r.Sync.Failed = only("a.jpg") }, migrate.ReasonNotFailedBefore},
		{"beyond a limit", func(w *world) { w.put("0.jpg", "new") }, func(r *migrate.Rules) { r.Limit = 1 }, migrate.ReasonLimit},
		{"unreadable", func(w *world) {
			w.source.PutObject(sources.Object{Key: "c.jpg", Obstacle: sources.Unreadable}, nil)
		}, nil, migrate.ReasonUnreadable},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.jpg", "same", "b.jpg", "else", "c.jpg", "same")
			w.syncs(joining())
			w.put("a.jpg", "news")
			if c.source != nil {
				c.source(w)
			}
			rules := joining()
			if c.rules != nil {
				c.rules(&rules)
			}
			i := w.item(w.syncs(rules), "a.jpg")
			if want := migrate.ReasonAssetNeeded.Text() + ": c.jpg, " + c.why.Text(); i.State != state.ItemConflict || i.Error != want {
				t.Errorf("a.jpg is %s %s: %s, want %s", i.Action, i.State, i.Error, want)
			}
			w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "a.jpg"})
			if got := w.content(w.assetOf("a.jpg")); got != "same" {
				t.Errorf("the asset has %q", got)
			}
			w.put("c.jpg", "same")
			w.syncs(joining())
			w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "c.jpg"})
			w.wantAllThere()
			if got := w.content(w.assetOf("a.jpg")); got != "news" {
				t.Errorf("the asset has %q once all are taken", got)
			}
			w.wantSound()
		})
	}
}

// TestApprovedReplacementOfWhatAnAliasNeeds verifies that an approved replacement does not take the
// content from an alias whose object can no longer be uploaded.
func TestApprovedReplacementOfWhatAnAliasNeeds(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "same", "b.jpg", "else", "c.jpg", "same")
	w.syncs(joining())
	w.put("a.jpg", "news")
	approval := w.approve(joining())
	w.put("c.jpg", "changed")
	w.apply(approval, joining())
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "b.jpg": "b.jpg", "c.jpg": "a.jpg"})
	w.wantContents(map[string]int{"same": 1, "else": 1})
	w.syncs(joining())
	w.wantContents(map[string]int{"news": 1, "else": 1, "changed": 1})
	w.wantSound()
}
