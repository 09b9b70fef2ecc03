package enrichcmd

import (
	"strings"

	"golang.org/x/text/language"
)

// A languageOrDestination is --to of enrich translate. What names a language is one;
// everything else says where to write, as --to does everywhere.
type languageOrDestination struct{ language, destination string }

func (v *languageOrDestination) Set(text string) error {
	if isLanguage(text) {
		v.language = text
	} else {
		v.destination = text
	}
	return nil
}

// isLanguage reports whether a text is a language such as de, pt-BR or zh-Hant. The name of a
// language has two or three letters.
func isLanguage(text string) bool {
	base, _, _ := strings.Cut(text, "-")
	tag, err := language.Parse(text)
	_, confidence := tag.Base()
	return err == nil && confidence != language.No && len(base) <= 3
}

func (v *languageOrDestination) String() string { return v.destination }
func (v *languageOrDestination) Type() string   { return "string" }

// GetSlice gives where to write, if that was said: the settings hear of nothing else.
func (v *languageOrDestination) GetSlice() []string {
	if v.destination == "" {
		return nil
	}
	return []string{v.destination}
}

// Append takes another value.
func (v *languageOrDestination) Append(text string) error { return v.Set(text) }

// Replace takes values in place of those that are there.
func (v *languageOrDestination) Replace(texts []string) error {
	*v = languageOrDestination{}
	for _, text := range texts {
		if err := v.Set(text); err != nil {
			return err
		}
	}
	return nil
}
