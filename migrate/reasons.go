package migrate

import (
	"maps"
	"slices"

	"assetferry/internal/flagname"
)

// A Reason is the code for why an action was chosen, such as "unsupported_type". State databases,
// JSON and CSV hold the code; people read [Reason.Text].
type Reason string

// NothingToDo begins the remedies of reasons for which nothing has to be done; the explanation
// follows.
const NothingToDo = "nothing to do: "

// A definition describes a reason. Its texts name settings in braces, by their keys in the
// configuration file; flagname.InText turns these into flags.
type definition struct {
	code         string // for programs
	text         string // for people
	fails        bool   // see IsFailure
	stopsRetries bool   // see StopsRetries
	ownRule      bool   // see IsOwnRule
	missed       bool   // see IsMissed
	remedy       string // see Remedy
}

// definitions has every reason, by its code.
var definitions = map[Reason]definition{}

// define adds a reason to the table.
func define(d definition) Reason {
	d.text = flagname.InText(d.text) // once: lists print it for each object
	definitions[Reason(d.code)] = d
	return Reason(d.code)
}

// The reasons of a plan.
var (
	ReasonNew             = define(definition{code: "new", text: "not at the destination yet"})
	ReasonRenamed         = define(definition{code: "renamed", text: "not at the destination yet; renamed because another object has the same name"})
	ReasonExtensionAdded  = define(definition{code: "extension_added", text: "not at the destination yet; .bin is added to the name, which has no extension"})
	ReasonUnchanged       = define(definition{code: "unchanged", text: "unchanged since the last run"})
	ReasonMetadataMissing = define(definition{code: "metadata_missing", text: "uploaded, but its metadata is not written yet"})
	ReasonNeedsSync       = define(definition{code: "needs_sync", text: "content changed; migrate does not replace assets", missed: true,
		remedy: "run sync to replace the asset"})
	ReasonIdenticalAsset    = define(definition{code: "identical_asset", text: "an asset with identical content exists"})
	ReasonIdenticalObject   = define(definition{code: "identical_object", text: "content is identical to that of another object; both share one asset"})
	ReasonSameNameAndSize   = define(definition{code: "same_name_and_size", text: "an asset with the same name and size exists"})
	ReasonNameExistsCreated = define(definition{code: "name_exists_created", text: "another asset has the same name; uploaded next to it"})
	ReasonNotAtDestination  = define(definition{code: "not_at_destination", text: "not at the destination; adopt uploads nothing", missed: true,
		remedy: "run migrate to upload the object"})
	ReasonNotApproved = define(definition{code: "not_approved", text: "not in the approved plan", missed: true,
		remedy: "write a new plan with assetferry plan {output}, and have it approved"})
	ReasonChangedSinceApproval = define(definition{code: "changed_since_approval", text: "changed since the plan was approved", missed: true,
		remedy: "write a new plan with assetferry plan {output}, and have it approved"})
	ReasonRetriesExhausted = define(definition{code: "retries_exhausted", text: "failed in several runs; not tried again without {retry_exhausted}", stopsRetries: true, missed: true,
		remedy: "fix the cause that the error names, then use {retry_exhausted}"})
	ReasonUnconfirmed = define(definition{code: "unconfirmed", text: "uploaded before, but never confirmed; not tried again without {retry_exhausted}", stopsRetries: true, missed: true,
		remedy: "look for the asset at the destination, then use {retry_exhausted}"})
	ReasonUnconfirmedDeleted = define(definition{code: "unconfirmed_deleted", text: "uploaded before, then deleted at the source; it is unknown whether an asset exists", stopsRetries: true, missed: true,
		remedy: "look for the asset at the destination and trash it by hand, then use {retry_exhausted}"})

	ReasonScanRefused = define(definition{code: "scan_refused", text: "refused by the scan in an earlier run; not scanned again without {retry_exhausted} until it changes", stopsRetries: true, missed: true,
		remedy: "clean or delete the object at the source; if the scanner was wrong, correct it, then use {retry_exhausted}"})

	ReasonContentChanged        = define(definition{code: "content_changed", text: "content changed"})
	ReasonContentAndNameChanged = define(definition{code: "content_and_name_changed", text: "content changed, and the name changed only in case or Unicode form"})
	ReasonNameAvailable         = define(definition{code: "name_available", text: "the name that was taken is available now"})
	ReasonContentMaybeChanged   = define(definition{code: "content_maybe_changed", text: "size, time or version changed; the content is compared"})
	ReasonOnlyVersionChanged    = define(definition{code: "only_version_changed", text: "only the time or version changed; the content is identical"})
	ReasonMetadataChanged       = define(definition{code: "metadata_changed", text: "metadata changed"})
	ReasonMetadataRefreshed     = define(definition{code: "metadata_refreshed", text: "metadata is read again ({refresh_metadata})"})
	ReasonMoved                 = define(definition{code: "moved", text: "moved or renamed at the source"})
	ReasonAssetMovedReverted    = define(definition{code: "asset_moved_reverted", text: "a user moved or renamed the asset; moved back"})
	ReasonAssetEditedReverted   = define(definition{code: "asset_edited_reverted", text: "a user changed the content of the asset; replaced from the source"})
	ReasonAssetDeletedCreated   = define(definition{code: "asset_deleted_created", text: "the asset was deleted at the destination; created again"})
	ReasonSeveralMoveCandidates = define(definition{code: "several_move_candidates", text: "not at the destination yet; content is identical to that of several deleted objects"})

	ReasonCategoryFixed = define(definition{code: "category_fixed", text: "not at the destination yet; an asset with identical content cannot leave its category"})

	ReasonDeletedAtSource = define(definition{code: "deleted_at_source", text: "deleted at the source; its asset stays ({delete})",
		remedy: "use {delete} trash to trash the asset after the grace period"})
	ReasonGracePeriod = define(definition{code: "grace_period", text: "deleted at the source; its asset stays until the grace period ends ({grace_period})",
		remedy: "wait for a later sync, which trashes the asset after the grace period ({grace_period})"})
	ReasonPossiblyMoved = define(definition{code: "possibly_moved", text: "deleted at the source, or moved to a key that this run could not process; its asset stays",
		remedy: "fix the objects that this run could not process, or exclude them with {exclude}; a later sync moves or trashes the asset"})
	ReasonGracePeriodOver = define(definition{code: "grace_period_over", text: "deleted at the source; the grace period is over"})
	ReasonTooManyDeletes  = define(definition{code: "too_many_deletes", text: "deleted at the source, but the run would trash more assets than allowed ({accept_deletes})",
		remedy: "check that the source is complete, then use {accept_deletes} to trash the assets"})
	ReasonDeletedAtBoth = define(definition{code: "deleted_at_both", text: "deleted at the source and at the destination"})
	ReasonAssetDeleted  = define(definition{code: "asset_deleted", text: "a user deleted the asset at the destination; it stays deleted ({repair})", missed: true,
		remedy: "use {repair} to create the asset again"})
	ReasonAssetMoved = define(definition{code: "asset_moved", text: "a user moved or renamed the asset at the destination ({on_destination_change})", missed: true,
		remedy: "move the asset back by hand, or use {on_destination_change} overwrite"})
	ReasonAssetEdited = define(definition{code: "asset_edited", text: "a user changed the content of the asset at the destination ({on_destination_change})", missed: true,
		remedy: "copy the edit to the source, or use {on_destination_change} overwrite"})
	ReasonAssetMetadataEdited = define(definition{code: "asset_metadata_edited", text: "a user changed the metadata of the asset at the destination ({on_destination_change})", missed: true,
		remedy: "make the metadata identical at the source and the destination, or use {on_destination_change} keep or overwrite"})
	ReasonAssetNeeded = define(definition{code: "asset_needed", text: "content changed, but its asset is still needed for another object that this run does not include", missed: true,
		remedy: "include the other object in the run, or delete it at the source"})

	ReasonSystemFile = define(definition{code: "system_file", text: "system file", ownRule: true,
		remedy: "rename the file if it is not a system file"})
	ReasonExcluded = define(definition{code: "excluded", text: "excluded by {include} or {exclude}", ownRule: true,
		remedy: "change {include} or {exclude}"})
	ReasonOtherWave = define(definition{code: "other_wave", text: "deleted at the source, in another wave ({wave})",
		remedy: "nothing to do: the runs of that wave include the object"})
	ReasonNotFailedBefore = define(definition{code: "not_failed_before", text: "did not fail before ({only})",
		remedy: "run sync without {only}"})
	ReasonNotInList = define(definition{code: "not_in_list", text: "not in the list ({files_from})",
		remedy: "add the key to the list that {files_from} names"})
	ReasonTooYoung = define(definition{code: "too_young", text: "changed too recently ({min_age})", ownRule: true, missed: true,
		remedy: "wait for a later run, which uploads the object ({min_age})"})
	ReasonLimit = define(definition{code: "limit", text: "beyond the limit of this run ({limit})", missed: true,
		remedy: "run again without {limit} to upload the rest"})
	ReasonSymlink = define(definition{code: "symlink", text: "symbolic link ({symlinks})", ownRule: true, missed: true,
		remedy: "use {symlinks} follow to upload the files that the links point to"})
	ReasonNotRegularFile = define(definition{code: "not_regular_file", text: "not a regular file",
		remedy: "nothing to do: only regular files can be uploaded"})
	ReasonArchived = define(definition{code: "archived", text: "in an archive storage class", missed: true,
		remedy: "have the owner of the bucket restore the object from the archive, then run the same command again"})
	ReasonFolderMarker = define(definition{code: "folder_marker", text: "folder marker",
		remedy: "nothing to do: folders are created for the objects in them"})
	ReasonNoSize = define(definition{code: "no_size", text: "has no size: a document of an online editor", missed: true,
		remedy: "export the document at the source, for example as a PDF, or copy it with rclone copy, which exports it"})
	ReasonUnsupportedType = define(definition{code: "unsupported_type", text: "unsupported file type: no category allows the extension", ownRule: true, missed: true,
		remedy: "use {unsupported} create (with {fallback_category} for names without an extension) or {category}; or have an administrator allow the extension in a category"})
	ReasonMappingRule = define(definition{code: "mapping_rule", text: "skipped by a mapping rule", ownRule: true,
		remedy: "change the rule; assetferry plan {explain_mapping} KEY shows it"})

	ReasonSidecar = define(definition{code: "sidecar", text: "sidecar: metadata of another object",
		remedy: "nothing to do: the metadata goes to the asset of the other object; to upload the sidecar as an object, use {precedence} without sidecar"})

	ReasonFolderNotRead = define(definition{code: "folder_not_read", text: "in a folder that cannot be read, or behind a link that is not followed",
		remedy: "make the folder readable; its assets stay as they are"})
	ReasonUnreadable = define(definition{code: "unreadable", text: "cannot be read", fails: true, missed: true,
		remedy: "have the owner of the source grant read access to the object, or exclude the object with {exclude}"})
	ReasonAmbiguous = define(definition{code: "ambiguous", text: "several objects at the source have this key", missed: true,
		remedy: "rename or delete all but one of the objects at the source; with rclone: rclone dedupe REMOTE:path"})
	ReasonTableError = define(definition{code: "table_error", text: "its rows in the metadata table are invalid", fails: true, missed: true,
		remedy: "correct the rows that the error names, or exclude the object with {exclude} (versions of objects: see assetferry help tables)"})
	ReasonMetadataUnreadable = define(definition{code: "metadata_unreadable", text: "its metadata cannot be read, and mapping rules need it", fails: true, missed: true,
		remedy: "fix what the error names, or use {ignore_metadata}"})
	ReasonMissingAtSource = define(definition{code: "missing_at_source", text: "listed in {files_from}, but not at the source", fails: true, missed: true,
		remedy: "correct the list that {files_from} names"})
	ReasonMappingError = define(definition{code: "mapping_error", text: "a mapping rule cannot be applied", missed: true,
		remedy: "correct the rule or the object; assetferry plan {explain_mapping} KEY shows what the rules produce"})
	ReasonInvalidKey = define(definition{code: "invalid_key", text: "the key cannot be split into folders and a name", missed: true,
		remedy: "rename the object at the source"})
	ReasonNoCategoryPossible = define(definition{code: "no_category_possible", text: "no category can be created for its extension", missed: true,
		remedy: "use {fallback_category} NAME, which adds .bin to the name of the object; or add an extension with a mapping rule; or rename the object at the source"})
	ReasonNameTooLong = define(definition{code: "name_too_long", text: "a name is longer than the service allows", missed: true,
		remedy: "shorten the name at the source"})
	ReasonTooLarge = define(definition{code: "too_large", text: "larger than the service allows", missed: true,
		remedy: "reduce the size of the file, or ask the operator of the service for a higher limit"})
	ReasonCategoryPublic = define(definition{code: "category_public", text: "private at the source, but its category is public", missed: true,
		remedy: "have an administrator make the category private; or name a private one with {category}; or let a mapping rule set category and private: true"})
	ReasonNameExists = define(definition{code: "name_exists", text: "another asset has the same name ({on_existing})", missed: true,
		remedy: "use {on_existing} create to upload the object next to that asset, or adopt to match assets of the same size; or rename the object or the asset"})
	ReasonNameCollision = define(definition{code: "name_collision", text: "another object has the same name ({on_collision})", missed: true,
		remedy: "use {on_collision} rename, or rename one of the two objects at the source"})
)

// The reasons of the plan of an undo.
var (
	ReasonUndoCreated       = define(definition{code: "undo_created", text: "created by the run"})
	ReasonAssetChangedSince = define(definition{code: "asset_changed_since", text: "the asset changed after its upload",
		remedy: "check the changes, and trash the asset by hand if you no longer need it"})
	ReasonAssetShared = define(definition{code: "asset_shared", text: "another source shares the asset",
		remedy: "trash the asset by hand if the other source does not need it"})
	ReasonContentUnreadable = define(definition{code: "content_unreadable", text: "the content of the asset cannot be read",
		remedy: "undo the run without {content}"})
	ReasonAssetStateUnknown = define(definition{code: "asset_state_unknown", text: "the state of the asset is unknown",
		remedy: "look for the asset at the destination, then undo the run again"})
	ReasonAssetMissing = define(definition{code: "asset_missing", text: "not at the destination any more",
		remedy: "nothing to do: there is nothing left to undo"})
	ReasonChangedByLaterRun = define(definition{code: "changed_by_later_run", text: "a later run changed the asset; undo that run first",
		remedy: "undo the later run first, then undo this run again"})

	ReasonSharedByLaterRun = define(definition{code: "shared_by_later_run", text: "a later run made other objects share the asset; undo that run first",
		remedy: "undo the later run first, then undo this run again"})

	ReasonUndoTrashed         = define(definition{code: "undo_trashed", text: "trashed by the run; restored"})
	ReasonUndoReplaced        = define(definition{code: "undo_replaced", text: "replaced by the run; the previous content is restored"})
	ReasonUndoMoved           = define(definition{code: "undo_moved", text: "moved by the run; moved back"})
	ReasonUndoMetadataUpdated = define(definition{code: "undo_metadata_updated", text: "metadata updated by the run; the previous metadata is restored"})
	ReasonFolderMissing       = define(definition{code: "folder_missing", text: "the previous folder does not exist any more",
		remedy: "recreate the folder, or move the asset by hand"})
	ReasonRevisionMissing = define(definition{code: "revision_missing", text: "the previous content is not among the revisions",
		remedy: "replace the content by hand, or let the next sync replace it"})
)

// Reasons returns every reason, in the order of their codes.
func Reasons() []Reason { return slices.Sorted(maps.Keys(definitions)) }

// Text returns the sentence for people, with flags; the code itself if this version does not know
// it.
func (r Reason) Text() string {
	d, known := definitions[r]
	if !known {
		return string(r)
	}
	return d.text
}

// IsFailure reports whether a skip for this reason is a failure: the object was meant to be
// uploaded and cannot be, so the run must not look like a success.
func (r Reason) IsFailure() bool { return definitions[r].fails }

// StopsRetries reports whether an object is not tried again for this reason until it changes or a
// user asks for it.
func (r Reason) StopsRetries() bool { return definitions[r].stopsRetries }

// IsOwnRule reports whether a rule of the user skips an object for the reason, until the user
// changes the rule. Limits and lists do not count, because they leave the rest to another run. Nor
// do decisions of the source or the destination, such as an archive.
func (r Reason) IsOwnRule() bool { return definitions[r].ownRule }

// IsMissed reports whether users may expect the object at the destination, so that a run without it
// is incomplete.
func (r Reason) IsMissed() bool { return definitions[r].missed }

// Remedy returns the next step for an object that was not uploaded for this reason, with settings
// in braces; empty for reasons of uploaded objects.
func (r Reason) Remedy() string { return definitions[r].remedy }
