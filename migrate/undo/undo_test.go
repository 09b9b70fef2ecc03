package undo

import (
	"slices"
	"testing"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// TestDecideUndo compares the decision about every possible situation with independently written
// rules.
func TestDecideUndo(t *testing.T) {
	back := map[state.Action]state.Action{state.Create: state.Trash, state.Replace: state.Replace,
		state.UpdateMetadata: state.UpdateMetadata, state.Move: state.Move, state.Trash: state.Create}
	n := 0
	for r := range remnants() {
		n++
		action, why := decideUndo(r)
		there, readable := r.Was != state.Trash, r.Content == contentUnasked || r.Content == contentAsSent
		known := r.There && !r.Unknown || !there
		blames := map[migrate.Reason]bool{
			migrate.ReasonAssetStateUnknown: there && r.Unknown,
			migrate.ReasonAssetMissing:      there && !r.Unknown && !r.There,
			migrate.ReasonAssetShared:       r.Was == state.Create && r.Shared && known,
			migrate.ReasonAssetChangedSince: there && known && (r.Changed || r.Content == contentRewritten),
			migrate.ReasonContentUnreadable: there && known && r.Content == contentUnreadable,
			migrate.ReasonChangedByLaterRun: (r.Was == state.Move || r.Was == state.Replace) && known && r.KeyTaken,
			migrate.ReasonFolderMissing:     (r.Was == state.Move || !there) && known && r.FolderMissing,
			migrate.ReasonRevisionMissing:   r.Was == state.Replace && known && readable && r.ContentLost,
		}
		blamed := false
		for _, b := range blames {
			blamed = blamed || b
		}
		switch {
		case blamed && !blames[why]:
			t.Errorf("%+v: %q", r, why)
		case why == migrate.ReasonAssetMissing && action != state.Skip, blamed && why != migrate.ReasonAssetMissing && action != state.Conflict:
			t.Errorf("%+v: %s because %q", r, action, why)
		case !blamed && action != back[r.Was]:
			t.Errorf("%+v: %s, want %s", r, action, back[r.Was])
		}
	}
	if n != 5*2*2*2*2*4*2*2*2 {
		t.Errorf("%d remnants", n)
	}
}

// remnants yields all possible situations.
func remnants() func(yield func(undoSituation) bool) {
	return func(yield func(undoSituation) bool) {
		for _, was := range []state.Action{state.Create, state.Replace, state.UpdateMetadata, state.Move, state.Trash} {
			for _, content := range []contentMatch{contentUnasked, contentAsSent, contentRewritten, contentUnreadable} {
				for bits := range 1 << 7 {
					is := func(n int) bool { return bits>>n&1 == 1 }
					if !yield(undoSituation{was, is(0), is(1), is(2), is(3), content, is(4), is(5), is(6)}) {
						return
					}
				}
			}
		}
	}
}

func TestChanges(t *testing.T) {
	sent := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	checksum := make([]byte, 32)
	mark := migrate.Provenance("source", "a.jpg", checksum, "id")
	quay := metadata.Metadata{Description: "A quay", Tags: []string{"quay", "sea"}, Attributes: map[string]string{"place": "Oslo"}}
	for _, tc := range []struct {
		name    string
		receipt func(*state.Receipt)
		said    metadata.Metadata
		asset   func(*assets.Asset)
		want    []string
	}{
		{name: "as it was left"},
		{name: "renamed", asset: func(a *assets.Asset) { a.Name = "b" }, want: []string{"name"}},
		{name: "of another extension", asset: func(a *assets.Asset) { a.Extension = "png" }, want: []string{"name"}},
		{name: "in another Unicode form", receipt: func(r *state.Receipt) { r.Name = "e\u0301" }, asset: func(a *assets.Asset) { a.Name = "\u00e9" }},
		{name: "in another category", asset: func(a *assets.Asset) { a.CategoryID = "other" }, want: []string{"place"}},
		{name: "in another folder", asset: func(a *assets.Asset) { a.FolderID = "" }, want: []string{"place"}},
		{name: "overwritten", asset: func(a *assets.Asset) { a.Size++; a.LastModifiedAt = sent.Add(time.Hour) }, want: []string{"size", "time of the last change"}},
		{name: "overwritten with as much", asset: func(a *assets.Asset) { a.LastModifiedAt = sent.Add(2 * time.Second) }, want: []string{"time of the last change"}},
		{name: "described", asset: func(a *assets.Asset) { a.Metadata.Description = "d" }, want: []string{"description"}},
		{name: "as we described it", said: quay, asset: func(a *assets.Asset) {
			a.Metadata.Description, a.Tags = "A quay", []string{"sea", "quay"}
			a.Metadata.CustomAttributes = map[string]any{"place": "Oslo", migrate.ProvenanceAttribute: mark}
		}},
		{name: "described otherwise than we did", said: quay, asset: func(a *assets.Asset) {
			a.Metadata.Description, a.Tags = "A pier", []string{"quay", "sea", "people"}
			a.Metadata.CustomAttributes = map[string]any{"place": "Bergen"}
		}, want: []string{"description", "tags", "custom attributes"}},
		{name: "described less than we did", said: quay, want: []string{"description", "tags", "custom attributes"}},
		{name: "tagged", asset: func(a *assets.Asset) { a.Tags = []string{"t"} }, want: []string{"tags"}},
		{name: "with no tags", asset: func(a *assets.Asset) { a.Tags = []string{} }},
		{name: "with an attribute", asset: func(a *assets.Asset) { a.Metadata.CustomAttributes = map[string]any{"k": 1} }, want: []string{"custom attributes"}},
		{name: "with our mark", asset: func(a *assets.Asset) {
			a.Metadata.CustomAttributes = map[string]any{migrate.ProvenanceAttribute: mark}
		}},
		{name: "with our mark and more", asset: func(a *assets.Asset) {
			a.Metadata.CustomAttributes = map[string]any{migrate.ProvenanceAttribute: mark, "k": 1}
		}, want: []string{"custom attributes"}},
		{name: "with the mark of another", asset: func(a *assets.Asset) {
			a.Metadata.CustomAttributes = map[string]any{migrate.ProvenanceAttribute: "1.x"}
		}, want: []string{"custom attributes"}},
		{name: "rounded by the service", asset: func(a *assets.Asset) { a.LastModifiedAt = sent.Add(time.Second) }},
		{name: "processed since", asset: func(a *assets.Asset) { a.Metadata.Status, a.LastModifiedAt = assets.Success, sent.Add(5*time.Minute) }},
		{name: "processed long ago", asset: func(a *assets.Asset) { a.Metadata.Status, a.LastModifiedAt = assets.Success, sent.Add(time.Hour) },
			want: []string{"time of the last change"}},
		{name: "of a service that tells no times", asset: func(a *assets.Asset) { a.LastModifiedAt = time.Time{} }},
		{name: "not told when it was sent", receipt: func(r *state.Receipt) { r.Modified = time.Time{} }},
		{name: "not told when it was sent, and changed after that", receipt: func(r *state.Receipt) { r.Modified = time.Time{} },
			asset: func(a *assets.Asset) { a.LastModifiedAt = sent.Add(time.Hour) }, want: []string{"time of the last change"}},
		{name: "marked by us, nobody knows when", receipt: func(r *state.Receipt) { r.Modified = time.Time{} }, asset: func(a *assets.Asset) {
			a.LastModifiedAt, a.Metadata.CustomAttributes = sent.Add(time.Hour), map[string]any{migrate.ProvenanceAttribute: mark}
		}},
	} {
		r := state.Receipt{Object: sources.Object{Key: "a.jpg", Size: 3}, Checksum: checksum, Asset: "id", Name: "a", Extension: "jpg", Category: "c", Folder: "f", Modified: sent}
		a := assets.Asset{ID: "id", Name: "a", Extension: "jpg", Size: 3, CategoryID: "c", FolderID: "f", UploadedAt: sent, LastModifiedAt: sent}
		if tc.receipt != nil {
			tc.receipt(&r)
		}
		if tc.asset != nil {
			tc.asset(&a)
		}
		if got := changedParts(r, tc.said, a); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
