package undo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/apply"
	"assetferry/migrate/collect"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// A Planner plans the undo of a run: for the assets that it created, replaced, updated, moved and
// trashed, never for those that it only adopted, and for no category or folder. It only reads the
// destination.
type Planner struct {
	*collect.Collector
	// Content downloads the content of every asset that would be trashed or replaced, and keeps
	// assets whose content is not the uploaded one.
	Content     bool
	Concurrency int // maximum number of concurrent requests to the destination

	undo, undone state.Run
	places       *places
	reader       *state.UndoReader
	created      *createdAssets
	neighbours   bool // other sources were migrated to the destination
	overview     overview
}

// NewPlanner makes a planner of undos.
func NewPlanner(d migrate.Deps) *Planner {
	return &Planner{Collector: collect.New(d), Concurrency: migrate.DefaultConcurrency}
}

// Plan decides about every asset that the undone run changed, and stores the decisions. The undo
// must be new, or listed again.
func (p *Planner) Plan(ctx context.Context, undo, undone state.Run) (migrate.Plan, error) {
	p.undo, p.undone, p.places = undo, undone, &places{}
	for _, pass := range []func(context.Context) error{p.begin, p.lookAround, p.stage, p.askForRest, p.verifyContent, p.finish} {
		if err := pass(ctx); err != nil {
			return migrate.Plan{}, err
		}
	}
	run, err := p.State.Run(ctx, undo.ID)
	if err != nil {
		return migrate.Plan{}, err
	}
	tallies, err := p.State.Tallies(ctx, undo.Num)
	return migrate.Plan{Run: run, Tallies: tallies}, err
}

// begin finds the assets to look for.
func (p *Planner) begin(ctx context.Context) (err error) {
	if p.reader, err = p.State.ReadUndo(ctx, p.undo); err != nil {
		return err
	}
	tallies, err := p.State.Tallies(ctx, p.undone.Num)
	if err != nil {
		return err
	}
	done := int64(0)
	for _, t := range tallies {
		if t.State == state.ItemDone {
			done += t.Objects
		}
	}
	if p.created, err = findCreated(ctx, p.reader, done); err != nil {
		return err
	}
	others, err := p.reader.CountChanges(ctx)
	if err != nil {
		return err
	}
	p.Watch.Phase(migrate.PhaseInventory, int64(len(p.created.all))+others, -1)
	p.neighbours, err = p.State.HasNeighbours(ctx, p.undo.Pair)
	return err
}

// lookAround lists the containers of the assets, newest first, back to the beginning of the run. So
// the assets of a pilot are found among any number of older ones.
func (p *Planner) lookAround(ctx context.Context) error {
	since := p.undone.StartedAt.Add(p.Now().Sub(clock.Now()))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(p.Concurrency)
	for _, c := range p.created.containers {
		g.Go(func() error { return p.lookInto(ctx, migrate.Container{Category: c.Category, Folder: c.Folder}, since) })
	}
	return g.Wait()
}

func (p *Planner) lookInto(ctx context.Context, c migrate.Container, since time.Time) error {
	for page, err := range migrate.Pages(apply.Newest(ctx, p.Dest, c, since), migrate.PageSize) {
		if err == nil {
			err = p.meet(ctx, page)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// meet notes listed assets that the run created. Older assets are not looked for in lists.
func (p *Planner) meet(ctx context.Context, page []assets.Asset) (err error) {
	var shared map[string]bool
	if p.neighbours {
		if shared, err = p.State.SharedAssets(ctx, p.undo.Pair, inventory.IDsOf(page)); err != nil {
			return err
		}
	}
	unchanged := int64(0) // without those that an earlier page or container has shown
	rest := slices.DeleteFunc(page, func(a assets.Asset) bool {
		is, isFirst := p.created.isUnchanged(a, shared[a.ID])
		if isFirst {
			unchanged++
		}
		return is
	})
	p.Watch.Progress(unchanged, 0)
	if len(rest) == 0 {
		return nil
	}
	receipts, err := p.State.ReceiptsOf(ctx, p.undo.Pair.ID, inventory.IDsOf(rest))
	if err != nil {
		return err
	}
	for _, a := range rest {
		r := receipts[a.ID]
		found := p.created.of(r)
		if r.Run != p.undone.Num || found == nil {
			continue
		}
		changed, err := p.changedSince(ctx, r, a)
		if err != nil {
			return err
		}
		if p.created.note(found, finding{shared[a.ID], changed}) {
			p.Watch.Progress(1, 0)
		}
	}
	return nil
}

// changedSince names the parts of an asset that changed since the run created it.
func (p *Planner) changedSince(ctx context.Context, r state.Receipt, asset assets.Asset) (string, error) {
	said, err := p.LastMetadata(ctx, p.undo.Pair, r, asset)
	return strings.Join(changedParts(r, said, asset), ", "), err
}

// decide decides about an existing asset that the run created.
func (p *Planner) decide(ctx context.Context, i *state.Item, r state.Receipt, asset assets.Asset, shared bool) error {
	changed, err := p.changedSince(ctx, r, asset)
	if err != nil {
		return err
	}
	writeUndo(i, createdSituation(shared, changed), changed)
	return nil
}

// createdSituation is the situation of an existing asset that the run created.
func createdSituation(shared bool, changed string) undoSituation {
	return undoSituation{Was: state.Create, There: true, Shared: shared, Changed: changed != ""}
}

// writeUndo stores a decision in an item, with the findings if it is refused.
func writeUndo(i *state.Item, r undoSituation, found string) {
	action, why := decideUndo(r)
	migrate.SetDecision(i, action, why)
	if action == state.Conflict && found != "" {
		i.Error = fmt.Sprintf("%s: %s", why.Text(), found)
	}
}

func (p *Planner) decided(ctx context.Context, page []state.Item) error {
	if len(page) == 0 {
		return nil
	}
	p.overview.changed()
	err := p.State.DecideUndo(ctx, p.undo.Num, page)
	faultpoint.Hit(faultpoint.Decided)
	p.Watch.Progress(int64(len(page)), 0)
	return err
}

// askForRest requests each asset that was not listed: it is older than the run, or was moved or
// deleted.
func (p *Planner) askForRest(ctx context.Context) error {
	if p.overview.isDecided() {
		return nil
	}
	return p.eachPage(ctx, state.ItemStaged, func(ctx context.Context, u *state.Undoing) (bool, error) {
		if u.Was == state.Trash {
			return true, p.decideTrashed(ctx, u)
		}
		asset, err := p.Dest.Asset(ctx, u.Asset)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			writeUndo(&u.Item, undoSituation{Was: u.Was}, "")
			return true, nil
		case migrate.HasClass(err, retry.Permanent):
			writeUndo(&u.Item, undoSituation{Was: u.Was, Unknown: true}, err.Error())
			return true, nil
		case err != nil:
			return false, err
		}
		r, err := p.State.Receipt(ctx, p.undo.Pair.ID, u.Key)
		if err != nil {
			return false, err
		}
		if u.Before != nil && u.Was != state.Create { // an asset that was created again counts as new
			return true, p.decideChanged(ctx, u, r, asset)
		}
		shared, err := p.State.SharedAssets(ctx, p.undo.Pair, []string{asset.ID})
		if err != nil {
			return false, err
		}
		return true, p.decide(ctx, &u.Item, r, asset, shared[asset.ID])
	})
}

// decideTrashed decides about an asset that the run trashed. Users cannot have changed it; whether
// it still exists shows when it is restored.
func (p *Planner) decideTrashed(ctx context.Context, u *state.Undoing) error {
	t, err := collect.NewAssetHistory(p.undo.Pair.Source, *u, *u.Before)
	if err != nil {
		return err
	}
	there, err := p.places.has(ctx, p.Dest, t.Previous.Folder)
	writeUndo(&u.Item, undoSituation{Was: state.Trash, FolderMissing: !there}, "")
	return err
}

// decideChanged decides about an older asset that the run changed.
func (p *Planner) decideChanged(ctx context.Context, u *state.Undoing, r state.Receipt, asset assets.Asset) error {
	t, err := collect.NewAssetHistory(p.undo.Pair.Source, *u, r)
	if err != nil {
		return err
	}
	what := t.ChangedSince(asset)
	rest, found := undoSituation{Was: u.Was, There: true, Changed: len(what) > 0}, strings.Join(what, ", ")
	if !rest.Changed {
		if rest.KeyTaken, err = p.isKnown(ctx, *u); err != nil {
			return err
		}
	}
	switch {
	case rest.Changed || rest.KeyTaken:
	case u.Was == state.Move:
		var there bool
		there, err = p.places.has(ctx, p.Dest, t.Previous.Folder)
		rest.FolderMissing = !there
	case u.Was == state.Replace:
		if collect.ChangedLater(r, asset) {
			rest.Content, found, err = p.contentOf(ctx, t, asset)
		}
		if err == nil && rest.Content != contentRewritten && !t.IsSwapped() {
			rest.ContentLost, err = collect.IsContentLost(ctx, p.Dest, t, asset)
		}
	}
	writeUndo(&u.Item, rest, found)
	return err
}

// isKnown reports whether another asset has the previous key of an object now.
func (p *Planner) isKnown(ctx context.Context, u state.Undoing) (bool, error) {
	if u.Before.Key == u.Key {
		return false, nil
	}
	_, err := p.State.Receipt(ctx, p.undo.Pair.ID, u.Before.Key)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return true, err
}

// verifyContent compares the content of assets with the upload, if the user wants that.
func (p *Planner) verifyContent(ctx context.Context) error {
	if !p.Content {
		return nil
	}
	p.Watch.Phase(migrate.PhaseCompare, -1, -1)
	return p.eachPage(ctx, state.ItemPlanned, func(ctx context.Context, u *state.Undoing) (bool, error) {
		if u.Action != state.Trash && u.Action != state.Replace {
			return false, nil
		}
		r, err := p.State.Receipt(ctx, p.undo.Pair.ID, u.Key)
		if err != nil {
			return false, err
		}
		t := collect.AssetHistory{Now: r}
		if u.Before != nil {
			t.BeforeRun = *u.Before
		}
		content, found, err := p.contentOf(ctx, t, assets.Asset{URL: r.URL})
		if err != nil || content == contentAsSent {
			return false, err
		}
		writeUndo(&u.Item, undoSituation{Was: u.Was, There: true, Content: content}, found)
		return true, nil
	})
}

// contentOf downloads the content of an asset, and compares it with the upload and the previous
// content.
func (p *Planner) contentOf(ctx context.Context, t collect.AssetHistory, a assets.Asset) (contentMatch, string, error) {
	checksum, n, err := inventory.ChecksumOfAsset(ctx, p.Dest, a.URL)
	switch {
	case migrate.HasClass(err, retry.Permanent):
		return contentUnreadable, err.Error(), nil
	case err != nil:
		return contentUnasked, "", err
	case n == t.Now.Size && bytes.Equal(checksum, t.Now.Checksum), n == t.BeforeRun.Size && bytes.Equal(checksum, t.BeforeRun.Checksum):
		return contentAsSent, "", nil
	}
	return contentRewritten, "content", nil
}

// eachPage calls f for items in a state, several at once, and stores those that it decided.
func (p *Planner) eachPage(ctx context.Context, st state.ItemState, f func(context.Context, *state.Undoing) (decided bool, err error)) error {
	for page, err := range migrate.Pages(p.State.Items(ctx, p.undo.Num, st), migrate.PageSize) {
		if err != nil {
			return err
		}
		undoings, err := p.State.Undoings(ctx, p.undo, apply.ItemKeys(page))
		if err != nil {
			return err
		}
		if err := p.atOnce(ctx, slices.Collect(maps.Values(undoings)), f); err != nil {
			return err
		}
	}
	return nil
}

func (p *Planner) atOnce(ctx context.Context, page []state.Undoing, f func(context.Context, *state.Undoing) (bool, error)) error {
	decided := make([]bool, len(page))
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(p.Concurrency)
	for n := range page {
		g.Go(func() (err error) {
			decided[n], err = f(parallel, &page[n])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var store []state.Item
	for n, u := range page {
		if decided[n] {
			store = append(store, u.Item)
		}
	}
	return p.decided(ctx, store)
}

// places are folders, and whether they are there.
type places struct {
	mu    sync.Mutex
	known map[string]bool
}

// has reports whether a folder exists. Categories of existing assets always do.
func (p *places) has(ctx context.Context, d migrate.Reader, folder string) (there bool, err error) {
	if folder == "" {
		return true, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if there, known := p.known[folder]; known {
		return there, nil
	}
	_, err = d.Folder(ctx, folder, 1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if p.known == nil {
		p.known = map[string]bool{}
	}
	p.known[folder] = err == nil
	return err == nil, nil
}

// finish stores the hash of the plan and closes it.
func (p *Planner) finish(ctx context.Context) error {
	hash, tallies := p.overview.hash, p.overview.sums.Tallies()
	if !p.overview.whole {
		var err error
		if hash, err = p.hashItems(ctx); err != nil {
			return err
		}
		tallies = nil
	}
	sum, err := hash.Sum(migrate.PlanHead{Source: p.undo.Pair.Source, Destination: p.undo.Pair.Destination})
	if err != nil {
		return err
	}
	err = p.State.FinishPlan(ctx, p.undo.Num, sum, json.RawMessage("[]"), tallies...)
	faultpoint.Hit(faultpoint.Planned)
	return err
}

// hashItems reads all items for the hash of the plan.
func (p *Planner) hashItems(ctx context.Context) (*migrate.PlanHash, error) {
	h := migrate.NewPlanHash()
	for i, err := range p.State.Items(ctx, p.undo.Num) {
		if err != nil {
			return nil, err
		}
		h.Add(&i)
	}
	return h, nil
}
