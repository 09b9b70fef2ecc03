package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// extraAssets finds extra assets with the place, name and size of receipts, by the asset IDs of the
// latter. Each counts for one receipt at most.
func (v *Verifier) extraAssets(ctx context.Context, page []state.Sighting) (map[string][]state.Entry, error) {
	if !v.others.Load() {
		return nil, nil
	}
	slots := make([]int64, len(page))
	for n, s := range page {
		slots[n] = inventory.LikenessOf(inventory.EntryOfReceipt(s.Receipt))
	}
	entries, err := v.State.EntriesAt(ctx, state.PairScope(v.pair.ID), slots)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	bySlot := map[int64][]state.Entry{}
	for _, e := range entries {
		bySlot[e.Slot] = append(bySlot[e.Slot], e)
	}
	beside := map[string][]state.Entry{}
	for n, s := range page {
		for _, e := range bySlot[slots[n]] {
			if s.Seen && !v.reported[e.Asset] && inventory.IsAlike(e, inventory.EntryOfReceipt(s.Receipt)) {
				v.reported[e.Asset] = true
				beside[s.Receipt.Asset] = append(beside[s.Receipt.Asset], e)
			}
		}
	}
	return beside, nil
}

// reportExtra reports extra assets: as a note if they were known before the upload, as a difference
// otherwise.
func (v *Verifier) reportExtra(ctx context.Context, page []state.Sighting, found func(migrate.Difference)) error {
	beside, err := v.extraAssets(ctx, page)
	if err != nil || len(beside) == 0 {
		return err
	}
	var ids []string
	for _, entries := range beside {
		for _, e := range entries {
			ids = append(ids, e.Asset)
		}
	}
	known, err := inventory.ExpectedAssets(ctx, v.State, v.pair, ids)
	if err != nil {
		return err
	}
	for _, s := range page {
		entries := beside[s.Receipt.Asset]
		isKnown := func(e state.Entry) bool { return known[e.Asset] }
		before := slices.DeleteFunc(slices.Clone(entries), func(e state.Entry) bool { return !isKnown(e) })
		reportOn(s.Receipt, slices.DeleteFunc(entries, isKnown), false, found)
		reportOn(s.Receipt, before, true, found)
	}
	return nil
}

// reportOn reports the extra assets of a receipt, if there are any.
func reportOn(r state.Receipt, further []state.Entry, before bool, found func(migrate.Difference)) {
	if len(further) == 0 {
		return
	}
	ids := make([]string, len(further))
	for n, e := range further {
		ids[n] = e.Asset
	}
	got := strings.Join(ids, ", ")
	found(migrate.Difference{Key: string(r.Key), Asset: r.Asset, Field: migrate.FieldFurther, Got: got, What: extraText(len(ids), before) + ": " + got, Note: before})
}

// extraText returns the message about extra assets, and whether they existed before.
func extraText(n int, before bool) string {
	text, was := "has 1 extra asset with its name and size in the same place", "was"
	if n > 1 {
		text, was = fmt.Sprintf("has %d extra assets with its name and size in the same place", n), "were"
	}
	if before {
		text += ", which " + was + " there before"
	}
	return text
}
