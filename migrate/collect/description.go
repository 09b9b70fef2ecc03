package collect

import (
	"context"
	"encoding/json"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A LastDescription contains the metadata that was found for an object, and written to its asset,
// at the last update of the asset.
type LastDescription struct {
	Base  metadata.Metadata
	Found metadata.Found
	Text  string // Base in its stored form
}

// LastDescription reads the metadata of the last update of an asset. It is empty if there was none.
func (d *Collector) LastDescription(ctx context.Context, run state.Run, key sources.Key) (last LastDescription, err error) {
	kept, err := d.State.DescribedAs(ctx, run.Pair.ID, key)
	if err == nil {
		last.Text = kept.Metadata
		last.Base, err = metadata.Decode(kept.Metadata)
	}
	if err == nil {
		last.Found, err = metadata.DecodeFound(kept.Found)
	}
	if err != nil {
		return last, migrate.NewStateError(err)
	}
	return last, nil
}

// MetadataOf returns the metadata of an asset. Attributes that people wrote may have values other
// than text.
func MetadataOf(a assets.Asset) metadata.Metadata {
	m := metadata.Metadata{Description: a.Metadata.Description, Tags: a.Tags, Attributes: map[string]string{}}
	for name, value := range a.Metadata.CustomAttributes {
		switch value := value.(type) {
		case nil:
		case string:
			m.Attributes[name] = value
		default:
			text, err := json.Marshal(value)
			if err != nil {
				panic(err) // it was decoded from JSON
			}
			m.Attributes[name] = string(text)
		}
	}
	return m
}

// LastMetadata returns the metadata that the source had when the asset was last updated. It is not
// read if the asset has no metadata, as in most libraries; removals by users show in the
// modification time.
func (d *Collector) LastMetadata(ctx context.Context, pair state.Pair, r state.Receipt, asset assets.Asset) (m metadata.Metadata, err error) {
	if asset.Metadata.Description == "" && len(asset.Tags)+len(asset.Metadata.CustomAttributes) == 0 {
		return m, nil
	}
	kept, err := d.State.DescribedAs(ctx, pair.ID, r.Key)
	if err != nil {
		return m, err
	}
	return metadata.Decode(kept.Metadata)
}

// HasForeignMetadata reports whether an asset has other metadata than we wrote. Tags do not count,
// because tags that the source removes stay at the asset. Adopted assets do not count either,
// because it is unknown who wrote their metadata.
func (d *Collector) HasForeignMetadata(ctx context.Context, pair state.Pair, r state.Receipt, asset assets.Asset) (bool, error) {
	if r.Adopted {
		return false, nil
	}
	said, err := d.LastMetadata(ctx, pair, r, asset)
	if err != nil {
		return false, migrate.NewStateError(err)
	}
	says := MetadataOf(asset).Normal()
	for name, value := range says.Attributes {
		if name != migrate.ProvenanceAttribute && value != said.Attributes[name] {
			return true, nil
		}
	}
	return says.Description != "" && says.Description != said.Description, nil
}
