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

// Rules are the user's decisions about what never leaves for the AI content service. They
// hold for descriptions that are reviewed or translated as they do for pictures.
type Rules struct {
	// Exclude are globs over CATEGORY/FOLDER/NAME.ext, in the syntax of migrate.Match.
	// Capitals and small letters are the same here: it is better to hold too much back.
	Exclude    []string
	Categories []string // by name
	Tags       []string
	Private    bool // whether assets of private categories may leave; they stay by default
}

// Check reports what is wrong with the rules, or nil.
func (r Rules) Check() error {
	for _, glob := range r.Exclude {
		if err := migrate.CheckGlob(glob); err != nil {
			return fmt.Errorf("what never leaves for the AI content service: %w", err)
		}
	}
	return nil
}

// A Reason says why an asset is held back.
type Reason string

// The reasons.
const (
	ReasonExcluded   Reason = "excluded"   // by a glob of the user
	ReasonCategory   Reason = "category"   // the user keeps its category back
	ReasonPrivate    Reason = "private"    // its category is private
	ReasonTag        Reason = "tag"        // the user keeps assets with one of its tags back
	ReasonDecorative Reason = "decorative" // a person said that there is nothing to describe
	ReasonNoPicture  Reason = "no-picture" // it is not a picture, or of a kind that cannot be read
	ReasonKnown      Reason = "known"      // there is a proposal already
	ReasonUnsettled  Reason = "unsettled"  // it was asked about, and whether there is a reply is not known yet
	ReasonRefused    Reason = "refused"    // the moderation of the service flagged it; a person has to write the text
	ReasonFailed     Reason = "failed"     // it failed for good, or too often
	ReasonConflict   Reason = "conflict"   // somebody else wrote since it was proposed
)

// holdsBack gives the rule by which an asset never leaves; empty if it may.
func (r Rules) holdsBack(a enrichment.Surveyed) Reason {
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
	key := sources.Key(alike(path))
	return slices.ContainsFunc(r.Exclude, func(glob string) bool { return migrate.Match(alike(glob), key) })
}

func contains(list []string, text string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return alike(one) == alike(text) })
}

// alike makes texts equal that people take for the same.
func alike(text string) string { return strings.ToLower(norm.NFC.String(strings.TrimSpace(text))) }

// Path is where an asset is, as rules and people see it: CATEGORY/FOLDER/NAME.ext.
func Path(a enrichment.Surveyed) string {
	parts := []string{a.CategoryName}
	if a.Folder != "" {
		parts = append(parts, a.Folder)
	}
	return strings.Join(append(parts, fileNameOf(a)), "/")
}

func fileNameOf(a enrichment.Surveyed) string {
	if a.Extension == "" {
		return a.Name
	}
	return a.Name + "." + a.Extension
}
