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

// askForUnlisted requests each asset of a page that was not listed: new assets may not be listed
// yet, and moved ones are reported as moved.
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

// isNew reports whether an asset is so new that it may not be listed yet. An older unlisted one may
// be in the trash; the service does not document its answer for that.
func (v *Verifier) isNew(a assets.Asset) bool {
	return !a.UploadedAt.IsZero() && v.Now().Sub(a.UploadedAt) < v.Unlisted
}

// DefaultUnlisted is how long a new asset may be missing in lists.
const DefaultUnlisted = time.Minute
