package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"sync/atomic"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// decider is the state of one decision pass over a listing: over the staged one, or
// over that which is being staged.
type decider struct {
	*planning
	*decisions
	listing     *listing
	placer      *placer                // nil until something has to be placed
	containers  map[migrate.Place]bool // where objects go; names left out
	creates     int
	gone        int64                       // known to the state database and not listed
	limits      assets.Limits               // of the destination, as far as somebody had to ask
	memory      recall                      // see walkBeside
	rest        func() error                // the same: what was remembered after the last object
	approved    *approvals                  // the same
	redescribed redescriber                 // the same
	failures    *mergeCursor[state.Failure] // the same
	claimed     map[string]bool             // assets that stand for an object already
	vanished    map[string]bool             // assets that were listed and are not there any more
	doubled     atomic.Int64                // see Plan
	others      bool                        // in the place of an object is an asset that is not equal to it
	followed    map[sources.Key]bool        // objects that are gone and go by another key now
	lostOwners  map[sources.Key]*loss       // objects whose assets others were to share
	tags        map[tagBatch]tagEvidence    // what reading objects told of how version tags are made
	ahead       map[sources.Key]ahead       // what describes objects that are decided next, if that says where they go

	sentinel bool // was listed
	held     *heldDeletes
	violated *violations
	drifted  *driftCursor
}

func newDecider(p *planning) *decider {
	return &decider{planning: p, decisions: &decisions{planning: p}, listing: &listing{}, held: &heldDeletes{}, drifted: &driftCursor{}, violated: &violations{}, containers: map[migrate.Place]bool{}, claimed: map[string]bool{}, vanished: map[string]bool{}, followed: map[sources.Key]bool{}, lostOwners: map[sources.Key]*loss{}, tags: map[tagBatch]tagEvidence{}}
}

// decide decides every staged item. It may be repeated after a crash: the same
// listing leads to the same decisions.
func (d *decider) decide(ctx context.Context) error {
	d.Watch.Phase(migrate.PhasePlan, -1, -1)
	for _, pass := range []func(context.Context) error{
		(&maybeSidecars{d.planning, d.decisions, d.listing}).do, // what is an object, and what describes one
		d.decideAll,
		(&maybes{d.planning, d.decisions}).do, (&touches{d.planning, d.decisions}).do, (&changedSidecars{d.planning, d.decisions}).do, d.partAliases, d.matchMoves, d.matchRecased, (&freedNames{d.planning, d.decisions}).do, (&expiry{d.planning, d.decisions, d.held}).do,
		d.survey, d.drift, // what people did at the destination
		d.place,
		d.sendNothing, d.hold, (&neededContents{d.planning, d.decisions}).do, (&guarding{d.planning, d.held, d.drifted, d.violated}).do, // what of it is not to be done
		d.finish,
	} {
		if err := pass(ctx); err != nil {
			return err
		}
	}
	return nil
}

// decideAll decides what is staged, unless that was done while it was staged.
func (d *decider) decideAll(ctx context.Context) error {
	if d.listing.decided {
		d.Watch.Progress(d.listing.judged, 0)
	}
	if d.listing.decided && !d.listing.maybeSidecars {
		return nil
	}
	defer d.walkBeside(ctx, "", nil)()
	if d.Mapping.PlaceNeedsMetadata() {
		return d.decideAhead(ctx)
	}
	return d.everyItem(ctx, d.first)
}

// needPlacer asks the destination what it takes, once there is something to place:
// a night without news asks it nothing.
func (d *decider) needPlacer(ctx context.Context) error {
	if d.placer != nil {
		return nil
	}
	there, err := migrate.Categories(ctx, d.Dest)
	if err != nil {
		return err
	}
	if err := migrate.SaveCategories(ctx, d.Journal, d.run.Pair.Destination, there); err != nil {
		return err
	}
	choices, err := d.Journal.Choices(ctx, d.run.Pair.Destination)
	if err != nil {
		return err
	}
	if d.limits, err = d.Dest.Limits(ctx); err != nil {
		return err
	}
	var structure []sources.Category
	if s, ok := d.Source.(sources.Structured); ok {
		if structure, err = s.Structure(ctx); err != nil {
			return err
		}
	}
	d.placer = &placer{rules: d.Rules, mapping: d.Mapping, there: there, kept: structure, choices: choices,
		wanted: d.Approval.clone(), fixed: d.Approval != nil,
		found: map[string]string{}, chosen: map[string]string{}, maxSize: d.limits.MaxFileSize}
	return nil
}

// first decides an item by the rules, the journal and the categories. What is at
// the destination, and other objects, come later.
func (d *decider) first(ctx context.Context, i *state.Item) (bool, error) {
	if d.listing.decided && i.State != state.ItemStaged || i.Reason == string(migrate.ReasonSidecar) {
		return false, nil
	}
	if i.Obstacle == maybeSidecar {
		i.Obstacle = "" // it describes nothing
	}
	if i.Action == state.Move || isSuccessor(*i) { // a former pass has found where it comes from
		d.followed[i.Origin] = true
		if i.Action != state.Create {
			return false, nil
		}
		if i.State != state.ItemDone { // which needs its place
			return true, d.judge(ctx, i, migrate.Situation{Memory: migrate.Changed, Standing: migrate.Deleted}, state.Receipt{}, state.Item{})
		}
	}
	if i.State == state.ItemDone { // an outcome from before this listing
		if i.Action == state.Create {
			d.creates++
		}
		return false, nil
	}
	approved, settled, err := d.settle(i)
	if settled || err != nil {
		return settled, err
	}
	o := i.Object
	memory, receipt, err := d.memory(o)
	if err != nil {
		return false, err
	}
	d.Watch.Progress(1, 0)
	s := d.situation(o, memory, receipt, approved, true)
	if err := d.redescribe(&s, o, receipt, true, d.redescribed); err != nil {
		return false, err
	}
	return true, d.judge(ctx, i, s, receipt, approved)
}

// judge decides an item in a situation.
func (d *decider) judge(ctx context.Context, i *state.Item, s migrate.Situation, receipt state.Receipt, approved state.Item) (err error) {
	o := i.Object
	if s.Parked, err = d.parked(o); err != nil {
		return err
	}
	action, why := migrate.Decide(s, d.Rules)
	var place spot
	var looked ahead
	if action == state.Create || action == state.Replace || action == state.Move {
		if err := d.needPlacer(ctx); err != nil {
			return err
		}
		if looked, err = d.aheadOf(ctx, o); err != nil {
			return err
		}
		if looked.err != nil && action != state.Replace { // which stays where it is
			s.Failed = looked.reason()
		}
		place, s.Problem = d.placer.place(o, looked.found)
		if action == state.Replace && s.Problem != migrate.ReasonTooLarge {
			s.Problem = ""
		}
		place.remark = migrate.Joined(place.remark, looked.remark)
		keepName(&place.Place, &s, approved, i.Key)
		action, why = migrate.Decide(s, d.Rules)
	}
	if why == migrate.ReasonNew && place.extended {
		why = migrate.ReasonExtended
	}
	if action == state.Create {
		action, why = d.admit(place, why)
	}
	i.Category, i.Folder, i.Name, i.Slot = place.Category, place.Folder, place.Name, place.Slot()
	if i.Joins() {
		i.Origin = ""
	}
	i.Asset, i.Digest = "", nil // of a former pass
	if s.Gone || action == state.Describe || action == state.Replace || action == state.Conflict && s.Memory != migrate.Unknown {
		i.Asset = receipt.Asset
	}
	migrate.SetDecision(i, action, why)
	if looked.err != nil && s.Failed != "" {
		place.remark = looked.err.Error()
	}
	i.Error = cmp.Or(place.remark, i.Error)
	return nil
}

// admit counts what is to be sent to a place, unless that is enough already.
func (d *decider) admit(place spot, why migrate.Reason) (state.Action, migrate.Reason) {
	if !why.Parks() {
		if d.Approval == nil && d.Rules.Limit > 0 && d.creates >= d.Rules.Limit {
			return state.Skip, migrate.ReasonLimit
		}
		d.creates++
		d.placer.use(place)
	}
	d.containers[migrate.Place{Category: place.Category, Folder: place.Folder}] = true
	return state.Create, why
}

// parkAfter runs in which an object failed, it is not tried any more until it
// changes or somebody asks for it.
const parkAfter = 5

// parked gives the reason why an object is not tried any more, if there is one.
func (d *decider) parked(o sources.Object) (migrate.Reason, error) {
	f, failed, err := d.failures.find(o.Key)
	switch {
	case err != nil || !failed || d.RetryParked, !sameFingerprint(o, f.Object, d.Source.Traits().Precision):
		return "", err
	case f.Unclear:
		return migrate.ReasonUnclear, nil
	case f.Runs >= parkAfter:
		return migrate.ReasonParked, nil
	}
	return "", nil
}

// sendNothing takes out of a plan that only adopts what was not found at the
// destination.
func (d *decider) sendNothing(ctx context.Context) error {
	if !d.Rules.AdoptOnly {
		return nil
	}
	if d.placer != nil {
		d.placer.wanted = nil
	}
	return d.everyItem(ctx, func(_ context.Context, i *state.Item) (bool, error) {
		if i.Action != state.Create || i.State == state.ItemDone {
			return false, nil
		}
		action, why := migrate.Decide(migrate.Situation{Looked: true}, d.Rules)
		migrate.SetDecision(i, action, why)
		return true, nil
	})
}

// finish hashes the plan and closes it.
func (d *decider) finish(ctx context.Context) error {
	wanted := []migrate.NewCategory{}
	if d.placer != nil {
		still, err := d.stillWanted(ctx)
		if err != nil {
			return err
		}
		wanted = append(wanted, still...)
		if err := d.Journal.SaveChoices(ctx, d.run.Pair.Destination, d.placer.chosen); err != nil {
			return err
		}
	}
	hash, err := d.hash(ctx, wanted)
	if err != nil {
		return err
	}
	categories, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	err = d.Journal.FinishPlan(ctx, d.run.Num, hash, categories)
	faultpoint.Hit(faultpoint.Planned)
	return err
}

// hash hashes the plan as it is in the journal. What carries out an approved plan has
// the hash of that.
func (d *decider) hash(ctx context.Context, wanted []migrate.NewCategory) (string, error) {
	if d.Approval != nil {
		return d.Approval.Hash, nil
	}
	run, err := d.Journal.Run(ctx, d.run.ID) // with all that was listed
	if err != nil {
		return "", err
	}
	h, err := migrate.NewPlanHash(d.Head(run, wanted))
	if err != nil {
		return "", err
	}
	for i, err := range d.Journal.Items(ctx, run.Num) {
		if err != nil {
			return "", err
		}
		h.Add(i)
	}
	return h.Sum(), nil
}
