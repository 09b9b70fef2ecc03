package migrate

import (
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/metadata"
	"assetferry/state"
)

// A Content says how the content of an asset compares with what was sent.
type Content int

// What is known of a content: nothing, because nobody asked, or what came of reading it.
const (
	Unasked Content = iota
	AsSent
	Rewritten
	Unreadable
)

// A Remnant is everything that a decision to take back what was done to an asset depends on.
type Remnant struct {
	Was     state.Action // what the run did to it; create for all that it made
	There   bool         // it is at the destination
	Untold  bool         // nobody knows whether it is
	Shared  bool         // it stands for an object of another source, too
	Changed bool         // since, by all that the service says of it
	Content Content      // which the service need not tell
	Again   bool         // another asset stands for what its object was called before
	NoPlace bool         // where it was before is not there any more
	Lost    bool         // its former content is
}

// DecideUndo says what has to happen to an asset to which a run did something, and why. It
// is a pure function, as Decide is.
func DecideUndo(r Remnant) (state.Action, Reason) {
	there := r.Was != state.Trash
	switch {
	case there && r.Untold:
		return state.Conflict, ReasonUntold
	case there && !r.There:
		return state.Skip, ReasonGone
	case r.Was == state.Create && r.Shared:
		return state.Conflict, ReasonShared
	case there && (r.Changed || r.Content == Rewritten):
		return state.Conflict, ReasonTouched
	case there && r.Content == Unreadable:
		return state.Conflict, ReasonUnread
	case (r.Was == state.Move || r.Was == state.Replace) && r.Again:
		return state.Conflict, ReasonLater
	case (r.Was == state.Move || r.Was == state.Trash) && r.NoPlace:
		return state.Conflict, ReasonNoPlace
	case r.Was == state.Replace && r.Lost:
		return state.Conflict, ReasonNoRevision
	}
	return inverse(r.Was)
}

// inverse is what takes back an action.
func inverse(of state.Action) (state.Action, Reason) {
	switch of {
	case state.Trash:
		return state.Create, ReasonTrashed
	case state.Replace:
		return state.Replace, ReasonReplaced
	case state.Move:
		return state.Move, ReasonMovedOn
	case state.Describe:
		return state.Describe, ReasonDescribed
	}
	return state.Trash, ReasonMade
}

const (
	// rounding is by how much two answers of a service may differ about one time.
	rounding = time.Second
	// processing is how long a service may be busy with an image, and may take the end of
	// that for a change.
	processing = 10 * time.Minute
)

// changes names what of an asset is not as we left it, which is described as the source
// said then. Whoever edits an asset changes its
// metadata, its place, its size, or at least the time of its last change; a service that
// does not keep that time hides an edit that keeps all others, and so does one that is
// processing an image. Its content tells.
func changes(r state.Receipt, said metadata.Metadata, a assets.Asset) (names []string) {
	for _, part := range []struct {
		name    string
		changed bool
	}{
		{"name", norm.NFC.String(a.Name) != norm.NFC.String(r.Name) || a.Extension != r.Extension},
		{"place", a.CategoryID != r.Category || a.FolderID != r.Folder},
		{"size", a.Size != r.Size},
		{"description", a.Metadata.Description != said.Description},
		{"tags", hasForeignTags(said, a)},
		{"custom attributes", hasForeignAttributes(said, a)},
		{"time of the last change", changedLater(r, a)},
	} {
		if part.changed {
			names = append(names, part.name)
		}
	}
	return names
}

// hasForeignTags reports whether an asset carries other tags than we gave it.
func hasForeignTags(said metadata.Metadata, a assets.Asset) bool {
	return !slices.Equal(slices.Sorted(slices.Values(a.Tags)), said.Tags)
}

// hasForeignAttributes reports whether an asset carries something else than what we gave
// it, and where it comes from, or came from before its object got another key or content.
func hasForeignAttributes(said metadata.Metadata, a assets.Asset) bool {
	attributes := metadataOf(a).Attributes
	if mark, ours := attributes[provenanceAttribute]; ours && !strings.HasSuffix(mark, "."+a.ID) {
		return true
	}
	delete(attributes, provenanceAttribute)
	return !maps.Equal(attributes, said.Attributes)
}

// changedLater reports whether an asset was changed after we left it, by the clock of the
// service alone.
func changedLater(r state.Receipt, a assets.Asset) bool {
	left := leftAt(r, a)
	if left.IsZero() || a.LastModifiedAt.IsZero() {
		return false
	}
	slack := rounding
	if a.Metadata.Status != "" {
		slack = processing
	}
	return a.LastModifiedAt.After(left.Add(slack))
}

// leftAt is when we changed an asset last, by the clock of the service; zero if that is not
// known.
func leftAt(r state.Receipt, a assets.Asset) time.Time {
	if r.Modified.IsZero() && markOf(a) == "" { // where it comes from was not written either
		return a.UploadedAt
	}
	return r.Modified
}
