package mapping

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"assetferry/internal/metadata"
)

// OnLimit says what becomes of a text that is longer than the service takes it.
type OnLimit string

// What may become of it.
const (
	Cut  OnLimit = "cut"  // it is cut at the end of a word
	Skip OnLimit = "skip" // it is left out
	Fail OnLimit = "fail" // the object is in conflict
)

// maxName is how many characters the name of an asset, a folder or a category may have.
const maxName = 256

// A LimitError says that a field is longer than the service takes it, and that this was
// not to be helped.
type LimitError struct {
	Field      string
	Has, Takes int // characters
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s has %d characters, and the service takes %d", e.Field, e.Has, e.Takes)
}

// Remedy is what to do next, with settings in braces.
func (e *LimitError) Remedy() string {
	return "shorten it at the source or with a rule, or allow to cut it with {on_limit} cut, or to leave it out with {on_limit} skip"
}

// fit makes a text no longer than the service takes it, by the policy. The note is nil if
// it was short enough; kept is false if it is left out.
func (m *Mapping) fit(field, text string, takes int) (fits string, note *Note, err error) {
	has := characters(text)
	if has <= takes {
		return text, nil, nil
	}
	switch m.options.OnLimit {
	case Fail:
		return "", nil, &LimitError{field, has, takes}
	case Skip:
		return "", &Note{field, fmt.Sprintf("left out: it has %d characters, and the service takes %d", has, takes)}, nil
	}
	fits = cut(text, takes)
	return fits, &Note{field, fmt.Sprintf("cut to %d of %d characters: the service takes %d", characters(fits), has, takes)}, nil
}

// limit has the description fit.
func (d *description) limit() error {
	text, note, err := d.fit(wordDescription, d.said.Description, metadata.MaxDescription)
	if note != nil {
		d.notes = append(d.notes, *note)
	}
	d.said.Description = text
	return err
}

const ellipsis = "…"

// cut shortens a text to a number of characters, at the end of a word if there is one in
// the second half.
func cut(text string, most int) string {
	end := 0
	for range most - 1 { // the ellipsis needs one
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

// wholeCharacter goes back from an end to where no mark is cut from the letter that it
// belongs to.
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
