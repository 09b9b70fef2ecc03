package preflight

import (
	"assetferry/internal/ui"
	"assetferry/migrate"
)

// definitions are the findings for reasons of the plan, in the order that they are shown. The ID of
// a finding is the code of its reason.
var definitions = []struct {
	reason migrate.Reason
	definition
}{
	{migrate.ReasonUnsupportedType, definition{severity: Loss,
		title:  "unsupported file type",
		remedy: "use --unsupported create, or allow the extension in a category"}},
	{migrate.ReasonUnreadable, definition{severity: Loss,
		title:  "unreadable",
		remedy: "make the source readable, or use --exclude"}},
	{migrate.ReasonTableError, definition{severity: Loss,
		title:  "invalid row in the metadata table",
		remedy: "correct the table, or use --exclude (versions of objects: see assetferry help tables)"}},
	{migrate.ReasonMetadataUnreadable, definition{severity: Loss,
		title:  "unreadable metadata that mapping rules need",
		remedy: "fix the metadata at the source, or use --ignore-metadata"}},
	{migrate.ReasonMappingError, definition{severity: Loss,
		title:  "error in a mapping rule",
		remedy: "correct the rule or the object; assetferry plan --explain-mapping KEY shows the error"}},
	{migrate.ReasonMissingAtSource, definition{severity: Loss,
		title:  "in --files-from, but not at the source",
		remedy: "correct --files-from"}},
	{migrate.ReasonInvalidKey, definition{severity: Loss,
		title:  "key that cannot be split into folders and a name",
		remedy: "rename the object at the source, or use --exclude"}},
	{migrate.ReasonNameTooLong, definition{severity: Loss,
		title:  "name longer than the service allows",
		remedy: "rename the object at the source, or use --exclude"}},
	{migrate.ReasonTooLarge, definition{severity: Loss,
		title:  "larger than the service allows",
		remedy: "raise the limit at the service, or use --exclude"}},
	{migrate.ReasonCategoryPublic, definition{severity: Loss,
		title:  "private at the source, but its category is public",
		remedy: "make the category private, or use --category, or a mapping rule with category and private: true"}},
	{migrate.ReasonNoCategoryPossible, definition{severity: Loss,
		title:  "extension that no category can have",
		remedy: "use --fallback-category, which adds .bin to the name, or a mapping rule for the name, or --exclude"}},
	{migrate.ReasonNameExists, definition{severity: Loss,
		title:  "another asset has the same name",
		remedy: "use --on-existing create or adopt for new objects, or --exclude"}},
	{migrate.ReasonNameCollision, definition{severity: Loss,
		title:  "another object has the same name, ignoring case and Unicode form",
		remedy: "use --on-collision rename or keep"}},
	{migrate.ReasonAmbiguous, definition{severity: Loss,
		title:  "several objects of one key",
		remedy: "rename or delete all but one at the source (rclone dedupe REMOTE:path), or use --exclude"}},
	{migrate.ReasonNoSize, definition{severity: Loss,
		title:  "document without a size",
		remedy: "export the document at the source, or use --exclude"}},
	{migrate.ReasonArchived, definition{severity: Loss,
		title:  "in an archive storage class",
		remedy: "have the owner of the source restore the object from the archive"}},
	{migrate.ReasonRetriesExhausted, definition{severity: Loss,
		title:  "failed in several runs",
		remedy: "use --retry-exhausted"}},
	{migrate.ReasonScanRefused, definition{severity: Loss,
		title:  "refused by the scan in an earlier run",
		remedy: "clean or delete the object at the source, or correct the scanner and use --retry-exhausted"}},
	{migrate.ReasonUnconfirmed, definition{severity: Loss,
		title:  "uploaded earlier, but never confirmed",
		remedy: "look for the asset at the destination, then use --retry-exhausted"}},
	{migrate.ReasonUnconfirmedDeleted, definition{severity: Loss,
		title:  "uploaded earlier, never confirmed, then deleted at the source",
		remedy: "look for the asset at the destination, trash it there if it exists, then use --retry-exhausted"}},
	{migrate.ReasonNameExistsCreated, definition{severity: Warning,
		title:  "created although another asset has the same name",
		remedy: "use --on-existing conflict or adopt"}},
	{migrate.ReasonSameNameAndSize, definition{severity: Warning,
		title:  "matched to an existing asset by name and size only",
		remedy: "use --on-existing conflict, which compares the content"}},
	{migrate.ReasonExtensionAdded, definition{severity: Note,
		title:  "without a usable extension; .bin is added to the name",
		remedy: "use a mapping rule for the name, or --exclude"}},
	{migrate.ReasonRenamed, definition{severity: Note,
		title:  "renamed: another object has the same name, ignoring case and Unicode form",
		remedy: "use --on-collision keep or conflict"}},
}

// Covers reports whether the findings include the objects with a reason.
func Covers(reason string) bool {
	for _, d := range definitions {
		if string(d.reason) == reason {
			return true
		}
	}
	return false
}

// reasons returns empty sums of those findings.
func reasons() map[migrate.Reason]*sum {
	all := make(map[migrate.Reason]*sum, len(definitions))
	for _, d := range definitions {
		all[d.reason] = &sum{definition: d.definition}
		all[d.reason].id = string(d.reason)
	}
	all[migrate.ReasonUnsupportedType].parts = newParts()
	all[migrate.ReasonNoCategoryPossible].parts = newParts()
	return all
}

// limit adapts findings to the limits of a plan.
func (s *Collector) limit(l Limits) {
	if l.Blocks {
		s.byReason[migrate.ReasonUnsupportedType].severity = Stop
	}
	if l.MaxFileSize > 0 {
		s.byReason[migrate.ReasonTooLarge].title += " (" + ui.Bytes(l.MaxFileSize) + ")"
	}
}
