package inventory

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"assetferry/migrate"
	"assetferry/state"
)

// minListed is the number of assets in one place from which on the place is listed instead of
// requesting each asset: a page of a listing contains many more.
const minListed = 3

// LookUp is EachStatus that returns the status of all assets, by ID.
func LookUp(ctx context.Context, from migrate.Reader, receipts []state.Receipt, atOnce int) (map[string]AssetStatus, error) {
	seen := make(map[string]AssetStatus, len(receipts))
	return seen, EachStatus(ctx, from, receipts, atOnce, func(r state.Receipt, s AssetStatus) error {
		seen[r.Asset] = s
		return nil
	})
}

// EachStatus calls found with the status of the asset of each receipt, one at a time, in no
// particular order. It reads pages of the places of the assets where that should take fewer requests
// than one for each asset. Only a request for the asset itself shows that it does not exist: it may
// be elsewhere, or have been missed because the place changed meanwhile. EachStatus makes at most
// atOnce concurrent requests.
func EachStatus(ctx context.Context, from migrate.Reader, receipts []state.Receipt, atOnce int, found func(state.Receipt, AssetStatus) error) error {
	l := &lookup{from: from, slots: make(chan struct{}, max(atOnce, 1)), found: found}
	left, err := l.readPages(ctx, receipts)
	if err != nil {
		return err
	}
	return l.askForAll(ctx, left)
}

// A lookup finds the status of assets.
type lookup struct {
	from  migrate.Reader
	slots chan struct{} // one for each concurrent request
	mu    sync.Mutex    // of found, and of everything that was found
	found func(state.Receipt, AssetStatus) error
}

// request calls f once a request may be sent.
func (l *lookup) request(ctx context.Context, f func() error) error {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.slots }()
	return f()
}

// readPages reads the places with several of the assets, and returns the receipts of the assets that
// it did not find.
func (l *lookup) readPages(ctx context.Context, receipts []state.Receipt) (left []*state.Receipt, err error) {
	places := map[state.Container][]*state.Receipt{} // they are large
	for n := range receipts {
		r := &receipts[n]
		c := state.Container{Category: r.Category, Folder: r.Folder}
		places[c] = append(places[c], r)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(l.slots))
	var searches []*placeSearch
	for c, wanted := range places {
		s := newPlaceSearch(l, c, wanted)
		searches = append(searches, s)
		if len(wanted) >= minListed {
			g.Go(func() error { return s.run(ctx) })
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, s := range searches {
		for n, r := range s.wanted {
			if !s.seen[n] {
				left = append(left, r)
			}
		}
	}
	return left, nil
}

// askForAll requests each asset.
func (l *lookup) askForAll(ctx context.Context, receipts []*state.Receipt) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(l.slots))
	for _, r := range receipts {
		g.Go(func() error {
			status, err := Ask(ctx, l.from, r.Asset)
			if err != nil {
				return err
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.found(*r, status)
		})
	}
	return g.Wait()
}
