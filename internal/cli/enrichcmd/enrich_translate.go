package enrichcmd

import (
	"strings"

	"golang.org/x/text/language"
)

// A languageOrDestination is --to of enrich translate: a language, or else a destination as in
// other commands.
type languageOrDestination struct{ language, destination string }

func (v *languageOrDestination) Set(text string) error {
	if isLanguage(text) {
		v.language = text
	} else {
		v.destination = text
	}
	return nil
}

// isLanguage reports whether text is a language code such as de, pt-BR or zh-Hant. The first part
// has two or three letters.
func isLanguage(text string) bool {
	base, _, _ := strings.Cut(text, "-")
	tag, err := language.Parse(text)
	_, confidence := tag.Base()
	return err == nil && confidence != language.No && len(base) <= 3
}

func (v *languageOrDestination) String() string { return v.destination }
func (v *languageOrDestination) Type() string   { return "string" }

// GetSlice returns the destination, if there is one. Settings do not see the language.
func (v *languageOrDestination) GetSlice() []string {
	if v.destination == "" {
		return nil
	}
	return []string{v.destination}
}

// Append adds a value.
func (v *languageOrDestination) Append(text string) error { return v.Set(text) }

// Replace replaces all values.
func (v *languageOrDestination) Replace(texts []string) error {
	*v = languageOrDestination{}
	for _, text := range texts {
		if err := v.Set(text); err != nil {
			return err
		}
	}
	return nil
}
