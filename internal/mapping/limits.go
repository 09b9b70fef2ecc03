package mapping

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"assetferry/internal/metadata"
)

// OnLimit is the policy for a text that is longer than the limit of the service.
type OnLimit string

// The policies.
const (
	Cut  OnLimit = "cut"  // cut at the end of a word
	Skip OnLimit = "skip" // omit the text
	Fail OnLimit = "fail" // the item fails
)

// maxName is the maximum number of characters in the name of an asset, a folder or a category.
const maxName = 256

// A LimitError means that a field is longer than the limit of the service, and OnLimit is Fail.
type LimitError struct {
	Field      string
	Has, Takes int // length and limit in characters
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s has %d characters, and the service accepts %d", e.Field, e.Has, e.Takes)
}

// Remedy returns the next step, with settings in braces.
func (e *LimitError) Remedy() string {
	return "shorten the text at the source or with a rule; or use {on_limit} cut to cut the text, or {on_limit} skip to omit it"
}

// fit returns a text within the limit, by the policy. The note is nil if the text did not change.
func (m *Mapping) fit(field, text string, takes int) (fits string, note *Note, err error) {
	has := characters(text)
	if has <= takes {
		return text, nil, nil
	}
	switch m.options.OnLimit {
	case Fail:
		return "", nil, &LimitError{field, has, takes}
	case Skip:
		return "", &Note{field, fmt.Sprintf("omitted: it has %d characters, and the service accepts %d", has, takes)}, nil
	}
	fits = cut(text, takes)
	return fits, &Note{field, fmt.Sprintf("cut to %d of %d characters: the service accepts %d", characters(fits), has, takes)}, nil
}

// limit applies the length limits to the description and to tags.
func (d *description) limit() error {
	text, note, err := d.fit(wordDescription, d.said.Description, metadata.MaxDescription)
	if note != nil {
		d.notes = append(d.notes, *note)
	}
	if d.said.Description = text; err != nil || d.options.MaxTag == 0 {
		return err
	}
	return d.limitTags()
}

// limitTags applies the length limit to each tag.
func (d *description) limitTags() error {
	tags, isCut := d.said.Tags, false
	for n, tag := range tags {
		text, note, err := d.fit(tagName(tag), tag, d.options.MaxTag)
		if err != nil {
			return err
		}
		if note == nil {
			continue
		}
		if !isCut {
			tags, isCut = slices.Clone(tags), true
		}
		tags[n], d.notes = text, append(d.notes, *note)
	}
	if isCut { // two tags may be the same now
		d.said.Tags = metadata.Metadata{Tags: tags}.Normal().Tags
	}
	return nil
}

// tagName names a tag in a note.
func tagName(tag string) string {
	const most = 40
	if characters(tag) > most {
		tag = cut(tag, most)
	}
	return fmt.Sprintf("tag %q", tag)
}

const ellipsis = "…"

// cut shortens a text to a number of characters, at the end of a word if one ends in the second half.
func cut(text string, most int) string {
	end := 0
	for range most - 1 { // one is for the ellipsis
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	kept := text[:end]
	next, _ := utf8.DecodeRuneInString(text[end:])
	if space := strings.LastIndexFunc(kept, unicode.IsSpace); space > len(kept)/2 && !unicode.IsSpace(next) {
		kept = kept[:space]
	} else {
		kept = text[:wholeCharacter(text, end)]
	}
	return strings.TrimRightFunc(kept, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:-", r) }) + ellipsis
}

// wholeCharacter moves an end back so that no combining mark is cut from its letter.
func wholeCharacter(text string, end int) int {
	for end > 0 {
		if r, _ := utf8.DecodeRuneInString(text[end:]); !unicode.IsMark(r) {
			return end
		}
		_, size := utf8.DecodeLastRuneInString(text[:end])
		end -= size
	}
	return end
}
