package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/metadata"
	"assetferry/internal/rows"
	"assetferry/sources"
	"assetferry/state"
)

// followsSidecars reports whether files beside objects describe these, instead of being
// objects themselves.
func (d Deps) followsSidecars() bool {
	return d.looks(metadata.FromSidecar) && (d.Source == nil || !d.Source.Traits().NoSidecars)
}

// perhaps marks an item of what may be a sidecar, until all is listed that it may describe.
const perhaps sources.Obstacle = "may describe another object"

// A chain knows of the objects that were listed so far those which a sidecar may describe
// that is listed next: in the order of keys, all that comes between an object and its
// sidecar begins with what both begin with. So there are never more of them than a key has
// bytes.
type chain struct {
	keys  []string
	stems []string // keys without their extensions, but with the dot
}

// pass takes note of an object that is no sidecar, and forgets what lies before it.
func (c *chain) pass(key string) {
	c.forget(key)
	c.keys = append(c.keys, key)
	if stem, ok := metadata.StemOf(key); ok && !slices.Contains(c.stems, stem+".") {
		c.stems = append(c.stems, stem+".")
	}
}

func (c *chain) forget(before string) {
	passed := func(begin string) bool { return !strings.HasPrefix(before, begin) }
	c.keys, c.stems = slices.DeleteFunc(c.keys, passed), slices.DeleteFunc(c.stems, passed)
}

// has reports whether a sidecar describes one of the objects.
func (c *chain) has(sidecar string, o metadata.Owner) bool {
	c.forget(sidecar)
	return slices.ContainsFunc(c.keys, func(key string) bool { return slices.Contains(o.Keys, key) }) ||
		o.Begin != "" && slices.Contains(c.stems, o.Begin)
}

// sidecar takes an object of the listing that may describe another one, and reports whether
// it does, or is told later.
func (w *walk) sidecar(ctx context.Context, o sources.Object) (taken bool, err error) {
	owner, ok := metadata.OwnerOf(string(o.Key))
	if !ok || !w.followsSidecars() || o.Obstacle != "" || isJunk(o.Key) || matchAny(w.Rules.Exclude, o.Key) {
		return false, nil
	}
	known, remembered, err := w.sidecars.find(string(o.Key))
	if err != nil {
		return false, err
	}
	i := staged(o)
	switch same := remembered && sameFingerprint(o, known.Size, known.Time, known.VersionTag, w.Source.Traits().Precision); {
	case same && !known.Pending:
		w.page.UnchangedBytes += o.Size
		if w.page.Unchanged++; w.page.Unchanged < unchangedPage {
			return true, nil
		}
		return true, w.stage(ctx)
	case remembered, w.chain.has(string(o.Key), owner):
		write(&i, state.Skip, ReasonSidecar)
		if !same {
			w.page.Sidecars = append(w.page.Sidecars, asSidecar(i))
		}
	default:
		i.Obstacle = string(perhaps)
		w.perhaps = true
	}
	return true, w.add(ctx, i)
}

func asSidecar(i state.Item) state.Sidecar {
	folded, _ := metadata.FoldSidecar(i.Key)
	return state.Sidecar{Key: i.Key, Folded: folded, Size: i.Size, Time: i.Time, VersionTag: i.VersionTag}
}

// confirmSidecars tells what describes another object from objects, where that could not
// be told while they were listed.
func (d *decider) confirmSidecars(ctx context.Context) error {
	if !d.followsSidecars() || d.decided && !d.perhaps {
		return nil
	}
	for page, err := range pages(d.Journal.Items(ctx, d.run.Num), stagePage) {
		if err != nil {
			return err
		}
		told, err := d.tellSidecars(ctx, page)
		if err != nil {
			return err
		}
		for _, i := range told {
			if err := d.store(ctx, i); err != nil {
				return err
			}
		}
	}
	return d.flush(ctx)
}

// tellSidecars gives those of some items that describe other objects. They are known as
// sidecars before that is decided of their items: whoever goes on after a crash does not
// look at those again.
func (d *decider) tellSidecars(ctx context.Context, page []state.Item) (told []state.Item, err error) {
	var asked []string
	for _, i := range page {
		if isUntold(i) {
			asked = append(asked, i.Key)
		}
	}
	owners, err := d.owners(ctx, asked)
	if err != nil {
		return nil, err
	}
	var found []state.Sidecar
	for _, i := range page {
		if !isUntold(i) || len(owners[i.Key]) == 0 {
			continue
		}
		found = append(found, asSidecar(i))
		write(&i, state.Skip, ReasonSidecar)
		told = append(told, i)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return told, d.Journal.SaveSidecars(ctx, d.run.Num, found)
}

// isUntold reports whether an item is of what may be a sidecar.
func isUntold(i state.Item) bool {
	return sources.Obstacle(i.Obstacle) == perhaps && i.State == state.ItemStaged
}

// owners are the objects that each of some sidecars describes. One of them may be called
// like a sidecar itself, as long as there is nothing that it describes.
func (d *decider) owners(ctx context.Context, sidecars []string) (map[string][]state.SidecarOwner, error) {
	if len(sidecars) == 0 {
		return nil, nil
	}
	asked := map[string]metadata.Owner{}
	var keys, begins []string
	for _, sidecar := range sidecars {
		owner, _ := metadata.OwnerOf(sidecar)
		asked[sidecar] = owner
		if keys = append(keys, owner.Keys...); owner.Begin != "" {
			begins = append(begins, owner.Begin)
		}
	}
	there, err := d.Journal.SidecarOwners(ctx, d.run.Num, d.run.Pair.ID, keys, begins)
	if err != nil {
		return nil, err
	}
	owners := map[string][]state.SidecarOwner{}
	for sidecar, owner := range asked {
		owners[sidecar] = described(owner, there)
	}
	return owners, d.leaveOutSidecars(ctx, owners)
}

// described picks what a sidecar describes from objects in key order.
func described(by metadata.Owner, objects []state.SidecarOwner) (all []state.SidecarOwner) {
	find := func(key string) (at int, found bool) {
		return slices.BinarySearchFunc(objects, key, func(o state.SidecarOwner, key string) int { return strings.Compare(o.Key, key) })
	}
	for _, key := range by.Keys {
		if at, found := find(key); found {
			all = append(all, objects[at])
		}
	}
	if by.Begin == "" {
		return all
	}
	for at, _ := find(by.Begin); at < len(objects) && strings.HasPrefix(objects[at].Key, by.Begin); at++ {
		if o := objects[at]; by.Describes(o.Key) && !slices.Contains(by.Keys, o.Key) {
			all = append(all, o)
		}
	}
	return all
}

// leaveOutSidecars takes those out of what sidecars describe that describe others.
func (d *decider) leaveOutSidecars(ctx context.Context, described map[string][]state.SidecarOwner) error {
	isAnother := func(o state.SidecarOwner) bool {
		_, also := metadata.OwnerOf(o.Key)
		return also && !o.Arrived
	}
	var others []string
	for _, all := range described {
		for _, o := range all {
			if isAnother(o) {
				others = append(others, o.Key)
			}
		}
	}
	theirs, err := d.owners(ctx, others) // the names of these are shorter, so this ends
	for sidecar := range described {
		described[sidecar] = slices.DeleteFunc(described[sidecar], func(o state.SidecarOwner) bool { return isAnother(o) && len(theirs[o.Key]) > 0 })
	}
	return err
}

// followSidecars has assets described anew whose sidecars are not as they were. Those of
// objects that are sent now are described by them anyway.
func (d *decider) followSidecars(ctx context.Context) error {
	if !d.followsSidecars() || d.onlyFailed() != nil || d.Approval != nil {
		return nil
	}
	var done, ours []string
	items := map[string]state.Item{}
	flush := func() error {
		err := errors.Join(d.Journal.ClaimSidecars(ctx, d.run.Pair.ID, 0, done), d.Journal.ClaimSidecars(ctx, d.run.Pair.ID, d.run.Num, ours))
		if err == nil && len(items) > 0 {
			err = d.Journal.AddDrift(ctx, d.run.Num, inOrder(items))
		}
		done, ours = done[:0], ours[:0]
		clear(items)
		return err
	}
	for page, err := range pages(d.Journal.PendingSidecars(ctx, d.run.Pair.ID), stagePage) {
		if err != nil {
			return err
		}
		var keys []string
		for _, c := range page {
			keys = append(keys, c.Key)
		}
		owners, err := d.owners(ctx, keys)
		if err != nil {
			return err
		}
		for _, sidecar := range keys {
			switch anew, later := d.toDescribe(owners[sidecar]); {
			case len(anew) > 0 && d.Rules.Sync != nil:
				ours = append(ours, sidecar)
				for _, key := range anew {
					if items[key], err = d.describedAnew(ctx, key); err != nil {
						return err
					}
				}
			case !later && len(anew) == 0:
				done = append(done, sidecar)
			}
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// toDescribe tells which of the objects that a sidecar describes have an asset that has to
// be described anew, and whether there is one that a later run has to look after.
func (d *decider) toDescribe(owners []state.SidecarOwner) (anew []string, later bool) {
	for _, o := range owners {
		switch {
		case !o.Arrived && o.Action != state.Move && o.Action != state.Adopt:
		case o.Action == "" || o.Action == state.Describe:
			anew = append(anew, o.Key)
		case o.Action != state.Create && o.Action != state.Replace:
			later = true
		}
	}
	return anew, later
}

// describedAnew is the item of an object that is as it was, and whose asset is to be
// described again.
func (d *decider) describedAnew(ctx context.Context, key string) (state.Item, error) {
	r, err := d.Journal.Receipt(ctx, d.run.Pair.ID, key)
	if err != nil {
		return state.Item{}, err
	}
	i := state.Item{Key: r.Key, Size: r.Size, Time: r.Time, VersionTag: r.VersionTag, Asset: r.Asset}
	action, why := Decide(Situation{Memory: Same, Redescribed: true}, d.Rules)
	write(&i, action, why)
	return i, nil
}

func inOrder(items map[string]state.Item) []state.Item {
	all := make([]state.Item, 0, len(items))
	for _, i := range items {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b state.Item) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// inSidecars reads the sidecars of an object. Those that cannot be read say nothing, and the
// remark says why.
func (d Deps) inSidecars(ctx context.Context, run state.Run, key string) (fields metadata.Fields, remark string, err error) {
	if !d.followsSidecars() || d.sidecarless {
		return nil, "", nil
	}
	keys := metadata.SidecarsOf(key)
	all, err := d.Journal.SidecarsAmong(ctx, run.Pair.ID, keys)
	if err != nil {
		return nil, "", &journalError{err}
	}
	slices.SortFunc(all, func(a, b state.Sidecar) int { return slices.Index(keys, a.Folded) - slices.Index(keys, b.Folded) })
	for _, c := range all {
		says, wrong, err := d.readSidecar(ctx, c)
		if err != nil {
			return nil, "", err
		}
		fields, remark = fields.Or(says), joined(remark, wrong)
	}
	return fields, remark, nil
}

// NotTaken is in the remark on an object that has a sidecar which cannot be read, after the
// key of that.
const NotTaken = "says was not taken"

// readSidecar reads a sidecar. One that was written anew since it was listed is read by a
// later run.
func (d Deps) readSidecar(ctx context.Context, c state.Sidecar) (fields metadata.Fields, remark string, err error) {
	o := sources.Object{Key: sources.Key(c.Key), Size: c.Size, Time: c.Time, VersionTag: c.VersionTag}
	r, err := d.Source.Open(ctx, o, 0)
	if err == nil {
		fields, err = metadata.ReadSidecar(c.Key, r)
		err = errors.Join(err, r.Close())
	}
	if _, wrong := errors.AsType[*rows.Mistake](err); wrong || saysNothing(err) {
		return nil, fmt.Sprintf("what %s %s: %v", c.Key, NotTaken, err), nil
	}
	return fields, "", err
}
