package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"assetferry/internal/test/longtest"
	"assetferry/sources"

	"github.com/google/go-cmp/cmp"
)

// moves runs a sync that moves objects from one key to another, and creates those without a
// previous key.
func (j *journey) moves(fromTo ...[2]string) Run {
	j.Helper()
	var items []Item
	var outcomes []Outcome
	for _, m := range fromTo {
		i, o := decided(m[1], Create, ItemPlanned), done(m[1])
		if m[0] != "" {
			r, err := j.Receipt(j.Context(), j.pair.ID, sources.Key(m[0]))
			must(j, err)
			i, o = changed(m[1], Move, m[0])
			i.Asset, o.Receipt.Asset = r.Asset, r.Asset
		} else {
			o.Receipt.Asset += " " + j.run.ID + strings.Repeat("'", len(j.formerKeys()))
		}
		items, outcomes = append(items, i), append(outcomes, o)
	}
	return j.sync(items, outcomes)
}

// formerKeys are the former keys of the state database, each with its owner.
func (j *journey) formerKeys() map[string]string {
	j.Helper()
	rows, err := raw(j, j.path).QueryContext(j.Context(), `SELECT key || ' ' || owner FROM former_keys`)
	must(j, err)
	all, err := scanAll(rows, scanText)
	must(j, err)
	keys := map[string]string{}
	for _, row := range all {
		key, owner, _ := strings.Cut(row, " ")
		keys[key] = owner
	}
	return keys
}

// TestFormerKeys verifies that all keys that an object ever had lead to its present key, and that
// each undo restores the previous state.
func TestFormerKeys(t *testing.T) {
	j := begin(t)
	j.apply("a", "x")
	j.take(2)
	must(t, j.record(done("a"), done("x")))
	must(t, j.FinishRun(t.Context(), j.run.Num))
	var runs []Run
	evenings := []evening{j.evening()}
	for _, step := range []struct {
		moves [][2]string
		want  map[string]string
	}{
		{[][2]string{{"a", "b"}}, map[string]string{"a": "b"}},
		{[][2]string{{"b", "c"}, {"x", "y"}}, map[string]string{"a": "c", "b": "c", "x": "y"}},
		{[][2]string{{"", "a"}}, map[string]string{"a": "c", "b": "c", "x": "y"}}, // the new a hides it
		{[][2]string{{"a", "d"}}, map[string]string{"a": "d", "b": "c", "x": "y"}},
		{[][2]string{{"c", "b"}}, map[string]string{"a": "d", "c": "b", "x": "y"}}, // restored to its previous key
		{[][2]string{{"b", "a"}}, map[string]string{"a": "d", "b": "a", "c": "a", "x": "y"}},
	} {
		runs = append(runs, j.moves(step.moves...))
		if diff := cmp.Diff(step.want, j.formerKeys()); diff != "" {
			t.Fatalf("after %v (-want +got):\n%s", step.moves, diff)
		}
		evenings = append(evenings, j.evening())
		j.wantSound()
	}
	for n := len(runs) - 1; n >= 0; n-- {
		j.undone(runs[n])
		if diff := cmp.Diff(evenings[n], j.evening(), cmp.AllowUnexported(evening{})); diff != "" {
			t.Fatalf("after the undo of run %d (-evening before +now):\n%s", n, diff)
		}
	}
}

// TestFormerKeysStay verifies that former keys stay when the asset is trashed, because undo can
// restore it, and when runs are pruned. While the asset is in the trash they lead to no asset.
func TestFormerKeysStay(t *testing.T) {
	j := begin(t)
	j.apply("a")
	j.take(1)
	must(t, j.record(done("a")))
	must(t, j.FinishRun(t.Context(), j.run.Num))
	j.moves([2]string{"a", "b"})
	i, o := changed("b", Trash, "")
	i.Asset = "asset of a"
	trash := j.sync([]Item{i}, []Outcome{o})
	if _, err := j.AssetURLByKey(t.Context(), j.pair.ID, "a"); err == nil {
		t.Error("a former key leads to what is trashed")
	}
	j.undone(trash)
	for range 2 { // the second time without the items of runs
		if at, err := j.AssetURLByKey(t.Context(), j.pair.ID, "a"); err != nil || at.Key != "b" || at.As != "a" || at.Known != ByFormerKey {
			t.Errorf("a leads to %+v (%v)", at, err)
		}
		_, err := j.Prune(t.Context(), modified.AddDate(100, 0, 0))
		must(t, err)
	}
	if keys, err := j.FormerKeys(t.Context(), j.pair.ID, "b"); err != nil || !cmp.Equal(keys, []sources.Key{"a"}) {
		t.Errorf("b went by %q (%v)", keys, err)
	}
}

// A registry is a model of the targets of keys.
type registry struct {
	at     map[string]*thing // by present key, or by the last key of a trashed object
	former map[string]*thing // by a key that it went by
}

type thing struct {
	key, asset string
	trashed    bool
}

func (r registry) clone() registry {
	copies := map[*thing]*thing{}
	of := func(from map[string]*thing) map[string]*thing {
		to := map[string]*thing{}
		for key, t := range from {
			if copies[t] == nil {
				c := *t
				copies[t] = &c
			}
			to[key] = copies[t]
		}
		return to
	}
	return registry{of(r.at), of(r.former)}
}

// leadsTo returns the object that a key leads to, or nil.
func (r registry) leadsTo(key string) *thing {
	for _, t := range []*thing{r.at[key], r.former[key]} {
		if t != nil && !t.trashed {
			return t
		}
	}
	return nil
}

// run applies a random change to an object and returns the item and its outcome. It returns false
// if the change is impossible.
func (r registry) run(rng *rand.Rand, keys []string, n int) (i Item, o Outcome, ok bool) {
	key, to := keys[rng.IntN(len(keys))], keys[rng.IntN(len(keys))]
	t, there := r.at[key]
	there = there && !t.trashed
	fresh := fmt.Sprintf("asset %d", n)
	switch what := rng.IntN(4); {
	case !there: // it is new, or is restored
		if t == nil {
			t = &thing{key: key}
			r.at[key] = t
		}
		t.asset, t.trashed = fresh, false
		i, o = decided(key, Create, ItemPlanned), done(key)
		o.Receipt.Asset = fresh
	case what == 0:
		i, o = changed(key, Trash, "")
		i.Asset, t.trashed = t.asset, true
	case what == 1: // by another asset
		i, o = changed(key, Replace, "")
		t.asset, o.Receipt.Asset = fresh, fresh
	case r.at[to] != nil && !r.at[to].trashed:
		return i, o, false
	default:
		i, o = changed(to, Move, key)
		i.Asset, o.Receipt.Asset = t.asset, t.asset
		for k, f := range r.former { // keys that led to the object that was trashed under this key
			if f == r.at[to] {
				r.former[k] = t
			}
		}
		delete(r.at, key)
		r.at[to], r.former[key], t.key = t, t, to
		if r.former[to] == t {
			delete(r.former, to)
		}
	}
	return i, o, true
}

// TestFormerKeysForSixtyRuns verifies former keys after sixty runs with renames, trash,
// replacements and restored objects, some of which are undone.
func TestFormerKeysForSixtyRuns(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "e", "f"}
	for seed := range longtest.Size[uint64](2, 6) {
		rng := rand.New(rand.NewPCG(seed, 60))
		j := begin(t)
		j.apply()
		must(t, j.FinishRun(t.Context(), j.run.Num))
		r := registry{map[string]*thing{}, map[string]*thing{}}
		for n := range 60 {
			before := r.clone()
			i, o, ok := r.run(rng, keys, n)
			if !ok {
				continue
			}
			evening := j.evening()
			run := j.sync([]Item{i}, []Outcome{o})
			if rng.IntN(4) == 0 {
				j.undone(run)
				r = before
				if diff := cmp.Diff(evening.names, j.evening().names); diff != "" {
					t.Fatalf("seed %d, night %d: %s of %s undone (-evening before +now):\n%s", seed, n, i.Action, i.Key, diff)
				}
			}
			for _, key := range keys {
				at, err := j.AssetURLByKey(t.Context(), j.pair.ID, sources.Key(key))
				if want := r.leadsTo(key); want == nil && !errors.Is(err, ErrNotFound) ||
					want != nil && (err != nil || string(at.Key) != want.key || at.Asset != want.asset) {
					t.Fatalf("seed %d, night %d, %s of %s: %s leads to %+v (%v), want %+v", seed, n, i.Action, i.Key, key, at, err, want)
				}
			}
		}
	}
}
