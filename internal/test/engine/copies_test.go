package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"assetferry/internal/assets"
	"assetferry/internal/test/seedtest"
	"assetferry/migrate"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/state"
)

// A lead is the asset that a key leads to, and its content.
type lead struct{ asset, content string }

// A hoard is a library with many duplicates, its destination, and the users there.
type hoard struct {
	*world
	*rand.Rand
	private string          // a category of the users
	led     map[string]lead // by key, as long as no user changed the asset
	script  []string
}

var (
	hoarded  = []sources.Key{"a.jpg", "b.jpg", "c.jpg", "d.jpg", "x/a.jpg", "x/e.jpg", "y/a.jpg", "y/f.png", "z.txt", "zz.jpg"}
	contents = []string{"one", "two", "thr", "four"} // most have the same size
)

// edited is the content that users give to assets. It is not reported by each run for the asset's
// own object.
const edited = "by people"

// TestCopiesOverManyRuns makes random changes to a library with many duplicates, to its assets and
// to its runs. It verifies that each object has its content at the destination, in an asset of its
// own or of a duplicate, or that a run reports why not. Each outcome of a run counts once.
func TestCopiesOverManyRuns(t *testing.T) {
	t.Parallel()
	lives, seed := max(1, 8/slowdown), cmp.Or(seedtest.Flagged(), 1) // the same each time, unless the flag gives a seed
	if sweepsAll() {
		lives = 300
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for range lives {
		seed := random.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := &hoard{world: newWorld(t), Rand: rand.New(rand.NewPCG(seed, 1)), led: map[string]lead{}}
			defer h.close()
			defer func() {
				if t.Failed() {
					t.Log(strings.Join(h.script, "\n"))
				}
			}()
			h.private = h.category("Private", "jpg", "png")
			h.put("always.txt", "there")
			for n := range 12 {
				h.notes("night %d", n)
				for range h.IntN(5) {
					h.atSource()
				}
				if h.IntN(3) == 0 {
					h.atDestination()
				}
				h.sync()
				if t.Failed() {
					return
				}
			}
		})
	}
}

func (h *hoard) notes(format string, args ...any) {
	h.script = append(h.script, fmt.Sprintf(format, args...))
}

func anyOf[T any](h *hoard, from []T) T { return from[h.IntN(len(from))] }

// atSource makes a random change to an object.
func (h *hoard) atSource() {
	key, content := anyOf(h, hoarded), anyOf(h, contents)
	switch h.IntN(6) {
	case 0:
		h.source.Delete(key)
		delete(h.led, string(key))
		h.notes("  delete %s", key)
	case 1:
		h.source.PutObject(sources.Object{Key: key, Obstacle: sources.Unreadable}, nil)
		h.notes("  %s cannot be read", key)
	default:
		h.source.Put(key, []byte(content))
		h.notes("  %s is %q", key, content)
	}
}

// atDestination makes a random change to an asset, as users do.
func (h *hoard) atDestination() {
	var all []state.Receipt
	for r, err := range h.store.Receipts(h.Context(), h.pair.ID, "") {
		must(h, err)
		if _, err := h.other.Asset(h.Context(), r.Asset); err == nil && r.Extension != "txt" {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return
	}
	r := anyOf(h, all)
	maps.DeleteFunc(h.led, func(_ string, l lead) bool { return l.asset == r.Asset })
	switch h.IntN(4) {
	case 0, 1:
		must(h, h.other.Trash(h.Context(), r.Asset))
		h.notes("  people: trash the asset of %s", r.Key)
	case 2:
		_, err := h.other.Replace(h.Context(), r.Asset, replacement(r.Filename(), edited))
		must(h, err)
		h.notes("  people: edit the asset of %s", r.Key)
	case 3:
		_, err := h.other.Update(h.Context(), r.Asset, changesOf(fmt.Sprintf("by hand %d", h.Uint64())))
		must(h, err)
		must(h, h.other.Move(h.Context(), assets.Target{CategoryID: h.private}, transferOf(r.Asset)))
		h.notes("  people: move the asset of %s", r.Key)
	}
}

// sync runs a sync, which may be interrupted.
func (h *hoard) sync() {
	rules := joining(func(s *migrate.SyncRules) {
		s.GracePeriod = 0
		s.Delete = anyOf(h, []string{"never", "trash"})
		s.OnDestinationChange = anyOf(h, []string{"keep", "keep", "overwrite"})
		s.Repair, s.Checksum = h.IntN(6) == 0, h.IntN(6) == 0
	})
	h.notes("  night: %+v", *rules.Sync)
	for h.IntN(3) == 0 {
		ctx, cancel := context.WithCancelCause(h.Context())
		at := 1 + h.IntN(12)
		h.gate.on(func(n int, _ *http.Request) error {
			if n >= at {
				cancel(errPulled)
			}
			return nil
		})
		_, err := h.once(ctx, rules)
		cancel(nil)
		h.gate.on(nil)
		h.notes("  interrupted: %v", err)
		if err != nil && !errors.Is(err, errPulled) {
			h.Fatal(err)
		}
	}
	for range 5 {
		plan, err := h.once(h.Context(), rules)
		must(h, err)
		run, err := h.store.Run(h.Context(), plan.Run.ID)
		must(h, err)
		if run.State == state.Finished {
			h.check(plan)
			return
		}
	}
	h.Fatal("no end in sight")
}

func (h *hoard) once(ctx context.Context, rules migrate.Rules) (planned migrate.Plan, err error) {
	run, err := h.store.Unfinished(h.Context(), h.pair)
	if errors.Is(err, state.ErrNotFound) || err == nil && run.State != state.Applying {
		run, err = h.store.Begin(h.Context(), h.pair, "sync", marshal(h.world, rules))
	}
	must(h, err)
	a, p := h.applier(h.deps()), plan.New(h.deps(), rules)
	p.SafetyChecks, p.DriftShare, p.ResponseTimeout = wide(), 1, a.ResponseTimeout
	if planned, err = h.planWith(ctx, p, run); err != nil {
		return planned, err
	}
	return planned, a.Apply(ctx, planned.Run)
}

// check compares the destination with the source.
func (h *hoard) check(plan migrate.Plan) {
	h.Helper()
	h.wantSound()
	reported := map[string]state.Item{}
	for i, err := range h.store.Items(h.Context(), plan.Run.Num) {
		must(h, err)
		reported[string(i.Key)] = i
		h.notes("    %s: %s %s (%s) %s %s", i.Key, i.Action, i.State, i.Reason, i.PreviousKey, i.Error)
	}
	deleted := int64(0)
	for key := range reported {
		if !h.has(key) {
			deleted++
		}
	}
	if _, listed := h.states(plan); listed != h.listed()+deleted {
		h.Errorf("the run accounts for %d, want %d and %d that are gone", listed, h.listed(), deleted)
	}
	for o, err := range h.source.Objects(h.Context(), "") {
		must(h, err)
		key := string(o.Key)
		switch reported[key].State {
		case state.ItemSkipped, state.ItemFailed, state.ItemConflict:
			if reported[key].Action != state.Unchanged {
				h.checkKept(key)
				continue
			}
		}
		delete(h.led, key)
		a, err := h.store.AssetURLByKey(h.Context(), h.pair.ID, o.Key)
		if err != nil {
			h.Errorf("%s leads nowhere, and nothing is told: %v", key, err)
			continue
		}
		asset, err := h.other.Asset(h.Context(), a.Asset)
		if err != nil {
			h.Errorf("%s leads to nothing by %s, and nothing is told: %v", key, a.Key, err)
		} else if got, want := h.content(asset), h.contentOf(key); got != want && (a.Key != o.Key || got != edited) {
			h.Errorf("%s leads to %q by %s, and is %q", key, got, a.Key, want)
		} else if got == want {
			h.led[key] = lead{asset.ID, got}
		}
	}
}

// checkKept verifies that an object that was skipped, failed or in conflict leads to the same content
// as before.
func (h *hoard) checkKept(key string) {
	h.Helper()
	led, known := h.led[key]
	if !known {
		return
	}
	a, err := h.store.AssetURLByKey(h.Context(), h.pair.ID, sources.Key(key))
	if err != nil {
		h.Errorf("%s leads nowhere any more: %v", key, err)
		return
	}
	asset, err := h.other.Asset(h.Context(), a.Asset)
	must(h, err)
	if got := h.content(asset); got != led.content {
		h.Errorf("%s leads to %q by %s, and led to %q", key, got, a.Key, led.content)
	}
}

func (h *hoard) has(key string) bool {
	for o, err := range h.source.Objects(h.Context(), "") {
		must(h, err)
		if string(o.Key) == key {
			return true
		}
	}
	return false
}
