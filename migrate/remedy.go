package migrate

import (
	"context"
	"iter"
	"slices"

	"assetferry/state"
)

// A Remedy says what follows from a reason for which an object did not arrive.
type Remedy struct {
	// Decides is the switch or the person that decides about it.
	Decides string
	// Missed says that somebody may look for the object at the destination, so that
	// what was left out must not pass for complete.
	Missed bool
}

// Remedy says what follows from the reason; nothing from those of what arrives.
func (r Reason) Remedy() Remedy {
	switch r {
	case ReasonJunk:
		return Remedy{Decides: "always left out; rename it if it is meant to be taken"}
	case ReasonFiltered:
		return Remedy{Decides: "--include and --exclude"}
	case ReasonNotListed:
		return Remedy{Decides: "--files-from"}
	case ReasonNotFailed:
		return Remedy{Decides: "--only failed; a sync without it takes the rest"}
	case ReasonTooYoung:
		return Remedy{"--min-age; a later run takes it", true}
	case ReasonLimit:
		return Remedy{"--limit; run it without to take the rest", true}
	case ReasonSymlink:
		return Remedy{"--symlinks follow takes what they lead to", true}
	case ReasonSpecial:
		return Remedy{Decides: "only files can be taken over"}
	case ReasonArchived:
		return Remedy{"whoever looks after the bucket: restore it from its archive, then run again", true}
	case ReasonSidecar:
		return Remedy{Decides: "nothing to decide: what it says goes to the asset of that; --precedence without sidecar takes it as an object"}
	case ReasonFolder:
		return Remedy{Decides: "nothing to decide: folders are made for what is in them"}
	case ReasonUnmatched:
		return Remedy{"--unmatched create, with --fallback-category for files without an extension; --category; or an administrator who allows the extension in a category", true}
	case ReasonRuledOut:
		return Remedy{Decides: "the rule of the mapping; plan --explain-mapping KEY tells which"}
	case ReasonRules:
		return Remedy{"correct the rule, or the object; plan --explain-mapping KEY tells what it makes of it", true}
	case ReasonUseSync:
		return Remedy{"assetferry sync replaces it", true}
	case ReasonOrphaned:
		return Remedy{Decides: "--delete trash trashes it once it has been gone long enough"}
	case ReasonQuarantine:
		return Remedy{Decides: "--quarantine; a later sync trashes it if it is still gone"}
	case ReasonTooMany:
		return Remedy{Decides: "see that the source is whole; --accept-deletes lets them go"}
	case ReasonUnseen:
		return Remedy{Decides: "let the folder be read; its assets stay as they are"}
	case ReasonDeleted:
		return Remedy{"--repair creates it again", true}
	case ReasonMovedThere:
		return Remedy{"move it back by hand, or let the source win with --on-destination-change overwrite", true}
	case ReasonNeeded:
		return Remedy{"have a run take the other object, too, or delete that at the source: it has no other asset", true}
	case ReasonOtherwise:
		return Remedy{"have both say the same, or decide with --on-destination-change keep or overwrite", true}
	case ReasonEditedThere:
		return Remedy{"take the edit over into the source, or let the source win with --on-destination-change overwrite", true}
	case ReasonAbsent:
		return Remedy{"assetferry migrate sends it", true}
	case ReasonNotApproved, ReasonDrifted:
		return Remedy{"write another plan with plan --output, and have that approved", true}
	case ReasonParked:
		return Remedy{"see the error, then --retry-parked", true}
	case ReasonUnclear:
		return Remedy{"look for it at the destination, then --retry-parked", true}
	case ReasonUnsettled:
		return Remedy{"look for it at the destination, trash it by hand if it is there, then --retry-parked", true}
	case ReasonUnreadable:
		return Remedy{"whoever owns the source: let it be read, or leave it out with --exclude", true}
	case ReasonMiswritten:
		return Remedy{"correct the rows of the table that the error names, or leave it out with --exclude", true}
	case ReasonUnplaced:
		return Remedy{"mend what the error names, or do without it with --ignore-metadata", true}
	case ReasonMissing:
		return Remedy{"correct --files-from", true}
	case ReasonKey:
		return Remedy{"rename it at the source", true}
	case ReasonNoCategory:
		return Remedy{"--fallback-category NAME adds .bin to its name; or a rule of the mapping names it with an extension; or give it one at the source", true}
	case ReasonNameLong:
		return Remedy{"shorten the name at the source", true}
	case ReasonTooLarge:
		return Remedy{"make it smaller, or ask whoever runs the service for a higher limit", true}
	case ReasonPublic:
		return Remedy{"whoever manages the categories: make that one private; or name a private one with --category, or have a rule of the mapping say category beside private: true", true}
	case ReasonExists:
		return Remedy{"--on-existing: duplicate sends or moves beside it, adopt takes over for a new object what is there and has the same size; or rename one of the two", true}
	case ReasonCollision:
		return Remedy{"--on-collision rename, or rename one of the two at the source", true}
	case ReasonTouched:
		return Remedy{Decides: "look at what was changed, and trash it by hand if it must go"}
	case ReasonShared:
		return Remedy{Decides: "trash it by hand if the other source can do without it"}
	case ReasonUnread:
		return Remedy{Decides: "undo it without --content"}
	case ReasonUntold:
		return Remedy{Decides: "look for it at the destination, then undo again"}
	case ReasonLater, ReasonSharedLater:
		return Remedy{Decides: "undo the later run first, then this one again"}
	case ReasonNoPlace:
		return Remedy{Decides: "whoever deleted the folder; put the asset by hand where it belongs"}
	case ReasonNoRevision:
		return Remedy{Decides: "replace it by hand, or have the next sync do it"}
	case ReasonGone:
		return Remedy{Decides: "nothing to decide: there is nothing to take back any more"}
	}
	return Remedy{}
}

// ownRules are the reasons of skips that the settings of a run decide, and that hold until
// somebody changes those. Not among them are --limit and --files-from, which take the rest
// with another run, and what the source or the destination decides, such as an archive.
var ownRules = []Reason{ReasonJunk, ReasonFiltered, ReasonTooYoung, ReasonSymlink, ReasonUnmatched, ReasonRuledOut}

// IsOwnRule reports whether a rule of the user's own skips an object for the reason. Who has
// seen that once need not look at it after every run.
func (r Reason) IsOwnRule() bool { return slices.Contains(ownRules, r) }

// NewSkips lists what a run skipped by rules of the user's own, and no earlier run of its
// pair for the same reason.
func NewSkips(ctx context.Context, journal *state.Store, run state.Run) iter.Seq2[state.SkippedObject, error] {
	reasons := make([]string, len(ownRules))
	for n, r := range ownRules {
		reasons[n] = string(r)
	}
	return journal.NewSkips(ctx, run, reasons)
}
