package migrate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
	"time"

	"assetferry/sources"
	"assetferry/state"
)

// A Planner makes plans. It can read the destination and nothing more.
type Planner struct {
	Deps
	Rules Rules

	started time.Time
	unseen  map[sources.Key]bool // named by the user, not listed so far
}

// NewPlanner makes a planner.
func NewPlanner(d Deps, r Rules) *Planner { return &Planner{Deps: d.withDefaults(), Rules: r} }

// A Plan sums up what was planned. The plan itself is in the journal.
type Plan struct {
	Run        state.Run
	Tallies    []state.Tally
	Categories []NewCategory    // to be made
	Unmatched  []ExtensionTally // extensions that no category allows
	Hidden     int64            // directories that could not be read: there may be more objects
	Renamed    int64            // objects that get another name, because theirs is taken
}

// An ExtensionTally counts the objects with an extension, "" for none.
type ExtensionTally struct {
	Extension string `json:"extension"`
	Objects   int64  `json:"objects"`
	Bytes     int64  `json:"bytes"`
}

// Blocked reports whether the rules forbid to carry out the plan, because there
// are objects that no category takes and the user has not said what to do.
func (p Plan) Blocked(r Rules) bool { return r.Unmatched == "stop" && len(p.Unmatched) > 0 }

// Plan lists the source, as far as the run has not done so, decides, and stores
// the decisions.
func (p *Planner) Plan(ctx context.Context, run state.Run) (Plan, error) {
	p.started = p.Now()
	p.unseen = map[sources.Key]bool{}
	if p.Rules.FilesFrom != nil {
		p.unseen = maps.Clone(p.Rules.FilesFrom.keys)
	}
	if run.State == state.Scanning {
		if err := p.scan(ctx, run); err != nil {
			return Plan{}, err
		}
		run.State = state.Planning
	}
	if run.State != state.Planning {
		return p.summary(ctx, run.ID, &decider{})
	}
	d, err := p.decide(ctx, run)
	if err != nil {
		return Plan{}, err
	}
	return p.summary(ctx, run.ID, d)
}

func (p *Planner) summary(ctx context.Context, id string, d *decider) (Plan, error) {
	run, err := p.Journal.Run(ctx, id)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Run: run, Hidden: d.hidden, Renamed: d.renamed}
	if err := json.Unmarshal(run.Categories, &plan.Categories); err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	plan.Unmatched = slices.SortedFunc(maps.Values(d.unmatched), func(a, b ExtensionTally) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Extension, b.Extension))
	})
	plan.Tallies, err = p.Journal.Tallies(ctx, run.Num)
	return plan, err
}

// decider is the state of one decision pass over a staged listing.
type decider struct {
	*Planner
	run        state.Run
	placer     *placer
	containers map[Place]bool // where objects go; names left out
	unmatched  map[string]ExtensionTally
	creates    int
	hidden     int64
	renamed    int64
	memory     func(sources.Object) (Memory, error)
	batch      []state.Item
}

// decide decides every staged item. It may be repeated after a crash: the same
// listing leads to the same decisions.
func (p *Planner) decide(ctx context.Context, run state.Run) (*decider, error) {
	p.Watch.Phase(PhasePlan, -1, -1)
	d := &decider{Planner: p, run: run, containers: map[Place]bool{}, unmatched: map[string]ExtensionTally{}}
	var err error
	if d.placer, err = p.newPlacer(ctx, run.Pair.Destination); err != nil {
		return nil, err
	}
	var stop func()
	d.memory, stop = p.remembered(ctx, run.Pair.ID, "")
	defer stop()
	if err := d.everyItem(ctx, d.first); err != nil {
		return nil, err
	}
	known, err := p.Journal.Remembers(ctx, run.Pair.Destination)
	if err != nil {
		return nil, err
	}
	if !known {
		if err := d.firstContact(ctx); err != nil {
			return nil, err
		}
	}
	if err := d.resolveCollisions(ctx); err != nil {
		return nil, err
	}
	return d, d.finish(ctx)
}

func (p *Planner) newPlacer(ctx context.Context, destination string) (*placer, error) {
	there, err := categories(ctx, p.Dest)
	if err != nil {
		return nil, err
	}
	choices, err := p.Journal.Choices(ctx, destination)
	if err != nil {
		return nil, err
	}
	limits, err := p.Dest.Limits(ctx)
	if err != nil {
		return nil, err
	}
	return &placer{rules: p.Rules, there: there, choices: choices, chosen: map[string]string{}, maxSize: limits.MaxFileSize}, nil
}

// everyItem passes the run's items to f and stores those that f decided.
func (d *decider) everyItem(ctx context.Context, f func(context.Context, *state.Item) (decided bool, err error)) error {
	for i, err := range d.Journal.Items(ctx, d.run.Num) {
		if err != nil {
			return err
		}
		decided, err := f(ctx, &i)
		if err != nil {
			return err
		}
		if decided {
			if err := d.store(ctx, i); err != nil {
				return err
			}
		}
	}
	return d.flush(ctx)
}

func (d *decider) store(ctx context.Context, i state.Item) error {
	d.batch = append(d.batch, i)
	if len(d.batch) < stagePage {
		return nil
	}
	return d.flush(ctx)
}

func (d *decider) flush(ctx context.Context) error {
	if len(d.batch) == 0 {
		return nil
	}
	err := d.Journal.Decided(ctx, d.run.Num, d.batch)
	d.batch = d.batch[:0]
	return err
}

// first decides an item by the rules, the journal and the categories. What is at
// the destination, and other objects, come later.
func (d *decider) first(ctx context.Context, i *state.Item) (bool, error) {
	if i.State == state.ItemDone {
		return false, nil // an outcome from before this listing
	}
	o := object(*i)
	s := Situation{LeftOut: d.Rules.leaveOut(o, d.started), Failed: failed(o)}
	if o.Obstacle.HidesObjects() {
		d.hidden++
	}
	var err error
	if s.Memory, err = d.memory(o); err != nil {
		return false, err
	}
	var place Place
	place, s.Problem = d.placer.place(o)
	action, why := Decide(s, d.Rules)
	if action == state.Create && d.Rules.Limit > 0 && d.creates >= d.Rules.Limit {
		action, why = state.Skip, ReasonLimit
	}
	switch {
	case action == state.Create:
		d.creates++
		d.containers[Place{Category: place.Category, Folder: place.Folder}] = true
	case why == ReasonUnmatched:
		d.countUnmatched(o)
	}
	i.Category, i.Folder, i.Name, i.Slot = place.Category, place.Folder, place.Name, place.slot()
	settle(i, action, why)
	return true, nil
}

// settle writes a decision into an item.
func settle(i *state.Item, a state.Action, why Reason) {
	i.Action, i.Reason, i.State = a, string(why), firstState(a, why)
	i.Class, i.Error = "", ""
	if i.State == state.ItemFailed {
		i.Class, i.Error = "permanent", cmp.Or(i.Obstacle, string(why))
	}
}

func (d *decider) countUnmatched(o sources.Object) {
	_, name := o.Key.Split()
	_, extension := splitName(name)
	extension = strings.ToLower(extension)
	t := d.unmatched[extension]
	d.unmatched[extension] = ExtensionTally{extension, t.Objects + 1, t.Bytes + o.Size}
}

// resolveCollisions deals with objects that would take the same place as another
// object or as an asset that we made before. The first by key keeps its name.
func (d *decider) resolveCollisions(ctx context.Context) error {
	items, err := d.Journal.Collisions(ctx, d.run.Num, d.run.Pair.ID)
	if err != nil {
		return err
	}
	for group := range bySlot(items) {
		held, err := d.Journal.HoldsSlot(ctx, d.run.Pair.ID, group[0].Slot)
		if err != nil {
			return err
		}
		held = held || slices.ContainsFunc(group, func(i state.Item) bool { return i.Action == state.Adopt })
		for _, i := range group {
			if i.Action == state.Adopt {
				continue
			}
			if !held {
				held = true
				continue
			}
			if err := d.resolve(ctx, i); err != nil {
				return err
			}
		}
	}
	return d.flush(ctx)
}

func (d *decider) resolve(ctx context.Context, i state.Item) error {
	action, why := Decide(Situation{Taken: true}, d.Rules)
	if why == ReasonRenamed {
		i.Name = rename(i.Name, i.Key)
		i.Slot = Place{i.Category, i.Folder, i.Name}.slot()
		d.renamed++
	}
	settle(&i, action, why)
	return d.store(ctx, i)
}

// rename tells apart an object whose name is taken. The suffix is made from the
// key alone, so it is the same every night, whatever else is in the folder.
func rename(name, key string) string {
	sum := sha256.Sum256([]byte(key))
	base, extension := splitName(name)
	suffix := "~" + hex.EncodeToString(sum[:3])
	if keep := maxName - len(suffix); len([]rune(base)) > keep {
		base = string([]rune(base)[:keep])
	}
	if extension == "" {
		return base + suffix
	}
	return base + suffix + "." + extension
}

func bySlot(items []state.Item) func(yield func([]state.Item) bool) {
	return func(yield func([]state.Item) bool) {
		for len(items) > 0 {
			n := slices.IndexFunc(items, func(i state.Item) bool { return i.Slot != items[0].Slot })
			if n < 0 {
				n = len(items)
			}
			if !yield(items[:n]) {
				return
			}
			items = items[n:]
		}
	}
}

// finish hashes the plan and closes it.
func (d *decider) finish(ctx context.Context) error {
	if err := d.Journal.SaveChoices(ctx, d.run.Pair.Destination, d.placer.chosen); err != nil {
		return err
	}
	h := sha256.New()
	for i, err := range d.Journal.Items(ctx, d.run.Num) {
		if err != nil {
			return err
		}
		hashItem(h, i)
	}
	wanted, err := json.Marshal(append([]NewCategory{}, d.placer.wanted...))
	if err != nil {
		return err
	}
	return d.Journal.FinishPlan(ctx, d.run.Num, hex.EncodeToString(h.Sum(nil)), wanted)
}

// hashItem adds to a plan's hash what a person approves: what happens to which
// version of an object, and where it goes. Lengths keep fields apart.
func hashItem(h hash.Hash, i state.Item) {
	for _, field := range []string{i.Key, i.VersionTag, string(i.Action), i.Reason, i.Category, i.Folder, i.Name, i.Asset} {
		h.Write(binary.AppendUvarint(nil, uint64(len(field))))
		h.Write([]byte(field))
	}
	h.Write(binary.AppendVarint(binary.AppendVarint(nil, i.Size), i.Time.UnixNano()))
}
