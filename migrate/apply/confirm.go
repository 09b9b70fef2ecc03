package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

const (
	// clockSlack is how much earlier than its intent an upload may seem to be: the server's clock
	// is known to a second and may have been set a little since.
	clockSlack = 5 * time.Minute
	// listedPerRequest is the number of assets in one page of a list.
	listedPerRequest = 50
)

// A finding is the result of a check of an unconfirmed item.
type finding struct {
	pending
	final   bool           // an upload that is not visible now will not appear
	later   bool           // unknown until the whole container has been listed
	receipt *state.Receipt // the created asset, if it exists
	extra   []string       // further assets that look the same
	remark  string         // remark on a successful item
	refused string         // the reason why it has another name
	err     error          // it could not be found out

	candidates   []assets.Asset // possible assets, if the object cannot be compared any more
	unverifiable bool           // the receipt is of the only possible asset; see matchUnverifiable
}

// confirmAll checks unconfirmed items: the asset of a replacement, or else the container. A
// container is listed once, newest first, back to shortly before the oldest intent, and completely
// before any item is uploaded again; see lookThroughAll.
func (a *Applier) confirmAll(ctx context.Context, s *structure, unconfirmed []pending, now time.Time, atRest bool) []finding {
	reported, unconfirmed := a.confirmEachReplaced(ctx, unconfirmed, now)
	groups := map[migrate.Container][]finding{}
	for _, q := range unconfirmed {
		c := migrate.Container{Category: q.item.Category, Folder: q.item.Folder}
		groups[c] = append(groups[c], finding{pending: q, final: !now.Before(q.due)})
	}
	g := errgroup.Group{}
	g.SetLimit(a.Concurrency)
	for c, group := range groups {
		g.Go(func() error {
			if err := a.confirmGroup(ctx, s, c, group, atRest); err != nil {
				for n := range group {
					group[n].err = err
				}
			}
			return nil
		})
	}
	_ = g.Wait() // each finding has its own error
	return append(reported, slices.Concat(slices.Collect(maps.Values(groups))...)...)
}

// confirmGroup completes the findings about items of one place.
func (a *Applier) confirmGroup(ctx context.Context, s *structure, place migrate.Container, group []finding, atRest bool) error {
	c, err := s.lookup(ctx, place.Category, place.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // so no upload can have created an asset in it
	} else if err != nil {
		return err
	}
	claimed := map[string]bool{}
	a.lookAtRecent(ctx, c, group, claimed)
	a.lookThroughAll(ctx, c, group, claimed, atRest)
	a.matchUnverifiable(ctx, c, group, claimed)
	if slices.ContainsFunc(group, finding.isUnknown) {
		// The next plan for this place has to list its assets.
		if err := a.State.ForgetOurs(ctx, a.run.Pair.ID, c.Category, place.Folder); err != nil {
			return migrate.NewStateError(err)
		}
	}
	return nil
}

// lookAtRecent searches the assets that a container has received since the uploads of some items.
func (a *Applier) lookAtRecent(ctx context.Context, c migrate.Container, group []finding, claimed map[string]bool) {
	var wanted []*finding
	var since time.Time
	for n := range group {
		f := &group[n]
		if f.unseen {
			continue
		}
		if wanted = append(wanted, f); since.IsZero() || f.item.IntentAt.Before(since) {
			since = f.item.IntentAt
		}
	}
	if len(wanted) == 0 {
		return
	}
	candidates, _, err := a.namesakesIn(ctx, c, wanted, since)
	if err == nil {
		candidates, err = a.withoutPlanned(ctx, wanted, candidates)
	}
	for _, f := range wanted {
		if f.err = err; err == nil {
			since, _ := byAge(f.item, candidates)
			a.match(ctx, c, f, since, claimed)
		}
	}
}

// lookThroughAll searches a whole container for items that would otherwise be uploaded again. It
// compares no times: the clock of the service may have been set back since the upload, or the asset
// may come from another node whose clock differs.
//
// A large container is listed completely if the number of items to find is at least the number
// of requests that the listing takes, or if there is no other work.
func (a *Applier) lookThroughAll(ctx context.Context, c migrate.Container, group []finding, claimed map[string]bool, atRest bool) {
	var wanted []*finding
	for n := range group {
		if f := &group[n]; f.final && f.receipt == nil && f.err == nil && f.item.Action != state.Adopt {
			wanted = append(wanted, f)
		}
	}
	if len(wanted) == 0 {
		return
	}
	if !atRest && len(wanted)*listedPerRequest < a.sizes.of(c) {
		for _, f := range wanted {
			f.later = true
		}
		return
	}
	candidates, n, err := a.namesakesIn(ctx, c, wanted, time.Time{})
	a.sizes.note(c, n)
	if err == nil {
		candidates, err = a.withoutPlanned(ctx, wanted, candidates)
	}
	for _, f := range wanted {
		if f.err = err; err != nil {
			continue
		}
		since, before := byAge(f.item, candidates)
		if a.match(ctx, c, f, since, claimed); f.receipt != nil {
			continue
		}
		if a.match(ctx, c, f, before, claimed); f.receipt != nil { // the upload may have created the asset nevertheless
			f.receipt.Adopted = true
			f.remark = migrate.JoinTexts("by the service's clock its asset is older than the upload, so undo keeps it", f.remark)
		}
	}
}

// namesakesIn lists the assets with the names of items that a container got since a time,
// newest first, and counts all that it lists.
func (a *Applier) namesakesIn(ctx context.Context, c migrate.Container, wanted []*finding, since time.Time) (found []assets.Asset, listed int, err error) {
	names := map[string]bool{}
	for _, f := range wanted {
		names[migrate.FoldName(f.item.Name)] = true
	}
	for asset, err := range Newest(ctx, a.Dest, c, since) {
		if err != nil {
			return nil, listed, err
		}
		if listed++; names[migrate.FoldName(asset.Filename())] {
			found = append(found, asset)
		}
	}
	return found, listed, nil
}

// withoutPlanned drops the assets that the plan knew in the places of items: the rules let some
// items be created next to them.
func (a *Applier) withoutPlanned(ctx context.Context, wanted []*finding, candidates []assets.Asset) ([]assets.Asset, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	var slots []int64
	for _, f := range wanted {
		slots = append(slots, f.item.Slot)
	}
	entries, err := a.State.EntriesAt(ctx, state.RunScope(a.run.Num), slots)
	if err != nil {
		return nil, migrate.NewStateError(err)
	}
	known := map[string]bool{}
	for _, e := range entries {
		known[e.Asset] = true
	}
	return slices.DeleteFunc(candidates, func(asset assets.Asset) bool { return known[asset.ID] }), nil
}

// byAge returns the assets that are at least as new as an item, the oldest first, and the older
// ones, the newest first. If the item was created next to an existing asset, the newest of both
// comes first.
func byAge(i state.Item, candidates []assets.Asset) (since, before []assets.Asset) {
	for _, asset := range candidates {
		if isOlder(asset, i.IntentAt) {
			before = append(before, asset)
		} else {
			since = append(since, asset)
		}
	}
	if i.Reason != string(migrate.ReasonNameExistsCreated) {
		slices.Reverse(since)
	}
	return since, before
}

// sizes are the numbers of assets in containers when they were last listed completely.
type sizes struct{ known sync.Map }

func (s *sizes) of(c migrate.Container) int {
	n, _ := s.known.Load(c)
	size, _ := n.(int)
	return size
}

func (s *sizes) note(c migrate.Container, n int) { s.known.Store(c, n) }

// Newest lists the assets that a container got since a time, newest first, or all of them if that
// is zero. A container that does not exist is empty.
func Newest(ctx context.Context, r migrate.Reader, c migrate.Container, since time.Time) iter.Seq2[assets.Asset, error] {
	o := assets.ListOptions{CategoryID: c.Category, SortBy: assets.ByUploadedAt, Order: assets.Descending}
	if !since.IsZero() {
		o.Since = since.Add(-clockSlack)
	}
	if c.Folder != "" {
		o.CategoryID, o.FolderID = "", c.Folder
	}
	return func(yield func(assets.Asset, error) bool) {
		for asset, err := range r.List(ctx, o) {
			if errors.Is(err, fs.ErrNotExist) || !yield(asset, err) {
				return
			}
		}
	}
}

// isOlder reports whether an asset existed before a time. An asset of unknown age may be new.
func isOlder(asset assets.Asset, than time.Time) bool {
	return !asset.UploadedAt.IsZero() && asset.UploadedAt.Before(than.Add(-clockSlack))
}

// match finds the asset that an unconfirmed item became. If several are identical, the first is
// used and the others are reported.
func (a *Applier) match(ctx context.Context, c migrate.Container, f *finding, candidates []assets.Asset, claimed map[string]bool) {
	i := f.item
	checksum := i.Checksum // if it was sent by this process
	for _, asset := range candidates {
		if claimed[asset.ID] || asset.Size != i.Size || !migrate.SameName(asset, i.Name) {
			continue
		}
		equal, err := a.isItem(ctx, i, asset, &checksum)
		switch {
		case migrate.IsStateError(err):
			f.receipt, f.err = nil, err
			return
		case err != nil:
			if e, lost := errors.AsType[*unknownError](err); lost && e.object {
				f.candidates = append(f.candidates, asset)
			}
			f.note(err)
		case !equal:
		case f.receipt != nil:
			f.extra = append(f.extra, asset.ID)
		default:
			// A run of the same library under another path may have adopted it.
			owned, err := a.State.OwnsAsset(ctx, a.run.Pair.Destination, asset.ID)
			if err != nil {
				f.err = migrate.NewStateError(err)
				return
			}
			claimed[asset.ID] = true
			f.receipt = receiptOf(i, asset, c, checksum)
			f.receipt.Adopted = f.receipt.Adopted || owned
		}
	}
	if f.receipt != nil {
		f.err = nil // the error does not depend on other candidates
		a.keepFound(ctx, f)
		a.inheritFound(ctx, f)
	}
}

// note keeps the error of a candidate; of several, one that may pass.
func (f *finding) note(err error) {
	if f.err == nil || f.isUnknown() {
		f.err = err
	}
}

// isNamesake reports whether an asset with the content of an item may also belong to another object
// with the very name of the asset, which is planned or unconfirmed. The names differ in the case of
// their extensions.
func (a *Applier) isNamesake(ctx context.Context, i state.Item, asset assets.Asset, checksum []byte) (bool, error) {
	dir, _ := path.Split(string(i.Key))
	key := sources.Key(dir + asset.Filename())
	if key == i.Key || norm.NFC.String(asset.Filename()) == norm.NFC.String(i.Name) {
		return false, nil
	}
	other, err := a.State.Item(ctx, a.run.Num, key)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, migrate.NewStateError(err)
	}
	open := other.State == state.ItemSending || other.State == state.ItemUnconfirmed
	if !open || other.Size != asset.Size || norm.NFC.String(other.Name) != norm.NFC.String(asset.Filename()) {
		return false, nil
	}
	theirs, err := inventory.ChecksumOfObject(ctx, a.Source, other.Object)
	return err != nil || bytes.Equal(theirs, checksum), context.Cause(ctx)
}

// isItem reports whether an unknown asset has the content of an item. It computes the checksum of
// the object if necessary.
func (a *Applier) isItem(ctx context.Context, i state.Item, asset assets.Asset, checksum *[]byte) (bool, error) {
	held, err := a.State.HoldsAsset(ctx, a.run.Pair.ID, asset.ID)
	if err != nil {
		return false, migrate.NewStateError(err)
	} else if held {
		return false, nil
	}
	if *checksum == nil {
		*checksum, err = inventory.ChecksumOfObject(ctx, a.Source, i.Object)
		changed := collect.IsChangedOrDeleted(err)
		if changed || migrate.HasClass(err, retry.Permanent) || a.confirmOnly && collect.IsUnreadable(err) {
			return false, &unknownError{asset.ID, err, changed || collect.IsUnreadable(err), changed}
		} else if err != nil {
			return false, err
		}
	}
	theirs, err := inventory.ChecksumOfWhole(ctx, a.Dest, asset.ID, asset.URL, asset.Size)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil // deleted since it was listed
	case migrate.HasClass(err, retry.Permanent):
		return false, &unknownError{asset.ID, err, false, false}
	case err != nil || !bytes.Equal(theirs, *checksum):
		return false, err
	}
	others, err := a.isNamesake(ctx, i, asset, *checksum)
	return !others, err
}

// An unknownError means that it is unknown whether an asset belongs to an item: the object changed,
// or one of the two cannot be read.
type unknownError struct {
	asset   string
	err     error
	object  bool // the object cannot be compared: it changed, was deleted, or cannot be read
	changed bool // it changed, or was deleted
}

func (e *unknownError) Error() string {
	return fmt.Sprintf("%v, so it is unknown whether asset %s belongs to it", e.err, e.asset)
}

func (e *unknownError) Unwrap() error { return e.err }

// lost reports whether asking again will report no more.
func (f finding) isUnknown() bool {
	_, lost := errors.AsType[*unknownError](f.err)
	return lost
}

// outcome returns the outcome of a finding for the state database.
func (f finding) outcome() state.Outcome {
	if e, lost := errors.AsType[*unknownError](f.err); lost { // a run must not stay open for an outcome that no later check can find
		o := state.Outcome{Key: f.item.Key, State: state.ItemFailed, Class: string(retry.Permanent), Unclear: true, Error: f.err.Error()}
		if e.changed {
			o.State = state.ItemChanged
		}
		return o
	}
	if f.receipt == nil {
		return state.Outcome{Key: f.item.Key, State: state.ItemUnconfirmed, Class: string(retry.Transient),
			Error: "cannot check whether it arrived: " + f.err.Error()}
	}
	o := state.Outcome{Key: f.item.Key, State: state.ItemDone, Receipt: f.receipt, InsteadOf: migrate.ReplacedKey(f.item)}
	if f.unverifiable {
		o.State = state.ItemChanged
	}
	if len(f.extra) > 0 {
		o.Error = "found several times at the destination; also as " + strings.Join(f.extra, ", ")
	}
	o.Error = migrate.JoinTexts(o.Error, f.remark)
	if f.refused != "" && !f.unverifiable {
		o.State, o.Class, o.Error, o.Misnamed = state.ItemFailed, string(retry.Permanent), migrate.JoinTexts(f.refused, o.Error), true
	}
	return o
}
