package preflight

import (
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// definitions are the findings that stand for a reason of the plan, in the order in
// which people are told of them.
var definitions = []struct {
	reason migrate.Reason
	definition
}{
	{migrate.ReasonUnsupportedType, definition{id: "extension-not-allowed", severity: Loss,
		title:  "no category allows the extension",
		remedy: "--unsupported skip or create; or who manages the categories allows it"}},
	{migrate.ReasonUnreadable, definition{id: "unreadable", severity: Loss,
		title:  "cannot be read",
		remedy: "who may grant access to the source; or --exclude"}},
	{migrate.ReasonTableError, definition{id: "miswritten", severity: Loss,
		title:  "what the table says of it is wrong",
		remedy: "who can correct the table; or --exclude"}},
	{migrate.ReasonMetadataUnreadable, definition{id: "unplaced", severity: Loss,
		title:  "what describes it cannot be read, and rules ask for that to say where it goes",
		remedy: "who can mend it at the source; or --ignore-metadata"}},
	{migrate.ReasonMappingError, definition{id: "rule-not-applicable", severity: Loss,
		title:  "a rule of the mapping cannot be applied to it",
		remedy: "who can correct the rule, or the object; plan --explain-mapping tells what it makes of it"}},
	{migrate.ReasonMissingAtSource, definition{id: "missing", severity: Loss,
		title:  "named by --files-from and not at the source",
		remedy: "--files-from"}},
	{migrate.ReasonInvalidKey, definition{id: "key-not-possible", severity: Loss,
		title:  "the key cannot become folders and a name",
		remedy: "who can rename it at the source; or --exclude"}},
	{migrate.ReasonNameTooLong, definition{id: "name-too-long", severity: Loss,
		title:  "a name is longer than the service allows",
		remedy: "who can rename it at the source; or --exclude"}},
	{migrate.ReasonTooLarge, definition{id: "too-large", severity: Loss,
		title:  "larger than the service allows",
		remedy: "who manages the plan at the service; or --exclude"}},
	{migrate.ReasonCategoryPublic, definition{id: "private-at-source", severity: Loss,
		title:  "private at the source, and public in the category it would go to",
		remedy: "who makes that category private; or --category; or a rule that says category beside private: true"}},
	{migrate.ReasonNoCategoryPossible, definition{id: "no-category-possible", severity: Loss,
		title:  "no category can be made for the extension",
		remedy: "--fallback-category adds .bin to the name; or a rule of the mapping that names it with an extension; or --exclude"}},
	{migrate.ReasonNameExists, definition{id: "name-taken", severity: Loss,
		title:  "another asset of that name is there already",
		remedy: "--on-existing create, or adopt for what is new; or --exclude"}},
	{migrate.ReasonNameCollision, definition{id: "names-collide", severity: Loss,
		title:  "another object has the name; case and Unicode form do not count",
		remedy: "--on-collision rename or keep"}},
	{migrate.ReasonArchived, definition{id: "archived", severity: Loss,
		title:  "in an archived storage class",
		remedy: "who can have it restored at the source"}},
	{migrate.ReasonRetriesExhausted, definition{id: "parked", severity: Loss,
		title:  "failed in many runs and is not tried any more",
		remedy: "--retry-exhausted"}},
	{migrate.ReasonUnconfirmed, definition{id: "unclear", severity: Loss,
		title:  "sent before, and nobody can tell whether it arrived",
		remedy: "look for it at the destination, then --retry-exhausted"}},
	{migrate.ReasonUnconfirmedDeleted, definition{id: "unclear-deleted", severity: Loss,
		title:  "sent before, deleted at the source since, and nobody can tell whether an asset is of it",
		remedy: "look for it at the destination, trash it by hand if it is there, then --retry-exhausted"}},
	{migrate.ReasonNameExistsCreated, definition{id: "sent-beside", severity: Warning,
		title:  "sent beside another asset of that name",
		remedy: "--on-existing"}},
	{migrate.ReasonSameNameAndSize, definition{id: "taken-by-size", severity: Warning,
		title:  "taken over for name and size alone, whatever the content",
		remedy: "--on-existing conflict compares contents"}},
	{migrate.ReasonExtensionAdded, definition{id: "extension-added", severity: Note,
		title:  ".bin is added to the name, which has no extension that a category can hold",
		remedy: "a rule of the mapping that names it with another extension; or --exclude"}},
	{migrate.ReasonRenamed, definition{id: "renamed", severity: Note,
		title:  "renamed: another object has the name; case and Unicode form do not count",
		remedy: "--on-collision keep or conflict"}},
}

// reasons are the sums of those findings, none found yet.
func (o Options) reasons() map[migrate.Reason]*sum {
	all := make(map[migrate.Reason]*sum, len(definitions))
	for _, d := range definitions {
		all[d.reason] = &sum{definition: d.definition}
	}
	unmatched := all[migrate.ReasonUnsupportedType]
	if o.Blocks {
		unmatched.severity = Stop
	}
	unmatched.parts = newParts()
	all[migrate.ReasonNoCategoryPossible].parts = newParts()
	if o.MaxFileSize > 0 {
		all[migrate.ReasonTooLarge].title += " (" + ui.Bytes(o.MaxFileSize) + ")"
	}
	return all
}

// Losses counts the findings of a plan that mean that something will not arrive, from
// its sums alone.
func Losses(tallies []state.Tally) (n int) {
	seen := map[string]bool{}
	for _, t := range tallies {
		seen[t.Reason] = true
	}
	for _, d := range definitions {
		if d.severity == Loss && seen[string(d.reason)] {
			n++
		}
	}
	return n
}
