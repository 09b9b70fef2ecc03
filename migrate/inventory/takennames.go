package inventory

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/retry"
	"assetferry/internal/sorting"
	"assetferry/migrate"
	"assetferry/state"
)

// TakenNames checks which names are taken where assets go, by any asset.
type TakenNames struct {
	Dest        migrate.Reader
	Tree        *Tree // of Dest
	Concurrency int   // number of places to read concurrently; at least one
	Log         *slog.Logger
}

// Among returns the items whose names are taken in their places, in the order of their keys.
func (n TakenNames) Among(ctx context.Context, items []state.Item) (taken []state.Item, err error) {
	var mu sync.Mutex
	err = n.EachPlace(ctx, items, func(ctx context.Context, at migrate.Place, items []state.Item) error {
		names, err := n.in(ctx, at, items)
		mu.Lock()
		defer mu.Unlock()
		for _, i := range items {
			if names[migrate.NormalName(i.Name)] {
				taken = append(taken, i)
			}
		}
		return err
	})
	sorting.By(taken, func(a, b state.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return taken, err
}

// EachPlace calls f with the items of each place, whose name is empty, several at a time.
func (n TakenNames) EachPlace(ctx context.Context, items []state.Item, f func(ctx context.Context, at migrate.Place, items []state.Item) error) error {
	byPlace := map[migrate.Place][]state.Item{}
	for _, i := range items {
		at := migrate.Place{Category: i.Category, Folder: i.Folder}
		byPlace[at] = append(byPlace[at], i)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(n.Concurrency, 1))
	for at, items := range byPlace {
		g.Go(func() error { return f(ctx, at, items) })
	}
	return g.Wait()
}

// in returns the names of items that are taken in their place. Some services cannot report this;
// they may still refuse a name.
func (n TakenNames) in(ctx context.Context, at migrate.Place, items []state.Item) (map[string]bool, error) {
	target, err := n.Tree.Target(ctx, at.Category, at.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	names := make([]string, len(items))
	for number, i := range items {
		names[number] = i.Name
	}
	found, err := n.Dest.NamesTaken(ctx, target, names...)
	if migrate.HasClass(err, retry.Permanent) {
		n.Log.Debug("cannot ask for names at the destination", "category", at.Category, "folder", at.Folder, "error", err)
		return nil, nil
	}
	taken := make(map[string]bool, len(found))
	for _, name := range found {
		taken[migrate.NormalName(name)] = true
	}
	return taken, err
}

// HasAlready reports whether the asset of an item already has its place and name, because the
// outcome of an earlier run was lost.
func (n TakenNames) HasAlready(ctx context.Context, i state.Item) (bool, error) {
	asset, err := Ask(ctx, n.Dest, i.Asset)
	if err != nil || !asset.There {
		return false, err
	}
	folder, err := n.Tree.Find(ctx, i.Category, i.Folder)
	return asset.CategoryID == i.Category && asset.FolderID == folder && migrate.NormalName(asset.Filename()) == migrate.NormalName(i.Name), err
}
