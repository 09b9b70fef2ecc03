package migrate

import (
	"cmp"
	"context"
	"errors"
	"path"
	"strings"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/faultpoint"
	"assetferry/sources"
	"assetferry/state"
)

// oneAsset is the rule under which equal objects share one asset.
const oneAsset = "one-asset"

// isAlias finds the alias that an object still is, by all that its fingerprint says; nil if
// it is none, or if something else is to be said of it.
func (w *walk) isAlias(o sources.Object, approved state.Item, isApproved bool) (*state.Alias, error) {
	a, known, err := w.aliases.find(string(o.Key))
	if err != nil || !known {
		return nil, err
	}
	s := w.situation(o, Same, state.Receipt{}, approved, isApproved)
	switch {
	case !sameFingerprint(o, a.Size, a.Time, a.VersionTag, w.Source.Traits().Precision):
	case a.Run != w.run.Num && isApproved && acts(approved): // it was to become something else
	case w.Rules.Duplicates == oneAsset && w.trust(Same) != Same: // to be read again
	case s.LeftOut == "" && s.Failed == "":
		return &a, nil
	}
	return nil, nil
}

// passAlias counts an object that is an alias and has not changed.
func (w *walk) passAlias(ctx context.Context, a state.Alias) error {
	w.chain.pass(a.Key)
	w.listed++
	w.Watch.Progress(1, 0)
	if a.Run == w.run.Num { // joined before the run was listed again: it counts as done
		return nil
	}
	name, extension := splitName(path.Base(a.Key))
	return w.countUnchanged(ctx, state.Receipt{Key: a.Key, Size: a.Size, Time: a.Time, VersionTag: a.VersionTag, Name: name, Extension: extension})
}

// lostAlias has an alias forgotten whose object is not listed any more. Nothing is lost with it.
func (w *walk) lostAlias(ctx context.Context, a state.Alias) error {
	if w.unread.hides(a.Key) {
		return nil
	}
	if w.page.LostAliases = append(w.page.LostAliases, a.Key); len(w.page.LostAliases) < stagePage {
		return nil
	}
	return w.stage(ctx)
}

// partAliases decides anew about aliases whose owner does not stay what it was. Where its
// content changed they have that no more, and all of them are new objects. Where it is gone,
// the first of them gets its asset, which is moved as for any object that has another key.
func (d *decider) partAliases(ctx context.Context) error {
	if d.Rules.Sync == nil || d.Approval != nil { // in an approved plan they have items
		return nil
	}
	p := parting{decider: d}
	for i, err := range d.Journal.Items(ctx, d.run.Num) {
		gone := sources.Obstacle(i.Obstacle) == absent
		switch {
		case err != nil:
			return err
		case gone:
			err = p.succeed(ctx, i)
		case i.Action == state.Replace && i.State == state.ItemPlanned:
			err = p.all(ctx, i.Key)
		}
		if err != nil {
			return err
		}
	}
	return p.end(ctx)
}

// A parting collects aliases that become something else.
type parting struct {
	*decider
	anew []state.Item // that have no item yet
	heir []state.Item // of these and others, those that get the asset of their owner
}

// all parts all aliases from an owner.
func (p *parting) all(ctx context.Context, owner string) error {
	for a, err := range p.Journal.AliasesOf(ctx, p.run.Pair.ID, owner) {
		if err == nil {
			_, err = p.part(ctx, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// succeed finds the alias that gets the asset of an owner which is gone: the first that is
// to be taken.
func (p *parting) succeed(ctx context.Context, gone state.Item) error {
	for a, err := range p.Journal.AliasesOf(ctx, p.run.Pair.ID, gone.Key) {
		if err != nil {
			return err
		}
		heir, err := p.part(ctx, a)
		if err != nil {
			return err
		}
		if heir.Action != state.Create || heir.State != state.ItemPlanned {
			continue
		}
		r, err := p.Journal.Receipt(ctx, p.run.Pair.ID, gone.Key)
		if err != nil {
			return err
		}
		gone.Asset = r.Asset
		m := movement{gone: state.Candidate{Item: gone, Gone: true, Digest: r.Digest}, new: state.Candidate{Item: heir}}
		if heir, err = p.become(ctx, m); err != nil {
			return err
		}
		p.heir = append(p.heir, heir)
		return nil
	}
	return nil
}

// part gives the item of an alias that is a new object.
func (p *parting) part(ctx context.Context, a state.Alias) (state.Item, error) {
	i, isNew, err := p.decider.part(ctx, a)
	if err != nil || !isNew {
		return i, err
	}
	if p.anew = append(p.anew, i); len(p.anew) < stagePage {
		return i, nil
	}
	return i, p.end(ctx)
}

// end stores what was collected.
func (p *parting) end(ctx context.Context) error {
	if len(p.anew) > 0 {
		if err := p.Journal.AddDrift(ctx, p.run.Num, p.anew); err != nil {
			return err
		}
		faultpoint.Hit(faultpoint.Decided)
		p.anew = p.anew[:0]
	}
	for _, i := range p.heir {
		if err := p.store(ctx, i); err != nil {
			return err
		}
	}
	p.heir = p.heir[:0]
	return p.flush(ctx)
}

// part gives the item of an alias that is a new object, and whether there was none yet.
func (d *decider) part(ctx context.Context, a state.Alias) (i state.Item, isNew bool, err error) {
	i, err = d.Journal.Item(ctx, d.run.Num, a.Key)
	if !errors.Is(err, state.ErrNotFound) {
		return i, false, err
	}
	i = state.Item{Key: a.Key, Size: a.Size, Time: a.Time, VersionTag: a.VersionTag}
	if d.Mapping.PlaceNeedsMetadata() {
		if d.ahead, err = d.lookAhead(ctx, []state.Item{{Key: a.Key, Size: a.Size, Time: a.Time, VersionTag: a.VersionTag, State: state.ItemStaged}}); err != nil {
			return i, false, err
		}
		defer func() { d.ahead = nil }()
	}
	s := d.situation(object(i), Unknown, state.Receipt{}, state.Item{}, false)
	err = d.judge(ctx, &i, s, state.Receipt{}, state.Item{})
	return i, true, err
}

// stillAlone reports of an object that is gone, and of which is known since when, whether it
// is the only one that its asset stands for.
func (d *decider) stillAlone(ctx context.Context, key string, known bool) (bool, error) {
	if !known {
		return false, nil
	}
	for _, err := range d.Journal.AliasesOf(ctx, d.run.Pair.ID, key) {
		return false, err
	}
	return true, nil
}

// joinEqual finds among what is to be created the objects whose content another object has,
// and which are to share its asset. It comes when all else is decided: so what they share
// is surely to be there, or is already.
//
// Only objects of one size can be equal, so there is never more in memory than those. What
// is empty says nothing, and an asset keeps its category and its extension, so objects that
// differ in these have assets of their own.
func (d *decider) joinEqual(ctx context.Context) error {
	if d.Rules.Duplicates != oneAsset || d.Rules.AdoptOnly {
		return nil
	}
	left, err := d.Journal.Tallies(ctx, d.run.Num)
	if err != nil || !creates(left) {
		return err
	}
	d.Watch.Phase(PhaseCompare, -1, -1)
	var group []state.Sharer
	for c, err := range d.Journal.Sharers(ctx, d.run.Num, d.run.Pair.ID) {
		if err != nil {
			return err
		}
		if len(group) > 0 && group[0].Size != c.Size {
			if err := d.joinGroup(ctx, group); err != nil {
				return err
			}
			group = group[:0]
		}
		group = append(group, c)
	}
	if err := d.joinGroup(ctx, group); err != nil {
		return err
	}
	return d.flush(ctx)
}

func creates(tallies []state.Tally) bool {
	for _, t := range tallies {
		if t.Action == state.Create && t.State == state.ItemPlanned {
			return true
		}
	}
	return false
}

// joinGroup joins objects of one size. An owner that has an asset goes before one that is
// still to be sent.
func (d *decider) joinGroup(ctx context.Context, group []state.Sharer) error {
	byExtension := map[string][]state.Sharer{}
	for _, c := range group {
		extension := strings.ToLower(path.Ext(c.Key))
		byExtension[extension] = append(byExtension[extension], c)
	}
	for _, alike := range byExtension { // their order does not matter: no two of them meet
		if len(alike) < 2 {
			continue
		}
		contents, err := d.contentsOfSharers(ctx, alike)
		if err != nil {
			return err
		}
		if err := d.joinAlike(ctx, alike, contents); err != nil {
			return err
		}
	}
	return nil
}

// joinAlike joins objects of one size and extension, by their contents. Those of which none
// is known stay as they are: sending them will tell what is wrong with them.
func (d *decider) joinAlike(ctx context.Context, alike []state.Sharer, contents []string) error {
	owners := map[[2]string]state.Item{} // by content and category
	for _, owns := range []bool{true, false} {
		for n, c := range alike {
			if c.Owns != owns || contents[n] == "" {
				continue
			}
			if err := d.findCategory(ctx, &c); err != nil {
				return err
			}
			same := [2]string{contents[n], c.Category}
			owner, found := owners[same]
			switch {
			case !found:
				owners[same] = c.Item
			case !owns:
				if err := d.store(ctx, asAlias(c.Item, owner, contents[n])); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// findCategory completes what is read of a receipt.
func (d *decider) findCategory(ctx context.Context, c *state.Sharer) error {
	if c.Category != "" {
		return nil
	}
	r, err := d.Journal.Receipt(ctx, d.run.Pair.ID, c.Key)
	c.Category = r.Category
	return err
}

// tagged marks a content that a version tag tells, and not a digest.
const tagged = "tag:"

// asAlias gives the item of an object that shares the asset of another one. It takes no place.
func asAlias(i, owner state.Item, content string) state.Item {
	i.Origin, i.Slot = owner.Key, 0
	i.Digest = owner.Digest
	if !strings.HasPrefix(content, tagged) {
		i.Digest = []byte(content)
	}
	write(&i, state.Adopt, ReasonJoined)
	return i
}

// contentsOfSharers gives what tells the contents of objects of one size apart: digests, or
// where each of them has one that proves its content, version tags. It is "" for what cannot
// be read.
func (d *decider) contentsOfSharers(ctx context.Context, alike []state.Sharer) ([]string, error) {
	contents, allTagged := make([]string, len(alike)), true
	byTag := map[string]string{}
	for n, c := range alike {
		proves := d.isDigest(c.VersionTag)
		allTagged = allTagged && proves
		if c.Owns {
			contents[n] = string(c.Digest)
		}
		if c.Owns && proves {
			byTag[c.VersionTag] = contents[n]
		}
	}
	if allTagged {
		for n, c := range alike {
			contents[n] = tagged + c.VersionTag
		}
		return contents, nil
	}
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(max(d.Concurrency, 1))
	for n, c := range alike {
		if d.isDigest(c.VersionTag) {
			contents[n] = cmp.Or(contents[n], byTag[c.VersionTag])
		}
		if contents[n] != "" {
			continue
		}
		g.Go(func() error {
			digest, err := digestOfObject(parallel, d.Source, object(c.Item))
			if parallel.Err() != nil {
				return context.Cause(parallel)
			}
			if err == nil {
				contents[n] = string(digest)
			}
			d.Watch.Progress(1, c.Size)
			return nil
		})
	}
	return contents, g.Wait()
}

// joining has objects share assets. Nothing is asked of the service: the journal tells
// whether what they share has arrived.
type joining struct {
	Deps
	run state.Run
}

func (joining) kind() state.Kind { return state.Joins }

func (j joining) ask(ctx context.Context, batch []state.Item) ([]state.Outcome, error) {
	outcomes := make([]state.Outcome, len(batch))
	for n, i := range batch {
		remark, err := j.leftUnsaid(ctx, i)
		if err != nil {
			return nil, err
		}
		outcomes[n] = state.Outcome{Key: i.Key, State: state.ItemDone, Joins: i.Origin, Error: remark}
	}
	return outcomes, nil
}

// leftUnsaid tells that somebody wrote down what describes an object, and that it goes
// nowhere, since the asset is described as that of another one.
func (j joining) leftUnsaid(ctx context.Context, i state.Item) (remark string, err error) {
	fields, err := j.inTable(ctx, j.run, i.Key, nil, nil)
	if err != nil {
		return "", err
	}
	beside, remark, err := j.inSidecars(ctx, j.run, i.Key)
	if err == nil && len(fields)+len(beside) > 0 {
		remark = joined("what describes it in a table or a sidecar went nowhere: its asset is described as "+i.Origin+" is", remark)
	}
	return remark, err
}

// look knows nothing of what was not recorded: that is all there is to it.
func (joining) look(context.Context, state.Item) (state.Outcome, error) {
	return state.Outcome{}, nil
}
