package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// moveMethod moves and renames assets after their objects. Moves of a batch into one container are
// one request.
type moveMethod struct{ *structure }

func (m moveMethod) Kind() state.Kind { return state.Moves }

// A pendingMove is an asset on its way.
type pendingMove struct {
	item     state.Item
	receipt  state.Receipt     // of the object, as it becomes
	left     time.Time         // our last change of the asset, if a user has changed it since; see leftBefore
	from     migrate.Container // the previous container
	at       migrate.Container // the present container
	current  bool              // the service has returned the asset since its last change
	refusal  error             // the reason why it is not moved
	failure  string            // why it is in its place, but not as it should be
	misnamed bool              // only its name is not as it should be
	reported description       // the metadata that was written into it
	remark   string            // for people
}

// takes stores the asset as the service returned it.
func (p *pendingMove) takes(a assets.Asset) {
	r := &p.receipt
	r.Name, r.Extension, r.URL, r.Images, r.Modified = a.Name, a.Extension, a.URL, a.ImageURLs, a.LastModifiedAt
	p.current = true
}

// isNamed reports whether the asset has its name.
func (p *pendingMove) isNamed() bool {
	name, extension := migrate.SplitName(p.item.Name)
	return norm.NFC.String(p.receipt.Name) == norm.NFC.String(name) && p.receipt.Extension == extension
}

// A moveGroup is all moves of a batch into one container.
type moveGroup struct {
	category, folder string
	moves            []*pendingMove
	begun            bool // some of its assets may have been moved
}

// groupMoves groups moves by container, in the order of the batch.
func groupMoves(all []*pendingMove) (bound []*moveGroup) {
	known := map[[2]string]*moveGroup{}
	for _, p := range all {
		place := [2]string{p.item.Category, p.item.Folder}
		d := known[place]
		if d == nil {
			d = &moveGroup{category: p.item.Category, folder: p.item.Folder}
			known[place], bound = d, append(bound, d)
		}
		d.moves = append(d.moves, p)
	}
	return bound
}

// Ask moves a batch to its places. A move that has begun is finished even if the run is asked to
// stop. Otherwise an asset would be in its new place under its former name.
func (m moveMethod) Ask(ctx context.Context, batch []state.Item) (outcomes []state.Outcome, cause error) {
	all := make([]*pendingMove, len(batch))
	if err := m.each(ctx, len(batch), func(ctx context.Context, n int) (err error) {
		all[n], err = m.start(ctx, batch[n])
		return err
	}); err != nil {
		return nil, err
	}
	for _, d := range groupMoves(all) {
		c, err := m.moveGroup(ctx, d)
		if err != nil && d.begun {
			return outcomes, Begun(err)
		} else if err != nil {
			return outcomes, err
		}
		for _, p := range d.moves {
			outcomes = append(outcomes, p.outcome(c))
		}
	}
	return outcomes, nil
}

// each calls f with the numbers up to n, several at once.
func (m moveMethod) each(ctx context.Context, n int, f func(ctx context.Context, n int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(m.Concurrency)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// start finds the container of an asset. The state database knows it, unless a user may have moved
// the asset and the rules allow that.
func (m moveMethod) start(ctx context.Context, i state.Item) (*pendingMove, error) {
	r, err := m.State.Receipt(ctx, m.run.Pair.ID, i.PreviousKey)
	if err != nil {
		return nil, migrate.NewStateError(err)
	}
	was, err := m.before(ctx, i)
	if err != nil {
		return nil, err
	}
	r.Key, r.Size, r.Time, r.VersionTag, r.ContentType = i.Key, i.Size, i.Time, i.VersionTag, i.ContentType
	p := &pendingMove{item: i, receipt: r, left: was.Left, at: migrate.Container{Category: r.Category, Folder: r.Folder}}
	p.from = p.at
	if i.PreviousKey != i.Key && !m.rules.Overwrites() {
		return p, nil
	}
	asset, err := m.Dest.Asset(ctx, i.Asset)
	if errors.Is(err, fs.ErrNotExist) {
		p.refusal = &DeletedError{i.Asset}
		return p, nil
	}
	p.takes(asset)
	p.at = migrate.Container{Category: asset.CategoryID, Folder: asset.FolderID}
	p.from = p.at
	return p, err
}

// moveGroup moves assets to their container and completes them. A deleted folder is created again
// once, with its parents.
func (m moveMethod) moveGroup(ctx context.Context, d *moveGroup) (migrate.Container, error) {
	began := m.Now()
	for again := false; ; again = true {
		c, err := m.container(retry.WithDrain(ctx, m.Stop), d.category, d.folder)
		if err != nil {
			return c, err
		}
		err = m.moveAll(ctx, c, d)
		if err == nil {
			return c, m.complete(ctx, c, d.moves, began)
		}
		if again || d.folder == "" || !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
		if err := m.forget(ctx, c, d.folder); err != nil {
			return c, err
		}
	}
}

// moveAll moves assets to a container. Refused ones are tried again under their new names.
func (m moveMethod) moveAll(ctx context.Context, c migrate.Container, d *moveGroup) error {
	if err := m.move(ctx, c, d.moves); err != nil {
		return err
	}
	d.begun = true
	for _, p := range d.moves {
		if p.refusal == nil || errors.Is(p.refusal, fs.ErrNotExist) || p.isNamed() {
			continue
		}
		if err := m.renameAndMove(ctx, c, p); err != nil {
			return err
		}
	}
	return nil
}

func (m moveMethod) move(ctx context.Context, c migrate.Container, moves []*pendingMove) error {
	var transfers []assets.Transfer
	for _, p := range moves {
		if p.refusal == nil && p.at != c {
			transfers = append(transfers, assets.Transfer{AssetID: p.item.Asset})
		}
	}
	if len(transfers) == 0 {
		return nil
	}
	refused, err := Refusals(m.Write.Move(ctx, targetIn(c), transfers...))
	if err != nil {
		return err
	}
	for _, p := range moves {
		if p.refusal != nil || p.at == c {
			continue
		}
		switch refusal := refused.Refusal(p.item.Asset); {
		case errors.Is(refusal, fs.ErrNotExist):
			p.refusal = &DeletedError{p.item.Asset}
		case refusal != nil:
			p.refusal = fmt.Errorf("its asset is not moved, because another asset there may have its name: %w", refusal)
		default:
			p.at, p.current = c, false
		}
	}
	return nil
}

// targetIn returns a container as the target of a request.
func targetIn(c migrate.Container) assets.Target {
	return assets.Target{CategoryID: c.Category, FolderID: c.Folder}
}

// renameAndMove gives an asset its new name before the move, and its former one again if that did
// not help: otherwise the next plan would report an edit.
func (m moveMethod) renameAndMove(ctx context.Context, c migrate.Container, p *pendingMove) error {
	former := p.receipt.Filename()
	if err := m.rename(ctx, p, p.item.Name); migrate.HasClass(err, retry.Permanent) {
		return nil // the earlier refusal remains
	} else if err != nil {
		return err
	}
	p.refusal = nil
	if err := m.move(ctx, c, []*pendingMove{p}); err != nil || p.refusal == nil {
		return err
	}
	return m.rename(ctx, p, former)
}

func (m moveMethod) rename(ctx context.Context, p *pendingMove, to string) error {
	name, extension := migrate.SplitName(to)
	var changes assets.Changes
	if p.receipt.Name != name {
		changes.Name = &name
	}
	if p.receipt.Extension != extension {
		changes.Extension = &extension
	}
	asset, err := m.Write.Update(ctx, p.item.Asset, changes)
	if err == nil {
		p.takes(asset)
	}
	return err
}

// complete renames moved assets, updates their metadata, and reads their modification times.
func (m moveMethod) complete(ctx context.Context, c migrate.Container, moves []*pendingMove, began time.Time) error {
	if err := m.each(ctx, len(moves), func(ctx context.Context, n int) error {
		p := moves[n]
		if p.refusal != nil {
			return nil
		}
		if err := m.giveName(ctx, c, p); err != nil {
			return err
		}
		return m.updateMetadata(ctx, p)
	}); err != nil {
		return err
	}
	return m.askWhen(ctx, c, moves, began)
}

func (m moveMethod) giveName(ctx context.Context, c migrate.Container, p *pendingMove) error {
	if p.isNamed() {
		return nil
	}
	former := p.receipt.Filename()
	err := m.rename(ctx, p, p.item.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.refusal = &DeletedError{p.item.Asset}
		return nil
	case migrate.HasClass(err, retry.Permanent):
		p.failure = fmt.Sprintf("its asset is moved, but keeps the name %q: %v", former, err)
	case err == nil && migrate.FoldName(p.receipt.Filename()) != migrate.FoldName(p.item.Name):
		p.failure = fmt.Sprintf("the service named its asset %q", p.receipt.Filename())
	default:
		return err
	}
	if p.item.Reason == string(migrate.ReasonNameAvailable) {
		return m.keepName(ctx, p, former)
	}
	if migrate.FoldName(former) == migrate.FoldName(p.item.Name) { // so a name conflict cannot be checked
		return unlessPermanent(m.giveDistinctName(ctx, p))
	}
	return unlessPermanent(m.moveBack(ctx, c, p, former))
}

// giveDistinctName gives an asset a distinct name; a later run renames it when its own name is
// available.
func (m moveMethod) giveDistinctName(ctx context.Context, p *pendingMove) error {
	name := migrate.DistinctName(p.item.Name, p.item.Key)
	if err := m.rename(ctx, p, name); err != nil {
		return err
	}
	p.failure, p.misnamed = fmt.Sprintf("%s; its name is %q for now", p.failure, p.receipt.Filename()), true
	p.item.Name = name
	return nil
}

// moveBack restores the place and name of an asset if another one got its new name since the plan:
// the next run decides again. If the service fails or refuses, the asset stays.
func (m moveMethod) moveBack(ctx context.Context, c migrate.Container, p *pendingMove, former string) error {
	taken, err := m.Dest.NamesTaken(ctx, targetIn(c), p.item.Name)
	if err != nil || len(taken) == 0 {
		return err
	}
	if p.receipt.Filename() != former {
		if err := m.rename(ctx, p, former); err != nil {
			return err
		}
	}
	if err := m.move(ctx, p.from, []*pendingMove{p}); err != nil {
		return err
	}
	if p.refusal = nil; p.at == p.from {
		p.refusal = &takenError{p.item.Name}
	}
	return nil
}

func unlessPermanent(err error) error {
	if migrate.HasClass(err, retry.Permanent) {
		return nil
	}
	return err
}

// keepName keeps the current name of an asset if its new name is still taken: a later run tries
// again, and the item does not fail.
func (m moveMethod) keepName(ctx context.Context, p *pendingMove, former string) error {
	p.remark, p.failure = fmt.Sprintf("its name is not available yet, so its asset keeps the name %q", former), ""
	p.item.Name = former
	if p.isNamed() {
		return nil
	}
	return m.rename(ctx, p, former)
}

// updateMetadata updates the metadata of a moved asset, and its provenance, if either is written.
func (m moveMethod) updateMetadata(ctx context.Context, p *pendingMove) error {
	if some, err := m.hasMetadataChanges(ctx, p); p.refusal != nil || !some || err != nil {
		return err
	}
	asset, err := m.Dest.Asset(ctx, p.item.Asset)
	if err != nil {
		return err
	}
	p.takes(asset)
	d, err := m.writeMetadata(ctx, p.item, &asset, &p.receipt, nil)
	if migrate.HasClass(err, retry.Permanent) || isOfSource(err) {
		p.failure, p.misnamed = migrate.JoinTexts(p.failure, "its asset is moved, but its metadata is not written: "+err.Error()), false
		return nil
	} else if err != nil {
		return err
	}
	p.receipt.Modified, p.reported, p.remark = d.modified, d, migrate.JoinTexts(p.remark, d.remark)
	return nil
}

// isOfSource reports whether an object cannot be read now. Other objects may be readable.
func isOfSource(err error) bool {
	_, ok := errors.AsType[*sources.Error](err)
	return ok && !migrate.HasClass(err, retry.Fatal)
}

// hasMetadataChanges reports whether a moved asset needs a metadata update, without a request to the
// destination: the metadata of most objects is unchanged.
func (m moveMethod) hasMetadataChanges(ctx context.Context, p *pendingMove) (bool, error) {
	i := p.item
	if m.Provenance == "always" {
		return true, nil
	}
	if hasNewKey(i) && !p.receipt.Adopted { // adopted assets have no metadata from a source
		if changed, err := m.HasChangedAtSource(ctx, m.run, i.Object, i.PreviousKey); changed || err != nil {
			return changed, err
		}
	}
	beside, remark, err := m.SidecarFields(ctx, m.run, i.Key)
	if err != nil || remark != "" { // which people hear of once it is described
		return true, err
	}
	if beside == nil && m.Describer == nil {
		return false, nil
	}
	last, err := m.LastDescription(ctx, m.run, cmp.Or(i.PreviousKey, i.Key))
	if err != nil {
		return false, err
	}
	found := last.Found
	if beside != nil {
		found = found.With(metadata.FromSidecar, beside)
	}
	fields, err := m.TableFields(ctx, m.run, i.Key, i.Checksum, found)
	if err != nil || fields == nil && beside == nil {
		return false, err
	}
	if fields != nil {
		found = found.With(metadata.FromTable, fields)
	}
	said, _, err := m.Say(i.Object, found)
	return said.Over(last.Base).Encode() != last.Text, err
}

// askWhen reads the modification times of assets that were only moved. Some services count a move
// as a change and list these assets first. For other services the state database has the times. The
// service's clock may have been set back since.
func (m moveMethod) askWhen(ctx context.Context, c migrate.Container, moves []*pendingMove, began time.Time) error {
	wanted := map[string]*pendingMove{}
	for _, p := range moves {
		if p.refusal == nil && !p.current {
			wanted[p.item.Asset] = p
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if now := m.Now(); now.Before(began) {
		began = now
	}
	o := assets.ListOptions{CategoryID: c.Category, SortBy: assets.ByLastModifiedAt, Order: assets.Descending, PageSize: bulkBatch, Since: began.Add(-clockSlack)}
	if c.Folder != "" {
		o.CategoryID, o.FolderID = "", c.Folder
	}
	for asset, err := range m.Dest.List(ctx, o) {
		if err != nil {
			return err
		}
		if p := wanted[asset.ID]; p != nil {
			p.takes(asset)
			delete(wanted, asset.ID)
		}
		if len(wanted) == 0 {
			return nil
		}
	}
	return nil
}

// outcome returns the outcome of a pending move.
func (p *pendingMove) outcome(c migrate.Container) state.Outcome {
	if p.refusal != nil {
		return Failure(p.item, p.refusal)
	}
	p.receipt.Category, p.receipt.Folder = c.Category, c.Folder
	p.receipt.Slot = migrate.Place{Category: c.Category, Folder: p.item.Folder, Name: p.item.Name}.Slot()
	if !p.left.IsZero() {
		p.receipt.Modified = p.left
	}
	o := state.Outcome{Key: p.item.Key, State: state.ItemDone, Receipt: &p.receipt, InsteadOf: p.item.PreviousKey, Error: p.remark}
	p.reported.into(&o)
	if p.failure != "" {
		o.State, o.Class, o.Error, o.Misnamed = state.ItemFailed, string(retry.Permanent), p.failure, p.misnamed
	}
	return o
}

// Look checks whether an asset is in its place, and finishes a begun move. An asset with only its
// new name gets its former one again.
func (m moveMethod) Look(ctx context.Context, i state.Item) (o state.Outcome, err error) {
	began := m.Now()
	c, err := m.lookup(ctx, i.Category, i.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	} else if err != nil {
		return o, err
	}
	p, err := m.start(ctx, i)
	if err != nil {
		return o, err
	}
	asset, err := m.Dest.Asset(ctx, i.Asset)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil // the error shows when it is tried again
	} else if err != nil {
		return o, err
	}
	former, hadName, stayed := p.receipt.Filename(), p.isNamed(), p.at == c
	p.takes(asset)
	p.at = migrate.Container{Category: asset.CategoryID, Folder: asset.FolderID}
	switch {
	case p.at != c && p.at == p.from && !hadName && p.isNamed(): // see renameAndMove
		return o, Begun(unlessPermanent(m.rename(ctx, p, former)))
	case p.at != c || stayed && !p.isNamed():
		return o, nil
	}
	if err := m.complete(ctx, c, []*pendingMove{p}, began); err != nil {
		return o, Begun(err)
	}
	return p.outcome(c), nil
}

// A DeletedError means that the asset of a planned change does not exist any more.
type DeletedError struct{ Asset string }

func (e *DeletedError) Error() string {
	return fmt.Sprintf("its asset %s was deleted at the destination after it was planned", e.Asset)
}

// Is reports that the error is an fs.ErrNotExist.
func (e *DeletedError) Is(target error) bool { return target == fs.ErrNotExist }

// Class returns permanent: the next plan decides again.
func (e *DeletedError) Class() retry.Class { return retry.Permanent }

// A takenError means that another asset has the new name of an asset.
type takenError struct{ name string }

func (e *takenError) Error() string {
	return fmt.Sprintf("its asset is not moved, because another asset got the name %q after it was planned", e.name)
}

// Class returns permanent: the next plan decides again.
func (e *takenError) Class() retry.Class { return retry.Permanent }
