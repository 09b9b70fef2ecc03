package migrate

import (
	"assetferry/internal/flagname"
)

// A Reason says why an action was chosen. It is its text, with the flags of today, because
// that is what state databases store and compare.
type Reason string

// A definition is all there is to know of a reason. Its texts name settings in braces, by their keys
// in the file; whoever shows them words these, see flagname.InText.
type definition struct {
	code         string // for programs; not stored yet
	text         string // for people
	fails        bool   // see IsFailure
	stopsRetries bool   // see parks
	ownRule      bool   // see IsOwnRule
	missed       bool   // see IsMissed
	remedy       string // see Remedy
}

// definitions has the row of every reason: no reason is there but by define.
var definitions = map[Reason]definition{}

// define adds a reason to the table.
func define(d definition) Reason {
	stored := Reason(flagname.InText(d.text))
	definitions[stored] = d
	return stored
}

// The reasons of a plan.
var (
	ReasonNew             = define(definition{code: "new", text: "not at the destination yet"})
	ReasonRenamed         = define(definition{code: "renamed", text: "not at the destination yet; renamed, the name is taken"})
	ReasonExtensionAdded  = define(definition{code: "extension_added", text: "not at the destination yet; .bin is added to its name, which has no extension that a category can hold"})
	ReasonUnchanged       = define(definition{code: "unchanged", text: "as the state database remembers it"})
	ReasonMetadataMissing = define(definition{code: "metadata_missing", text: "sent, but not described yet"})
	ReasonNeedsSync       = define(definition{code: "needs_sync", text: "changed, use sync", missed: true,
		remedy: "assetferry sync replaces it"})
	ReasonIdenticalAsset    = define(definition{code: "identical_asset", text: "an equal asset is there already"})
	ReasonIdenticalObject   = define(definition{code: "identical_object", text: "its content is that of another object; one asset for both"})
	ReasonSameNameAndSize   = define(definition{code: "same_name_and_size", text: "an asset of that name and size is there already"})
	ReasonNameExistsCreated = define(definition{code: "name_exists_created", text: "another asset of that name is there; sent beside it"})
	ReasonNotAtDestination  = define(definition{code: "not_at_destination", text: "not at the destination, and adopt sends nothing", missed: true,
		remedy: "assetferry migrate sends it"})
	ReasonNotApproved = define(definition{code: "not_approved", text: "not in the approved plan", missed: true,
		remedy: "write another plan with plan {output}, and have that approved"})
	ReasonChangedSinceApproval = define(definition{code: "changed_since_approval", text: "drifted since the plan was approved", missed: true,
		remedy: "write another plan with plan {output}, and have that approved"})
	ReasonRetriesExhausted = define(definition{code: "retries_exhausted", text: "failed in many runs, see {retry_exhausted}", stopsRetries: true, missed: true,
		remedy: "see the error, then {retry_exhausted}"})
	ReasonUnconfirmed = define(definition{code: "unconfirmed", text: "sent before, and nobody can tell whether it arrived, see {retry_exhausted}", stopsRetries: true, missed: true,
		remedy: "look for it at the destination, then {retry_exhausted}"})
	ReasonUnconfirmedDeleted = define(definition{code: "unconfirmed_deleted", text: "sent before, deleted at the source since, and nobody can tell whether an asset is of it, see {retry_exhausted}", stopsRetries: true, missed: true,
		remedy: "look for it at the destination, trash it by hand if it is there, then {retry_exhausted}"})

	ReasonContentChanged        = define(definition{code: "content_changed", text: "its content changed"})
	ReasonContentAndNameChanged = define(definition{code: "content_and_name_changed", text: "its content changed, and its name in case or Unicode form only"})
	ReasonNameAvailable         = define(definition{code: "name_available", text: "the name that was taken when it arrived is free now"})
	ReasonContentMaybeChanged   = define(definition{code: "content_maybe_changed", text: "it looks changed; its content is still to be compared"})
	ReasonOnlyVersionChanged    = define(definition{code: "only_version_changed", text: "only its time or version changed, its content is the same"})
	ReasonMetadataChanged       = define(definition{code: "metadata_changed", text: "its metadata changed"})
	ReasonMetadataRefreshed     = define(definition{code: "metadata_refreshed", text: "what describes it is looked for again, see {refresh_metadata}"})
	ReasonMoved                 = define(definition{code: "moved", text: "its content was under another key before"})
	ReasonAssetMovedReverted    = define(definition{code: "asset_moved_reverted", text: "somebody moved or renamed its asset; back it goes"})
	ReasonAssetEditedReverted   = define(definition{code: "asset_edited_reverted", text: "somebody changed the content of its asset; the source wins"})
	ReasonAssetDeletedCreated   = define(definition{code: "asset_deleted_created", text: "its asset was deleted at the destination; created again"})
	ReasonSeveralMoveCandidates = define(definition{code: "several_origins", text: "not at the destination yet; its content is that of several objects that are gone"})

	ReasonCategoryFixed = define(definition{code: "category_fixed", text: "not at the destination yet; the asset that has its content is in a category which cannot be left for this one"})

	ReasonDeletedAtSource = define(definition{code: "deleted_at_source", text: "gone from the source; its asset stays, see {delete}",
		remedy: "{delete} trash trashes it once it has been gone long enough"})
	ReasonGracePeriod = define(definition{code: "grace_period", text: "gone from the source; its asset stays for now, see {grace_period}",
		remedy: "{grace_period}; a later sync trashes it if it is still gone"})
	ReasonPossiblyMoved = define(definition{code: "possibly_moved", text: "gone from the source, or under another key among what this run could not take; its asset stays",
		remedy: "let what this run could not take be read, or leave it out with {exclude}; a later sync moves the asset, or trashes it"})
	ReasonGracePeriodOver = define(definition{code: "grace_period_over", text: "gone from the source long enough"})
	ReasonTooManyDeletes  = define(definition{code: "too_many_deletes", text: "gone from the source; more assets than one run may trash, see {accept_deletes}",
		remedy: "see that the source is whole; {accept_deletes} lets them go"})
	ReasonDeletedAtBoth = define(definition{code: "deleted_at_both", text: "gone from the source, and from the destination as well"})
	ReasonAssetDeleted  = define(definition{code: "asset_deleted", text: "somebody deleted its asset at the destination; it stays deleted, see {repair}", missed: true,
		remedy: "{repair} creates it again"})
	ReasonAssetMoved = define(definition{code: "asset_moved", text: "somebody moved or renamed its asset at the destination, see {on_destination_change}", missed: true,
		remedy: "move it back by hand, or let the source win with {on_destination_change} overwrite"})
	ReasonAssetEdited = define(definition{code: "asset_edited", text: "somebody changed the content of its asset at the destination, see {on_destination_change}", missed: true,
		remedy: "take the edit over into the source, or let the source win with {on_destination_change} overwrite"})
	ReasonAssetMetadataEdited = define(definition{code: "asset_metadata_edited", text: "somebody described its asset otherwise at the destination, see {on_destination_change}", missed: true,
		remedy: "have both say the same, or decide with {on_destination_change} keep or overwrite"})
	ReasonAssetNeeded = define(definition{code: "asset_needed", text: "its content changed, and its asset has to keep the former one for another object, which gets no asset of its own now", missed: true,
		remedy: "have a run take the other object, too, or delete that at the source: it has no other asset"})

	ReasonSystemFile = define(definition{code: "system_file", text: "left behind by an operating system or a tool", ownRule: true,
		remedy: "always left out; rename it if it is meant to be taken"})
	ReasonExcluded = define(definition{code: "excluded", text: "left out by {include} or {exclude}", ownRule: true,
		remedy: "{include} and {exclude}"})
	ReasonNotFailedBefore = define(definition{code: "not_failed_before", text: "not among what failed before, see {only}",
		remedy: "{only} failed; a sync without it takes the rest"})
	ReasonNotInList = define(definition{code: "not_in_list", text: "not in {files_from}", remedy: "{files_from}"})
	ReasonTooYoung  = define(definition{code: "too_young", text: "younger than {min_age}", ownRule: true, missed: true,
		remedy: "{min_age}; a later run takes it"})
	ReasonLimit = define(definition{code: "limit", text: "beyond {limit}", missed: true,
		remedy: "{limit}; run it without to take the rest"})
	ReasonSymlink = define(definition{code: "symlink", text: "symbolic link, see {symlinks}", ownRule: true, missed: true,
		remedy: "{symlinks} follow takes what they lead to"})
	ReasonNotRegularFile = define(definition{code: "not_regular_file", text: "not a regular file",
		remedy: "only files can be taken over"})
	ReasonArchived = define(definition{code: "archived", text: "in an archived storage class", missed: true,
		remedy: "whoever looks after the bucket: restore it from its archive, then run again"})
	ReasonFolderMarker = define(definition{code: "folder_marker", text: "stands for a folder, which comes with what is in it",
		remedy: "nothing to decide: folders are made for what is in them"})
	ReasonUnsupportedType = define(definition{code: "unsupported_type", text: "no category allows its extension", ownRule: true, missed: true,
		remedy: "{unsupported} create, with {fallback_category} for files without an extension; {category}; or an administrator who allows the extension in a category"})
	ReasonMappingRule = define(definition{code: "mapping_rule", text: "left out by a rule of the mapping", ownRule: true,
		remedy: "the rule of the mapping; plan {explain_mapping} KEY tells which"})

	ReasonSidecar = define(definition{code: "sidecar", text: "describes another object",
		remedy: "nothing to decide: what it says goes to the asset of that; {precedence} without sidecar takes it as an object"})

	ReasonFolderNotRead = define(definition{code: "not_listed", text: "not looked at: in a folder that cannot be read, or behind a link that is not followed",
		remedy: "let the folder be read; its assets stay as they are"})
	ReasonUnreadable = define(definition{code: "unreadable", text: "cannot be read", fails: true, missed: true,
		remedy: "whoever owns the source: let it be read, or leave it out with {exclude}"})
	ReasonTableError = define(definition{code: "table_error", text: "what the table says of it is wrong", fails: true, missed: true,
		remedy: "correct the rows of the table that the error names, or leave it out with {exclude}"})
	ReasonMetadataUnreadable = define(definition{code: "metadata_unreadable", text: "what describes it cannot be read, and rules ask for that to say where it goes", fails: true, missed: true,
		remedy: "mend what the error names, or do without it with {ignore_metadata}"})
	ReasonMissingAtSource = define(definition{code: "missing_at_source", text: "in {files_from} but not at the source", fails: true, missed: true,
		remedy: "correct {files_from}"})
	ReasonMappingError = define(definition{code: "mapping_error", text: "a rule of the mapping cannot be applied to it", missed: true,
		remedy: "correct the rule, or the object; plan {explain_mapping} KEY tells what it makes of it"})
	ReasonInvalidKey = define(definition{code: "invalid_key", text: "its key cannot become folders and a name", missed: true,
		remedy: "rename it at the source"})
	ReasonNoCategoryPossible = define(definition{code: "no_category_possible", text: "no category can be made for its extension", missed: true,
		remedy: "{fallback_category} NAME adds .bin to its name; or a rule of the mapping names it with an extension; or give it one at the source"})
	ReasonNameTooLong = define(definition{code: "name_too_long", text: "a name is longer than the service allows", missed: true,
		remedy: "shorten the name at the source"})
	ReasonTooLarge = define(definition{code: "too_large", text: "larger than the service allows", missed: true,
		remedy: "make it smaller, or ask whoever runs the service for a higher limit"})
	ReasonCategoryPublic = define(definition{code: "category_public", text: "private at the source, and public in the category it would go to", missed: true,
		remedy: "whoever manages the categories: make that one private; or name a private one with {category}, or have a rule of the mapping say category beside private: true"})
	ReasonNameExists = define(definition{code: "name_exists", text: "another asset of that name is there, see {on_existing}", missed: true,
		remedy: "{on_existing}: duplicate sends or moves beside it, adopt takes over for a new object what is there and has the same size; or rename one of the two"})
	ReasonNameCollision = define(definition{code: "name_collision", text: "another object has that name, see {on_collision}", missed: true,
		remedy: "{on_collision} rename, or rename one of the two at the source"})
)

// The reasons of the plan of an undo.
var (
	ReasonUndoCreated       = define(definition{code: "undo_created", text: "made by the run"})
	ReasonAssetChangedSince = define(definition{code: "asset_changed_since", text: "the asset was changed since it was sent",
		remedy: "look at what was changed, and trash it by hand if it must go"})
	ReasonAssetShared = define(definition{code: "asset_shared", text: "another source has the asset, too",
		remedy: "trash it by hand if the other source can do without it"})
	ReasonContentUnreadable = define(definition{code: "content_unreadable", text: "its content cannot be read back",
		remedy: "undo it without {content}"})
	ReasonAssetStateUnknown = define(definition{code: "asset_state_unknown", text: "the service does not tell what became of it",
		remedy: "look for it at the destination, then undo again"})
	ReasonAssetMissing = define(definition{code: "asset_gone", text: "not at the destination any more",
		remedy: "nothing to decide: there is nothing to take back any more"})
	ReasonChangedByLaterRun = define(definition{code: "changed_by_later_run", text: "a later run changed it again, undo that one first",
		remedy: "undo the later run first, then this one again"})

	ReasonSharedByLaterRun = define(definition{code: "shared_by_later_run", text: "other objects share its asset since a later run, undo that one first",
		remedy: "undo the later run first, then this one again"})

	ReasonUndoTrashed         = define(definition{code: "undo_trashed", text: "trashed by the run; restored"})
	ReasonUndoReplaced        = define(definition{code: "undo_replaced", text: "replaced by the run; its former content comes back"})
	ReasonUndoMoved           = define(definition{code: "undo_moved", text: "moved by the run; back it goes"})
	ReasonUndoMetadataUpdated = define(definition{code: "undo_metadata_updated", text: "described by the run; what it said before comes back"})
	ReasonFolderMissing       = define(definition{code: "folder_gone", text: "the folder where it was is not there any more",
		remedy: "whoever deleted the folder; put the asset by hand where it belongs"})
	ReasonRevisionMissing = define(definition{code: "revision_gone", text: "the former content is not among its revisions",
		remedy: "replace it by hand, or have the next sync do it"})
)

// IsFailure reports whether a skip for this reason means that something was
// meant to arrive and cannot, so that the run must not look like a success.
func (r Reason) IsFailure() bool { return definitions[r].fails }

// StopsRetries reports whether an object is left alone for this reason, until it changes or
// somebody asks for it.
func (r Reason) StopsRetries() bool { return definitions[r].stopsRetries }

// IsOwnRule reports whether a rule of the user's own skips an object for the reason, one that
// holds until somebody changes it. Who has seen that once need not look at it after every run.
// Not among them are limits and lists, which take the rest with another run, and what the
// source or the destination decides, such as an archive.
func (r Reason) IsOwnRule() bool { return definitions[r].ownRule }

// IsMissed reports whether somebody may look for the object at the destination, so that what
// was left out must not pass for complete.
func (r Reason) IsMissed() bool { return definitions[r].missed }

// Remedy returns the setting or the person that decides about an object which did not arrive
// for this reason, with settings in braces; nothing for what arrives.
func (r Reason) Remedy() string { return definitions[r].remedy }
