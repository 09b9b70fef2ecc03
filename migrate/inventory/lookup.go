package inventory

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"assetferry/migrate"
	"assetferry/state"
)

const (
	// minListed is the number of assets in one place from which on the place is listed instead of
	// requesting each asset: a page of a listing contains many more.
	minListed = 3
	// listedAtOnce is how many assets a page of a listing has at least.
	listedAtOnce = 50
)

// LookUp returns the status of the assets of receipts, by ID. It lists the assets of one place if
// that takes no more requests than one for each asset. It makes at most atOnce concurrent requests.
func LookUp(ctx context.Context, from migrate.Reader, receipts []state.Receipt, atOnce int) (map[string]AssetStatus, error) {
	places := map[state.Container][]state.Receipt{}
	for _, r := range receipts {
		c := state.Container{Category: r.Category, Folder: r.Folder}
		places[c] = append(places[c], r)
	}
	all := lookups{seen: make(map[string]AssetStatus, len(receipts))}
	g, parallel := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for c, wanted := range places {
		if len(wanted) < minListed {
			continue
		}
		g.Go(func() error { return lookInto(parallel, from, c, wanted, &all) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return all.seen, askForRest(ctx, from, receipts, atOnce, &all)
}

// lookups contains the results so far, by asset ID.
type lookups struct {
	mu   sync.Mutex
	seen map[string]AssetStatus
}

func (l *lookups) add(id string, s AssetStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[id] = s
}

func (l *lookups) has(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, has := l.seen[id]
	return has
}

func lookInto(ctx context.Context, from migrate.Reader, c state.Container, wanted []state.Receipt, all *lookups) error {
	left := make(map[string]bool, len(wanted))
	for _, r := range wanted {
		left[r.Asset] = true
	}
	listed := 0
	for a, err := range List(ctx, from, c) {
		if err != nil {
			return err
		}
		if left[a.ID] {
			delete(left, a.ID)
			all.add(a.ID, AssetStatus{Asset: a, There: true})
		}
		if listed++; len(left) == 0 || listed > listedAtOnce*len(wanted) {
			return nil
		}
	}
	return nil
}

// askForRest requests each asset that was not listed: there are few in its place, or it is not
// there any more.
func askForRest(ctx context.Context, from migrate.Reader, receipts []state.Receipt, atOnce int, all *lookups) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, r := range receipts {
		if all.has(r.Asset) {
			continue
		}
		g.Go(func() error {
			a, err := Ask(ctx, from, r.Asset)
			if err == nil {
				all.add(r.Asset, a)
			}
			return err
		})
	}
	return g.Wait()
}
