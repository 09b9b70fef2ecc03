// Package proposals shows people what an AI service proposes, and reads what they decide.
//
// A page, a CSV table and JSON Lines say the same. The page is for judging at a glance and
// needs nothing else, the CSV for spreadsheets, the JSON for programs. Each comes back: the
// page saves JSON Lines with what was decided on it, and the tables are given back edited.
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
	Asset      string // the ID of the asset
	Name       string
	Category   string
	Folder     string
	Kind       string // describe, review or translate
	Language   string
	State      string // in the journal
	Thumbnail  string // a data: URL or an address; empty if there is none
	Link       string // to look at the asset
	Old, New   Text   // tags that are there stay, and those of New are added
	Attribute  string // where a translation goes; empty for the description
	Decorative bool   // the picture is said to be one that needs no description
	Calls      int    // that were billed
	Credits    *float64
	Model      string
	Remark     string
}

// A Text is what describes an asset.
type Text struct {
	Description string
	Tags        []string
}

// States of rows that can still be decided.
const (
	proposed = "proposed"
	accepted = "accepted"
	rejected = "rejected"
)

// isOpen reports whether there is something to decide.
func (r Row) isOpen() bool { return slices.Contains([]string{proposed, accepted, rejected}, r.State) }

// choice is what was decided before.
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

// LongestAlt is how many characters a text for screen readers should have at most, because
// people cannot pause within one: a rule of thumb, not a limit of the service.
const LongestAlt = 125

// Warnings are what a person should look at before accepting the proposal.
func (r Row) Warnings() []string {
	var all []string
	text := r.New.Description
	if n := utf8.RuneCountInString(text); n > LongestAlt {
		all = append(all, fmt.Sprintf("The description has %d characters; screen readers do well with %d.", n, LongestAlt))
	}
	switch {
	case text == "" && len(r.New.Tags) == 0 && !r.Decorative:
		all = append(all, "Nothing is proposed.")
	case (text == "" || text == r.Old.Description) && len(missing(r.Old.Tags, r.New.Tags)) == 0 && !r.Decorative:
		all = append(all, "It is what is there already.")
	}
	if r.Decorative && text != "" {
		all = append(all, "It is said to be decorative, and described.")
	}
	if opening := idleOpening(text); opening != "" {
		all = append(all, fmt.Sprintf("It begins with %q, which screen readers say themselves.", opening))
	}
	if strings.ContainsAny(text, "<>") {
		all = append(all, "There may be markup in the description.")
	}
	return all
}

// idleOpening is how a description begins that does not begin with what is to be seen.
func idleOpening(text string) string {
	lower := strings.ToLower(text)
	for _, opening := range []string{"image of", "an image of", "picture of", "a picture of", "photo of", "a photo of", "bild von", "ein bild von"} {
		if strings.HasPrefix(lower, opening+" ") {
			return text[:len(opening)]
		}
	}
	return ""
}
