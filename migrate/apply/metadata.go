package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/faultpoint"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/sources"
	"assetferry/state"
)

// updatesMetadata reports whether metadata may be written into assets after their upload.
func (a *Applier) updatesMetadata() bool { return a.Provenance == "always" || a.UsesMetadata() }

// A description is the result of writing metadata into an asset.
type description struct {
	modified time.Time // modification time by the service; our last change if a user has changed it since
	said     string    // the metadata from the source, as stored; see state.Outcome
	found    string    // the same
	fields   []state.FoundField
	oldURLs  []string
	remark   string // for people
}

// into stores a description in an outcome.
func (d description) into(o *state.Outcome) {
	o.Described, o.Found, o.Fields, o.AssetURLs = d.said, d.found, d.fields, d.oldURLs
}

// finish completes an item whose asset exists. The asset is nil if it was uploaded before; then the
// state database has its receipt. The content is nil unless it was uploaded just now.
func (a *Applier) finish(ctx context.Context, i state.Item, asset *assets.Asset, receipt *state.Receipt, sent *content) result {
	done := result{item: i, outcome: state.Outcome{Key: i.Key, State: state.ItemDone, Receipt: receipt}}
	if i.Action == state.Adopt || i.VersionNum > 0 || !a.updatesMetadata() {
		done.outcome.MetadataPending = wasSent(i)
		return done
	}
	d, err := a.writeMetadata(ctx, i, asset, receipt, sent)
	if err == nil {
		faultpoint.Hit(faultpoint.Described)
		done.outcome.Modified, done.outcome.Error = d.modified, d.remark
		d.into(&done.outcome)
		if i.State == state.ItemSent && i.Class == "" { // remarks from the upload
			done.outcome.Error = migrate.JoinTexts(i.Error, d.remark)
		}
		if receipt != nil && !d.modified.IsZero() {
			receipt.Modified = d.modified
		}
		return done
	}
	r := judge(ctx, i, fmt.Errorf("%s: %w", migrate.ErrorMetadataNotWritten, err))
	r.outcome.Receipt = receipt
	if r.release { // the asset is unchanged and is updated in a later run
		r.release, r.outcome.State = false, state.ItemSent
	}
	return r
}

// writeMetadata writes metadata and provenance into an asset. It is idempotent: existing values are
// not written again.
func (a *Applier) writeMetadata(ctx context.Context, i state.Item, asset *assets.Asset, receipt *state.Receipt, sent *content) (description, error) {
	var last collect.LastDescription
	var err error
	if !isMade(i, asset) { // other assets have no metadata from earlier runs
		if last, err = a.LastDescription(ctx, a.run, describedAs(i)); err != nil {
			return description{}, err
		}
	}
	if receipt == nil {
		known, err := a.State.Receipt(ctx, a.run.Pair.ID, i.Key)
		if err != nil {
			return description{}, migrate.NewStateError(err)
		}
		receipt = &known
	}
	g, err := a.gather(ctx, i, receipt, sent, last)
	if err != nil {
		return description{}, err
	}
	d := description{modified: receipt.Modified, said: last.Text, found: g.Found.Encode(), fields: g.Fields, oldURLs: g.OldURLs, remark: g.Remark}
	if asset == nil {
		if g.Said.IsZero() && a.Provenance != "always" {
			return d, nil
		}
		there, err := a.Dest.Asset(ctx, receipt.Asset)
		if errors.Is(err, fs.ErrNotExist) {
			return description{remark: string(migrate.ReasonAssetDeleted)}, nil
		} else if err != nil {
			return description{}, err
		}
		asset = &there
	}
	left, err := a.leftBefore(ctx, i, *receipt, *asset)
	if err != nil {
		return description{}, err
	}
	m := metadata.Merge(last.Base, g.Said, collect.MetadataOf(*asset), a.rules.Policy())
	d.modified, d.said, d.remark = asset.LastModifiedAt, g.Said.Over(last.Base).Encode(), migrate.JoinTexts(g.Remark, remarkOf(m))
	if len(m.Conflicts) > 0 { // so that the next plan shows it, too
		d.said, d.found = last.Text, last.Found.Encode()
	}
	if changes, some := a.changesOf(m.Changes, i.Key, *asset, receipt.Checksum); some {
		changed, err := a.Write.Update(ctx, asset.ID, changes)
		if err != nil {
			return description{}, err
		}
		d.modified = changed.LastModifiedAt
	}
	if !left.IsZero() {
		d.modified = left
	}
	return d, nil
}

// describedAs returns the key of the last stored metadata: the previous key until the receipt is
// stored.
func describedAs(i state.Item) sources.Key {
	if i.State == state.ItemSent {
		return i.Key
	}
	return cmp.Or(i.PreviousKey, i.Key)
}

// isMade reports whether the item created its asset.
func isMade(i state.Item, asset *assets.Asset) bool {
	return i.Action == state.Create || asset != nil && asset.ID != i.Asset
}

// changesOf returns the changes to write into an asset, if any. Provenance is written with them,
// and alone only if it always should be.
func (a *Applier) changesOf(m metadata.Changes, key sources.Key, asset assets.Asset, checksum []byte) (c assets.Changes, some bool) {
	mark := migrate.Provenance(a.run.Pair.Source, key, checksum, asset.ID)
	marks := a.Provenance != "never" && (a.Provenance == "always" || !m.IsZero()) && migrate.ProvenanceOf(asset) != mark
	if m.IsZero() && !marks {
		return c, false
	}
	c.Description = m.Description
	if m.Tags != nil {
		c.Tags = &m.Tags
	}
	if len(m.Attributes) == 0 && !marks {
		return c, true
	}
	// It is unknown whether the service merges attributes, so all of them are sent.
	c.CustomAttributes = maps.Clone(asset.Metadata.CustomAttributes)
	if c.CustomAttributes == nil {
		c.CustomAttributes = map[string]any{}
	}
	for name, value := range m.Attributes {
		c.CustomAttributes[name] = value
	}
	if marks {
		c.CustomAttributes[migrate.ProvenanceAttribute] = mark
	}
	return c, true
}

func remarkOf(m metadata.Merged) string {
	kept := append(m.Kept, m.Conflicts...)
	if len(kept) == 0 {
		return ""
	}
	return migrate.RemarkEditsKept + ": " + strings.Join(kept, ", ")
}
