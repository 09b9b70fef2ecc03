package verify

import (
	"context"
	"time"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// noteModified notes listed assets that were changed since a time, by the clock of the service. The
// results of a verification do not contain these notes: users may change metadata at any time.
func (v *Verifier) noteModified(ctx context.Context, pair int64, page []assets.Asset) error {
	if v.Since.IsZero() {
		return nil
	}
	var modified []assets.Asset
	for _, a := range page {
		since := v.Since
		if a.LastModifiedAt.Nanosecond() == 0 { // some services have whole seconds
			since = since.Truncate(time.Second)
		}
		if a.LastModifiedAt.IsZero() || !a.LastModifiedAt.Before(since) {
			modified = append(modified, a)
		}
	}
	if len(modified) == 0 {
		return nil
	}
	receipts, err := v.State.ReceiptsOf(ctx, pair, inventory.IDsOf(modified))
	if err != nil {
		return err
	}
	v.noting.Lock()
	defer v.noting.Unlock()
	for _, a := range modified {
		r, ours := receipts[a.ID]
		if !ours || !v.Wave.HasKey(r.Key) || differs(r, inventory.EntryOf(a, 0)) {
			continue
		}
		if a.LastModifiedAt.IsZero() {
			v.Undated++
			continue
		}
		if !a.LastModifiedAt.After(r.Modified) {
			continue
		}
		at := a.LastModifiedAt.UTC()
		v.Watch.Found(migrate.Difference{
			Key: string(r.Key), Asset: a.ID, Field: migrate.FieldModified, Got: at.Format(time.RFC3339Nano), Note: true,
			What: "was changed at the destination on " + at.Format(time.DateTime+" UTC"),
		})
	}
	return nil
}

// differs reports whether a comparison reports an asset anyway: it was renamed, moved or resized.
func differs(r state.Receipt, e state.Entry) bool {
	return e.Category != r.Category || e.Folder != r.Folder || e.Size != r.Size || isRenamed(r, e)
}
