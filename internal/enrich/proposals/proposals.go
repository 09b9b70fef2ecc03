// Package proposals shows the proposals of an AI service to people, and reads their decisions.
//
// A page, a CSV table and JSON Lines contain the same proposals. The page saves decisions as JSON
// Lines. Edited tables can be read, too.
package proposals

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Row is one proposal.
type Row struct {
	ID         string // of the proposal
	Asset      string // ID of the asset
	Name       string
	Category   string
	Folder     string
	Kind       string // describe, review or translate
	Language   string
	State      string // in the state database
	Thumbnail  string // data: URL or other URL; "" if there is none
	Link       string // page of the asset
	Old, New   Text   // tags of New are added to those of Old
	Attribute  string // target of a translation; "" for the description
	Decorative bool   // the proposal is that the image needs no description
	Calls      int    // billed requests
	Credits    *float64
	Model      string
	Remark     string
}

// A Text is the text of an asset.
type Text struct {
	Description string
	Tags        []string
}

// States of rows that are still open.
const (
	proposed = "proposed"
	accepted = "accepted"
	rejected = "rejected"
)

// isOpen reports whether a decision can be made or changed.
func (r Row) isOpen() bool { return slices.Contains([]string{proposed, accepted, rejected}, r.State) }

// choice returns the earlier decision.
func (r Row) choice() Choice {
	switch {
	case r.State == accepted && r.Decorative:
		return Decorative
	case r.State == accepted:
		return Accept
	case r.State == rejected:
		return Reject
	}
	return ""
}

// LongestAlt is the recommended maximum of characters for screen readers, which cannot pause
// within a text. It is a rule of thumb, not a limit of the service.
const LongestAlt = 125

// Warnings returns the problems that a person should check before accepting the proposal.
func (r Row) Warnings() []string {
	var all []string
	text := r.New.Description
	if n := utf8.RuneCountInString(text); n > LongestAlt {
		all = append(all, fmt.Sprintf("The description has %d characters. Recommended for screen readers: up to %d.", n, LongestAlt))
	}
	switch {
	case text == "" && len(r.New.Tags) == 0 && !r.Decorative:
		all = append(all, "The proposal is empty.")
	case (text == "" || text == r.Old.Description) && len(missing(r.Old.Tags, r.New.Tags)) == 0 && !r.Decorative:
		all = append(all, "The proposal is the same as the current text.")
	}
	if r.Decorative && text != "" {
		all = append(all, "The proposal marks the image as decorative, but has a description.")
	}
	if opening := idleOpening(text); opening != "" {
		all = append(all, fmt.Sprintf("The description begins with %q. Screen readers announce images themselves.", opening))
	}
	if strings.ContainsAny(text, "<>") {
		all = append(all, "The description may contain markup.")
	}
	return all
}

// idleOpening returns a useless opening of a description, such as "image of".
func idleOpening(text string) string {
	lower := strings.ToLower(text)
	for _, opening := range []string{"image of", "an image of", "picture of", "a picture of", "photo of", "a photo of", "bild von", "ein bild von"} {
		if strings.HasPrefix(lower, opening+" ") {
			return text[:len(opening)]
		}
	}
	return ""
}
