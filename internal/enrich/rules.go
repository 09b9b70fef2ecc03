package enrich

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state/enrichment"
)

// Rules are the user's rules for content that is never sent to the AI content service. They
// apply to images and to texts.
type Rules struct {
	// Exclude are globs over CATEGORY/FOLDER/NAME.ext, in the syntax of migrate.Match. Case is
	// ignored: it is safer to exclude too much.
	Exclude    []string
	Categories []string // names
	Tags       []string
	Private    bool // also send assets of private categories
}

// Check returns an error for invalid rules.
func (r Rules) Check() error {
	for _, glob := range r.Exclude {
		if err := migrate.CheckGlob(glob); err != nil {
			return fmt.Errorf("rules for the AI content service: %w", err)
		}
	}
	return nil
}

// A Reason is the code of why an asset is excluded.
type Reason string

// The reasons.
const (
	ReasonExcluded        Reason = "excluded"         // a glob of the user matches
	ReasonCategory        Reason = "category"         // the user excludes the category
	ReasonPrivate         Reason = "private"          // the category is private
	ReasonTag             Reason = "tag"              // the user excludes one of its tags
	ReasonDecorative      Reason = "decorative"       // marked as needing no description
	ReasonNotAnImage      Reason = "not_an_image"     // no image, or an unsupported type
	ReasonAlreadyProposed Reason = "already_proposed" // a proposal exists
	ReasonUnconfirmed     Reason = "unconfirmed"      // requested, but the reply is unknown
	ReasonRefused         Reason = "refused"          // moderation refused it: a person has to write the text
	ReasonFailed          Reason = "failed"           // failed permanently or too often
	ReasonConflict        Reason = "conflict"         // changed by another user after the proposal
)

// exclusion returns the rule that excludes an asset, or "".
func (r Rules) exclusion(a enrichment.AuditedAsset) Reason {
	switch {
	case a.Private && !r.Private:
		return ReasonPrivate
	case contains(r.Categories, a.CategoryName), contains(r.Categories, a.Category):
		return ReasonCategory
	case slices.ContainsFunc(a.Tags, func(tag string) bool { return contains(r.Tags, tag) }):
		return ReasonTag
	case r.excludes(Path(a)):
		return ReasonExcluded
	}
	return ""
}

func (r Rules) excludes(path string) bool {
	key := sources.Key(caseFolded(path))
	return slices.ContainsFunc(r.Exclude, func(glob string) bool { return migrate.Match(caseFolded(glob), key) })
}

func contains(list []string, text string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return caseFolded(one) == caseFolded(text) })
}

// caseFolded returns text for comparisons that ignore case and Unicode form.
func caseFolded(text string) string { return strings.ToLower(norm.NFC.String(strings.TrimSpace(text))) }

// Path returns CATEGORY/FOLDER/NAME.ext, as used in rules and shown to people.
func Path(a enrichment.AuditedAsset) string {
	parts := []string{a.CategoryName}
	if a.Folder != "" {
		parts = append(parts, a.Folder)
	}
	return strings.Join(append(parts, fileNameOf(a)), "/")
}

func fileNameOf(a enrichment.AuditedAsset) string {
	if a.Extension == "" {
		return a.Name
	}
	return a.Name + "." + a.Extension
}
