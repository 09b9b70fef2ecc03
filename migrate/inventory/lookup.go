package inventory

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"assetferry/migrate"
	"assetferry/state"
)

const (
	// minListed is how many assets of one place are rather listed than asked for: a page
	// of a listing has many more.
	minListed = 3
	// listedAtOnce is how many assets a page of a listing has at least.
	listedAtOnce = 50
)

// LookUp returns what the destination says of the assets of receipts, by their IDs. Those in one
// place are listed, as long as that takes no more requests than to ask for each. At most atOnce
// requests are made at a time.
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

// lookups are what was found so far, by the IDs of the assets.
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

// askForRest asks for each asset that was not listed: there are few in its place, or it is
// not there any more.
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
