package plan

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
	"assetferry/internal/retry"
	"assetferry/internal/sorting"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/migrate/plan/identical"
	"assetferry/state"
)

// claimedAssets contains assets that already belong to an object, so that no other object adopts
// them.
type claimedAssets map[string]bool

// existingAssets handles places of new objects that may contain other assets.
type existingAssets struct {
	*planning
	*decisions
	*placeComparer
	places   *placements
	doubled  *duplicateNames
	vanished map[string]bool // assets that were listed and no longer exist
	others   bool            // in the place of an object is an asset that is not equal to it
}

// duplicateNames counts the names that several assets have in the places of new objects.
type duplicateNames struct{ atomic.Int64 }

// placeComparer compare objects with the assets that are in their places.
type placeComparer struct {
	*planning
	claimed claimedAssets
}

// do reads the containers in which objects would be created, and decides again about every object
// whose place is taken. Thus the loss of a state database leads to adoption, not to a second
// library.
//
// A container is skipped if the state database records that it contains only assets of this source.
// That usually holds from its creation on. A container with other assets is read in every plan that
// creates assets in it. The other assets may be those of another source, which may be the same
// library under another path. A single check would not suffice: a limit, a filter or a conflict may
// have left objects undecided, and the next run would create duplicates of them.
func (c *existingAssets) do(ctx context.Context) error {
	if err := c.share(ctx); err != nil {
		return err
	}
	places, err := c.toLookAt(ctx)
	if err != nil || len(places) == 0 {
		return err
	}
	if err := c.awaitOthers(ctx); err != nil {
		return err
	}
	if err := c.State.DropInventory(ctx, state.RunScope(c.run.Num)); err != nil {
		return err // of a former pass
	}
	if found, err := c.inventories(ctx, places); err != nil || found == 0 {
		return err
	}
	return c.meetAll(ctx)
}

// forgotten is the age from which on an unconfirmed upload of another source is ignored.
const forgotten = 24 * time.Hour

// awaitOthers waits until the unconfirmed uploads of other sources must be visible. Another source
// may be the same library, whose path changed after a crash.
func (c *existingAssets) awaitOthers(ctx context.Context) error {
	n, largest, err := c.State.OthersUnconfirmed(ctx, c.run.Pair, c.Now().Add(-forgotten))
	if err != nil || n == 0 {
		return err
	}
	until := migrate.FormerProcessEnd(c.FormerAlive).Add(c.ResponseTimeout + migrate.ProcessingTime(largest))
	if until.Sub(clock.Now()) > migrate.MinReportedWait {
		c.Watch.AwaitingOtherSources(n, until)
	}
	return retry.Sleep(ctx, until.Sub(clock.Now()))
}

// inventories stages the foreign assets in the given places and returns their number. When there
// are several passes, it keeps the highest count of duplicate names, because later passes read
// fewer places.
func (c *existingAssets) inventories(ctx context.Context, places []migrate.Place) (found int64, err error) {
	c.Watch.Phase(migrate.PhaseInventory, -1, -1)
	var all atomic.Int64
	before := c.doubled.Swap(0)
	tree := inventory.NewTree(c.Dest)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Concurrency)
	for _, place := range places {
		g.Go(func() error {
			n, err := c.inventory(ctx, tree, place)
			all.Add(n)
			return err
		})
	}
	err = g.Wait()
	c.doubled.Store(max(before, c.doubled.Load()))
	return all.Load(), err
}

// share makes other sources check the containers in which this source would create assets.
func (c *existingAssets) share(ctx context.Context) error {
	var keys []state.PlaceKey
	for place := range c.places.containers {
		keys = append(keys, state.PlaceKey{Category: place.Category, Path: place.Folder})
	}
	return c.State.ForgetOursOfOthers(ctx, c.run.Pair, keys)
}

// toLookAt returns the containers that exist, or may exist, and may contain foreign assets.
func (c *existingAssets) toLookAt(ctx context.Context) (places []migrate.Place, err error) {
	for place := range maps.Keys(c.places.containers) {
		if strings.HasPrefix(place.Category, migrate.NewPrefix) {
			continue
		}
		ours, err := c.State.IsOurs(ctx, c.run.Pair.ID, place.Category, place.Folder)
		if err != nil {
			return nil, err
		}
		if !ours {
			places = append(places, place)
		}
	}
	sorting.By(places, func(a, b migrate.Place) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Folder, b.Folder))
	})
	return places, nil
}

// inventory stages the assets of one container that are not ours, if it is
// there, and counts them.
func (c *existingAssets) inventory(ctx context.Context, tree *inventory.Tree, place migrate.Place) (others int64, err error) {
	folder, err := tree.Find(ctx, place.Category, place.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	names := inventory.NewNameCounter()
	for page, err := range migrate.Pages(inventory.List(ctx, c.Dest, state.Container{Category: place.Category, Folder: folder}), migrate.PageSize) {
		if err != nil {
			return others, err
		}
		n, err := c.stageOthers(ctx, place, page, names)
		if err != nil {
			return others, err
		}
		others += n
	}
	if others > 0 {
		c.doubled.Add(names.Duplicates())
	} else if len(names.All) > 0 {
		err = c.State.SaveOurs(ctx, c.run.Pair.ID, place.Category, place.Folder)
	}
	return others, err
}

// stageOthers stages the foreign assets among those of a place, and returns their number. It
// collects the names of all assets.
func (c *existingAssets) stageOthers(ctx context.Context, place migrate.Place, page []assets.Asset, names *inventory.NameCounter) (others int64, err error) {
	receipts, err := c.State.ReceiptsOf(ctx, c.run.Pair.ID, inventory.IDsOf(page))
	if err != nil {
		return 0, err
	}
	var entries []state.Entry
	var rest []assets.Asset
	for _, a := range page {
		if _, known := receipts[a.ID]; known {
			names.Add(a, inventory.OwnAsset)
			continue
		}
		rest = append(rest, a)
		entries = append(entries, inventory.EntryOf(a, migrate.Place{Category: place.Category, Folder: place.Folder, Name: a.Filename()}.Slot()))
	}
	if len(entries) == 0 {
		return 0, nil
	}
	known, err := inventory.ExpectedAssets(ctx, c.State, c.run.Pair, inventory.IDsOf(rest))
	if err != nil {
		return 0, err
	}
	for _, a := range rest {
		if known[a.ID] {
			names.Add(a, inventory.ExpectedAsset)
		} else {
			names.Add(a, inventory.ForeignAsset)
		}
	}
	c.Watch.Progress(int64(len(entries)), 0)
	return int64(len(entries)), c.State.StageInventory(ctx, state.RunScope(c.run.Num), entries)
}

// meetAll decides again about every object whose place is taken. First each object is matched to an
// identical asset. A remaining asset in a place that belongs to no object is another user's.
func (c *existingAssets) meetAll(ctx context.Context) error {
	if err := c.reportCost(ctx); err != nil {
		return err
	}
	if err := c.findEqual(ctx); err != nil || !c.others {
		return err
	}
	return c.everyPage(ctx, c.meetOthers)
}

// reportCost reports how much will be read at most.
func (c *existingAssets) reportCost(ctx context.Context) error {
	if c.Rules.KeepsDuplicates() {
		c.Watch.Phase(migrate.PhaseCompare, -1, -1)
		return nil
	}
	cost, err := c.State.ComparisonCost(ctx, c.run.Num)
	if err != nil {
		return err
	}
	c.Watch.Phase(migrate.PhaseCompare, cost.Objects, -1)
	if cost.Objects == 0 {
		return nil
	}
	assets := cost.Bytes
	if c.Rules.OnExisting == "adopt" {
		assets = 0
	}
	c.Watch.Comparing(cost.Objects, cost.Bytes, assets)
	return nil
}

// pagesAhead is how many pages of objects are compared before the decisions about them, so that no
// worker waits for the last comparisons of a page.
const pagesAhead = 2

// findEqual decides about objects with an identical asset in their places. It compares several
// contents at once, and decides in order.
func (c *existingAssets) findEqual(ctx context.Context) error {
	ahead := make(chan *comparedPage, pagesAhead)
	claimed := maps.Clone(c.claimed) // the decisions add to it
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(ahead)
		return c.compareAhead(ctx, claimed, ahead)
	})
	g.Go(func() error {
		for p := range ahead {
			if err := c.decideEqual(ctx, p); err != nil {
				return err
			}
		}
		return c.flush(ctx)
	})
	return g.Wait()
}

// A comparedPage contains objects, the assets in their places, and the results of comparing them.
type comparedPage struct {
	items   []state.Item
	places  [][]state.Entry
	known   []comparisons
	errs    []error
	pending sync.WaitGroup // comparisons that have not ended
}

// compareAhead compares the objects of the run with the assets in their places, a page at a time.
func (c *existingAssets) compareAhead(ctx context.Context, claimed claimedAssets, ahead chan<- *comparedPage) error {
	ctx, cancel := context.WithCancel(ctx)
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(c.Concurrency)
	defer func() {
		cancel()
		_ = workers.Wait()
	}()
	comparer := &placeComparer{c.planning, claimed}
	for page, err := range migrate.Pages(c.State.Items(ctx, c.run.Num), migrate.PageSize) {
		if err != nil {
			return err
		}
		p := &comparedPage{items: slices.Clone(page), known: make([]comparisons, len(page)), errs: make([]error, len(page))}
		if p.places, err = comparer.inTheirPlaces(ctx, p.items); err != nil {
			return err
		}
		for n, i := range p.items {
			if len(p.places[n]) == 0 {
				continue
			}
			p.known[n] = comparisons{}
			p.pending.Add(1)
			workers.Go(func() error {
				defer p.pending.Done()
				_, p.errs[n] = comparer.look(ctx, i, p.places[n], p.known[n])
				if slices.ContainsFunc(p.places[n], func(e state.Entry) bool { return e.Size == i.Size }) {
					c.Watch.Progress(1, i.Size)
				}
				return p.errs[n]
			})
		}
		select {
		case ahead <- p:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return workers.Wait()
}

// decideEqual decides about the objects of a page that are identical to an asset.
func (c *existingAssets) decideEqual(ctx context.Context, p *comparedPage) error {
	p.pending.Wait()
	for n, i := range p.items {
		if p.errs[n] != nil {
			return p.errs[n]
		}
		found, err := c.look(ctx, i, c.unclaimed(p.places[n]), p.known[n])
		if err != nil {
			return err
		}
		for id, compared := range p.known[n] {
			if compared.existing == migrate.ExistingNothing {
				c.vanished[id] = true
			}
		}
		if found.existing != migrate.ExistingEqual {
			c.others = c.others || found.existing == migrate.ExistingOther
			continue
		}
		c.decideAgain(&i, found)
		if err := c.store(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// meetOthers decides about objects whose places contain other assets.
func (c *existingAssets) meetOthers(ctx context.Context, page []state.Item) error {
	places, err := c.inTheirPlaces(ctx, page)
	if err != nil {
		return err
	}
	for n, i := range page {
		others := slices.DeleteFunc(places[n], func(e state.Entry) bool { return c.vanished[e.Asset] })
		if len(others) == 0 {
			continue
		}
		c.decideAgain(&i, placeResult{comparison: comparison{existing: migrate.ExistingOther}})
		if err := c.store(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// comparisons are the known comparisons of assets with one object, by asset ID.
type comparisons map[string]comparison

// A comparison is the result for an asset and an object, and their common checksum if they are
// identical.
type comparison struct {
	existing migrate.Existing
	checksum []byte
}

// decideAgain decides again about an object, by the assets in its place.
func (n *placeComparer) decideAgain(i *state.Item, found placeResult) {
	s := migrate.Situation{Existing: found.existing}
	if i.State == state.ItemRetriesExhausted {
		s.RetriesExhausted = migrate.Reason(i.Reason)
	}
	action, why := migrate.Decide(s, n.Rules)
	i.Asset, i.Checksum = "", nil
	if action == state.Adopt {
		i.Asset, i.Checksum = found.asset, found.checksum
		n.claimed[i.Asset] = true
	}
	migrate.SetDecision(i, action, why)
}

// inTheirPlaces returns the assets in the places of objects: first those of exactly the same name,
// then those whose names people would take for it. It ignores assets that belong to another object,
// because collisions handles these.
func (n *placeComparer) inTheirPlaces(ctx context.Context, items []state.Item) ([][]state.Entry, error) {
	var slots []int64
	for _, i := range items {
		if isToBePlaced(i) {
			slots = append(slots, i.Slot)
		}
	}
	places := make([][]state.Entry, len(items))
	if len(slots) == 0 {
		return places, nil
	}
	entries, err := n.State.EntriesAt(ctx, state.RunScope(n.run.Num), slots)
	bySlot := map[int64][]state.Entry{}
	for _, e := range n.unclaimed(entries) {
		bySlot[e.Slot] = append(bySlot[e.Slot], e)
	}
	for at, i := range items {
		if isToBePlaced(i) {
			places[at] = slices.SortedStableFunc(slices.Values(bySlot[i.Slot]), func(a, b state.Entry) int {
				return cmp.Compare(nameDistance(a, i.Name), nameDistance(b, i.Name))
			})
		}
	}
	return places, err
}

func isToBePlaced(i state.Item) bool {
	return i.Action == state.Create && (i.State == state.ItemPlanned || i.State == state.ItemRetriesExhausted)
}

func (n *placeComparer) unclaimed(entries []state.Entry) []state.Entry {
	return slices.DeleteFunc(entries, func(e state.Entry) bool { return n.claimed[e.Asset] })
}

// A placeResult is the result for the place of an object.
type placeResult struct {
	comparison
	asset string
}

// look compares an object with assets, up to the first that is equal.
func (n *placeComparer) look(ctx context.Context, i state.Item, entries []state.Entry, known comparisons) (found placeResult, err error) {
	for _, e := range entries {
		c, ok := known[e.Asset]
		if !ok {
			if c, err = n.compare(ctx, i, e); err != nil {
				return found, err
			}
			if known != nil {
				known[e.Asset] = c
			}
		}
		if c.existing != migrate.ExistingNothing {
			found = placeResult{c, e.Asset}
		}
		if c.existing == migrate.ExistingEqual {
			break
		}
	}
	return found, nil
}

// nameDistance returns 0 if an asset has the name, 1 if it differs only in a way that the service
// may have caused, such as the case of the extension, and 2 if only people would take its name for
// the same.
func nameDistance(e state.Entry, name string) int {
	asset := assets.Asset{Name: e.Name, Extension: e.Extension}
	switch {
	case migrate.NormalName(asset.Filename()) == migrate.NormalName(name):
		return 0
	case migrate.SameName(asset, name):
		return 1
	}
	return 2
}

// compare compares an object and an asset. It reads their contents as far as necessary.
func (n *placeComparer) compare(ctx context.Context, i state.Item, e state.Entry) (c comparison, err error) {
	other := comparison{existing: migrate.ExistingOther}
	if e.Size != i.Size || n.Rules.KeepsDuplicates() {
		return other, nil
	}
	checksum, err := n.commonChecksum(ctx, i, e)
	_, unreadable := errors.AsType[*inventory.ObjectError](err)
	switch {
	case err == nil && checksum != nil:
		return comparison{migrate.ExistingEqual, checksum}, nil
	case err == nil:
		return other, nil
	case ctx.Err() != nil:
		return c, context.Cause(ctx)
	case unreadable:
		// The upload reports the error; the object counts as different.
		n.Log.Debug("cannot compare with the destination", "key", i.Key, "error", err)
		return other, nil
	case errors.Is(err, fs.ErrNotExist):
		return comparison{existing: migrate.ExistingNothing}, nil // deleted since it was listed
	case migrate.HasClass(err, retry.Permanent): // concerns only this asset, which does not count as identical
		n.Log.Warn("cannot compare with the destination", "key", i.Key, "asset", e.Asset, "error", err)
		return other, nil
	}
	return c, err
}

// commonChecksum returns the checksum of an object and an asset with the same content, or nil if
// they differ.
func (n *placeComparer) commonChecksum(ctx context.Context, i state.Item, e state.Entry) ([]byte, error) {
	mayBeMarked := migrate.MayBeProvenance(e.Mark, n.run.Pair.Source, i.Key, e.Asset)
	if n.Rules.OnExisting == "adopt" || mayBeMarked {
		checksum, err := inventory.ChecksumOfObject(ctx, n.Source, i.Object)
		switch {
		case err != nil:
			return nil, &inventory.ObjectError{Err: err}
		case n.Rules.OnExisting == "adopt": // the user has said so; verify --content checks it
			return checksum, nil
		case e.Mark == migrate.Provenance(n.run.Pair.Source, i.Key, checksum, e.Asset): // its metadata contains the checksum of this content
			return checksum, nil
		}
	}
	contents := inventory.Contents{Source: n.Source, Object: i.Object, Dest: n.Dest, Asset: e}
	if identical.IsChecksum(n.Source, i.VersionTag) {
		contents.MD5 = strings.ToLower(i.VersionTag)
	}
	return contents.Compare(ctx)
}
