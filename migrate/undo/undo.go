// Package undo undoes runs. Its Planner finds the changes of a run and the later changes by users,
// and stores a plan; its Undoer carries it out with package apply.
package undo

import (
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/state"
)

// A contentMatch compares the content of an asset with the upload.
type contentMatch int

// The results of comparing contents; the first one means that they were not compared.
const (
	contentUnasked contentMatch = iota
	contentAsSent
	contentRewritten
	contentUnreadable
)

// An undoSituation contains all facts that the undo of an asset depends on.
type undoSituation struct {
	Was           state.Action // action of the run; create for every asset that it created
	There         bool         // it is at the destination
	Unknown       bool         // it is unknown whether it is
	Shared        bool         // it stands for an object of another source, too
	Changed       bool         // changed since the run, according to the service
	Content       contentMatch // which the service need not report
	KeyTaken      bool         // another asset has the previous key of its object
	FolderMissing bool         // where it was before is not there any more
	ContentLost   bool         // its former content is
}

// decideUndo returns the action that undoes a change of an asset, and the reason. It is a pure
// function, as Decide is.
func decideUndo(r undoSituation) (state.Action, migrate.Reason) {
	there := r.Was != state.Trash
	switch {
	case there && r.Unknown:
		return state.Conflict, migrate.ReasonAssetStateUnknown
	case there && !r.There:
		return state.Skip, migrate.ReasonAssetMissing
	case r.Was == state.Create && r.Shared:
		return state.Conflict, migrate.ReasonAssetShared
	case there && (r.Changed || r.Content == contentRewritten):
		return state.Conflict, migrate.ReasonAssetChangedSince
	case there && r.Content == contentUnreadable:
		return state.Conflict, migrate.ReasonContentUnreadable
	case (r.Was == state.Move || r.Was == state.Replace) && r.KeyTaken:
		return state.Conflict, migrate.ReasonChangedByLaterRun
	case (r.Was == state.Move || r.Was == state.Trash) && r.FolderMissing:
		return state.Conflict, migrate.ReasonFolderMissing
	case r.Was == state.Replace && r.ContentLost:
		return state.Conflict, migrate.ReasonRevisionMissing
	}
	return inverse(r.Was)
}

// inverse returns the action that undoes another one.
func inverse(of state.Action) (state.Action, migrate.Reason) {
	switch of {
	case state.Trash:
		return state.Create, migrate.ReasonUndoTrashed
	case state.Replace:
		return state.Replace, migrate.ReasonUndoReplaced
	case state.Move:
		return state.Move, migrate.ReasonUndoMoved
	case state.UpdateMetadata:
		return state.UpdateMetadata, migrate.ReasonUndoMetadataUpdated
	}
	return state.Trash, migrate.ReasonUndoCreated
}

// changedParts names the parts of an asset that differ from our last state. An edit changes its
// metadata, its place, its size, or at least its modification time. A service that keeps no
// modification time, or is processing an image, hides an edit that changes nothing else; then the
// content has to be compared.
func changedParts(r state.Receipt, said metadata.Metadata, a assets.Asset) (names []string) {
	for _, part := range []struct {
		name    string
		changed bool
	}{
		{"name", norm.NFC.String(a.Name) != norm.NFC.String(r.Name) || a.Extension != r.Extension},
		{"place", a.CategoryID != r.Category || a.FolderID != r.Folder},
		{"size", a.Size != r.Size},
		{"description", a.Metadata.Description != said.Description},
		{"tags", collect.HasForeignTags(said, a)},
		{"custom attributes", collect.HasForeignAttributes(said, a)},
		{"time of the last change", collect.ChangedLater(r, a)},
	} {
		if part.changed {
			names = append(names, part.name)
		}
	}
	return names
}
