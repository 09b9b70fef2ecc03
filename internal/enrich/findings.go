package enrich

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Finding is what is wrong with the description of an asset.
type Finding string

// The findings. An asset that a person marked as decorative has only that one.
const (
	FindingNone       Finding = "none"       // there is no description
	FindingJunk       Finding = "junk"       // it says nothing: the name of the file, what a camera wrote, an address
	FindingLong       Finding = "long"       // it has more characters than screen readers should read out
	FindingLanguage   Finding = "language"   // it is in another language than the one that is wanted
	FindingDecorative Finding = "decorative" // a person said that there is nothing to describe
)

// AllFindings are the findings that a description can have.
func AllFindings() []Finding {
	return []Finding{FindingNone, FindingJunk, FindingLong, FindingLanguage}
}

// MaxAlt is how many characters an alternative text may have: what guidelines for web pages
// agree on, although no standard says so.
const MaxAlt = 125

// findings tells what is wrong with a description of an asset with a name, given without its
// extension. Where no language is wanted any is fine.
func findings(description, name, extension, wanted string) (found []Finding) {
	text := strings.TrimSpace(norm.NFC.String(description))
	switch {
	case text == "":
		return []Finding{FindingNone}
	case isJunk(text, norm.NFC.String(name), extension):
		return []Finding{FindingJunk}
	}
	if utf8.RuneCountInString(text) > MaxAlt {
		found = append(found, FindingLong)
	}
	if wanted != "" && isForeign(text, wanted) {
		found = append(found, FindingLanguage)
	}
	return found
}

// camera is what cameras and scanners call pictures: a word and a number of some digits.
var camera = regexp.MustCompile(`^(?:img|mg|dsc|dscn|dscf|dsci|pxl|mvimg|vid|mov|gopr|sam|cimg|pict|hpim|p|kif|imgp|wp|dji|scan|scn) ?[a-z]?\d{3,}[\d ]*$`)

// emptyWords are all that a description says that says nothing.
const emptyWords = " a an the this is my new untitled unbenannt ohne titel no without title description beschreibung alt text alternative " +
	"image images img picture pic photo photograph photography graphic icon logo placeholder thumbnail file asset bild foto grafik datei " +
	"of von du de unnamed screenshot screen shot bildschirmfoto scan capture copy whatsapp at todo tbd n na none null undefined test x xx xxx "

// isEmptyWord takes numbers for empty, too.
func isEmptyWord(word string) bool {
	return strings.Contains(emptyWords, " "+word+" ") || !hasLetters(word)
}

// opening is how many descriptions begin that only give the name of the file.
var opening = regexp.MustCompile(`^(?:an? |the )?(?:image|picture|photo|photograph|graphic|bild|foto|grafik)(?: of| von|:)? +`)

// isJunk reports whether a description says nothing about the picture.
func isJunk(text, name, extension string) bool {
	plain := strings.ToLower(text)
	if isAddress(plain) || !hasLetters(plain) {
		return true
	}
	rest := opening.ReplaceAllString(plain, "")
	words := wordsOf(rest)
	says := func(word string) bool { return !isEmptyWord(word) }
	return camera.MatchString(strings.Join(words, " ")) || !slices.ContainsFunc(words, says) || isName(rest, words, strings.ToLower(name), strings.ToLower(extension))
}

func hasLetters(text string) bool { return strings.ContainsFunc(text, unicode.IsLetter) }

// isAddress reports whether a text is an address and nothing else.
func isAddress(text string) bool {
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme != "" && u.Host != "" || strings.HasPrefix(text, "www."))
}

// isName reports whether a text is nothing but a file name: that of the asset, once or
// repeated, or anything with an extension of pictures.
func isName(text string, words []string, name, extension string) bool {
	if fileName.MatchString(strings.TrimSpace(text)) {
		return true
	}
	known := append(wordsOf(name), extension)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(known, w) })
}

var fileName = regexp.MustCompile(`^[^\s]+\.(?:jpe?g|png|gif|webp|tiff?|bmp|svg|heic|avif|pdf|psd|eps)$`)

// wordsOf gives the words of a text, whatever is between them.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
