// Package inventory reads the destination: its folders, the assets in them, their contents, and
// which of them match objects. It never writes.
package inventory

import (
	"context"
	"errors"
	"io/fs"
	"iter"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// List lists the assets directly in a container, the oldest first. A container that does not exist
// is empty. It misses no asset that stays, whatever users add and remove meanwhile: a missed asset
// would be uploaded again.
func List(ctx context.Context, r migrate.Reader, c state.Container) iter.Seq2[assets.Asset, error] {
	o := optionsFor(c)
	o.Overlap = true
	return func(yield func(assets.Asset, error) bool) {
		for a, err := range r.List(ctx, o) {
			if errors.Is(err, fs.ErrNotExist) || !yield(a, err) {
				return
			}
		}
	}
}

// optionsFor returns the options for a list of the assets directly in a container, the oldest first.
func optionsFor(c state.Container) assets.ListOptions {
	o := assets.ListOptions{CategoryID: c.Category, SortBy: assets.ByUploadedAt, Order: assets.Ascending}
	if c.Folder != "" {
		o.CategoryID, o.FolderID = "", c.Folder
	}
	return o
}

// EntryOf returns an asset as an entry of the inventory, with the slot of its place (see
// [migrate.Place.Slot]).
func EntryOf(a assets.Asset, slot int64) state.Entry {
	return state.Entry{
		Asset: a.ID, Slot: slot, Category: a.CategoryID, Folder: a.FolderID, Name: a.Name, Extension: a.Extension,
		Size: a.Size, Status: string(a.Metadata.Status), URL: a.URL, Mark: migrate.ProvenanceOf(a),
	}
}

// IDsOf returns the IDs of assets, in their order.
func IDsOf(page []assets.Asset) []string {
	ids := make([]string, len(page))
	for n, a := range page {
		ids[n] = a.ID
	}
	return ids
}

// An AssetStatus is the status of an asset at the destination.
type AssetStatus struct {
	assets.Asset
	There      bool
	UnknownErr error // why it is unknown
}

// Ask requests one asset by its ID. An asset that does not exist, or that the service permanently
// refuses to show, is no error.
func Ask(ctx context.Context, from migrate.Reader, id string) (AssetStatus, error) {
	a, err := from.Asset(ctx, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return AssetStatus{}, nil
	case migrate.HasClass(err, retry.Permanent):
		return AssetStatus{UnknownErr: err}, nil
	case err != nil:
		return AssetStatus{}, err
	}
	return AssetStatus{Asset: a, There: true}, nil
}
