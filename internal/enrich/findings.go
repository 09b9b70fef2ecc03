package enrich

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/pattern"
)

// A Finding is a problem with the description of an asset.
type Finding string

// The findings. An asset marked as decorative has no other finding.
const (
	FindingNone       Finding = "none"       // no description
	FindingJunk       Finding = "junk"       // without meaning: a file name, a camera's name, a URL
	FindingLong       Finding = "long"       // more characters than a screen reader should read
	FindingLanguage   Finding = "language"   // not in the requested language
	FindingDecorative Finding = "decorative" // marked by a person as needing no description
)

// AllFindings returns the findings that a description can have.
func AllFindings() []Finding {
	return []Finding{FindingNone, FindingJunk, FindingLong, FindingLanguage}
}

// MaxAlt is the recommended maximum of characters for alternative text. Guidelines for web
// pages agree on it, although no standard requires it.
const MaxAlt = 125

// findings returns the problems of a description. The name has no extension. Without a wanted
// language, every language is accepted.
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

// camera matches the names that cameras and scanners give to images: a word and several digits.
var camera = pattern.Lazy(`^(?:img|mg|dsc|dscn|dscf|dsci|pxl|mvimg|vid|mov|gopr|sam|cimg|pict|hpim|p|kif|imgp|wp|dji|scan|scn) ?[a-z]?\d{3,}[\d ]*$`)

// emptyWords are words without meaning in a description.
const emptyWords = " a an the this is my new untitled unbenannt ohne titel no without title description beschreibung alt text alternative " +
	"image images img picture pic photo photograph photography graphic icon logo placeholder thumbnail file asset bild foto grafik datei " +
	"of von du de unnamed screenshot screen shot bildschirmfoto scan capture copy whatsapp at todo tbd n na none null undefined test x xx xxx "

// isEmptyWord also accepts numbers.
func isEmptyWord(word string) bool {
	return strings.Contains(emptyWords, " "+word+" ") || !hasLetters(word)
}

// opening matches words before a file name in a description.
var opening = pattern.Lazy(`^(?:an? |the )?(?:image|picture|photo|photograph|graphic|bild|foto|grafik)(?: of| von|:)? +`)

// isJunk reports whether a description says nothing about the image.
func isJunk(text, name, extension string) bool {
	plain := strings.ToLower(text)
	if isURL(plain) || !hasLetters(plain) {
		return true
	}
	rest := opening().ReplaceAllString(plain, "")
	words := wordsOf(rest)
	says := func(word string) bool { return !isEmptyWord(word) }
	return camera().MatchString(strings.Join(words, " ")) || !slices.ContainsFunc(words, says) || isName(rest, words, strings.ToLower(name), strings.ToLower(extension))
}

func hasLetters(text string) bool { return strings.ContainsFunc(text, unicode.IsLetter) }

// isURL reports whether text is only a URL.
func isURL(text string) bool {
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return false
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme != "" && u.Host != "" || strings.HasPrefix(text, "www."))
}

// isName reports whether text is only a file name: that of the asset, once or repeated, or any
// name with an image extension.
func isName(text string, words []string, name, extension string) bool {
	if fileName().MatchString(strings.TrimSpace(text)) {
		return true
	}
	known := append(wordsOf(name), extension)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(known, w) })
}

var fileName = pattern.Lazy(`^[^\s]+\.(?:jpe?g|png|gif|webp|tiff?|bmp|svg|heic|avif|pdf|psd|eps)$`)

// wordsOf returns the words of a text.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
