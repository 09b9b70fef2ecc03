package verify

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// enoughMissing is the number of missing assets in a row after which no more are requested: a
// million requests would take a day.
const enoughMissing = 100

// askForUnlisted asks for each asset of a page that no list had: the service may not list yet
// what it has just got, and what was moved elsewhere is reported as such.
func (v *Verifier) askForUnlisted(ctx context.Context, page []state.Sighting) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(v.Concurrency)
	for i := range page {
		if page[i].Seen || v.missing.Load() >= enoughMissing {
			continue
		}
		g.Go(func() error {
			a, err := inventory.Ask(ctx, v.Dest, page[i].Receipt.Asset)
			if err != nil {
				return err
			}
			if !a.There {
				v.missing.Add(1)
				return nil
			}
			v.missing.Store(0)
			r := page[i].Receipt
			if moved := a.CategoryID != r.Category || a.FolderID != r.Folder; moved || v.isNew(a.Asset) {
				page[i].Seen, page[i].Entry = true, inventory.EntryOf(a.Asset, 0)
			}
			return nil
		})
	}
	return g.Wait()
}

// isNew reports whether an asset is so new that a list need not have it yet. One that is older
// and in no list may be in the trash: what a service says of that by its ID is not documented.
func (v *Verifier) isNew(a assets.Asset) bool {
	return !a.UploadedAt.IsZero() && v.Now().Sub(a.UploadedAt) < v.Unlisted
}

// DefaultUnlisted is how long a new asset may be in no list without being missed.
const DefaultUnlisted = time.Minute
