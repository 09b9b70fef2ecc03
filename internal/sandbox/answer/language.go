package answer

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"assetferry/internal/pattern"
)

// A tongue is a language code, such as "de". It is "" for English, the language of all
// generated text.
type tongue string

var (
	codeInBrackets = pattern.Lazy(`(?i)\b(?:in|into|to)\s+\p{L}+(?:\s+\p{L}+)?\s*\(([a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3})\)`)
	languageCode   = pattern.Lazy(`(?i)\blanguage[ :]+["'(“]?([a-z]{2})((?:-[a-z0-9]{2,8}){0,3})\b`)
	languageNamed  = pattern.Lazy(`\b(?:in|into|to)\s+([A-Z]\p{L}+)`)
	said           = pattern.Lazy(`^\[\p{L}[\p{L}0-9-]*\] `)
)

// asked returns the language that a prompt requests, as in "Write in German (de)", "in the
// language de", "in German" or "into French".
func asked(prompt string) (tongue, bool) {
	if m := codeInBrackets().FindStringSubmatch(prompt); m != nil {
		return tongue(strings.ToLower(m[1])), true
	}
	for _, m := range languageCode().FindAllStringSubmatch(prompt, -1) {
		base := tongue(strings.ToLower(m[1]))
		if slices.Contains(slices.Collect(maps.Values(codes())), base) { // not "language of"
			return base + tongue(strings.ToLower(m[2])), true
		}
	}
	for _, m := range languageNamed().FindAllStringSubmatch(prompt, -1) {
		if code, ok := codes()[strings.ToLower(m[1])]; ok {
			return code, true
		}
	}
	return "en", false
}

// tongueOf returns the code for the name or code of a language. Other words are returned
// unchanged.
func tongueOf(language string) tongue {
	fields := strings.FieldsFunc(strings.ToLower(language), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' })
	if len(fields) == 0 {
		return "en"
	}
	if code, ok := codes()[fields[0]]; ok {
		return code
	}
	return tongue(strings.ReplaceAll(fields[0], "_", "-"))
}

// say marks English text as text in the language.
func (t tongue) say(text string) string {
	if t == "en" || strings.HasPrefix(string(t), "en-") || text == "" {
		return text
	}
	return t.render(text)
}

// render replaces the language mark of a text.
func (t tongue) render(text string) string {
	body := strings.TrimLeft(text, " \t\r\n")
	space := text[:len(text)-len(body)]
	return space + "[" + string(t) + "] " + said().ReplaceAllString(body, "")
}

// translate marks each block of HTML, or a text, with the language. Tags and data-id attributes
// stay the same.
func (t tongue) translate(content string) string {
	return edit(content, func(p piece) string {
		if !p.first {
			return p.raw
		}
		return t.render(p.raw)
	})
}

// codes maps English names of languages to their codes.
func codes() map[string]tongue {
	return map[string]tongue{
		"arabic": "ar", "bulgarian": "bg", "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "estonian": "et", "finnish": "fi",
		"french": "fr", "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "irish": "ga", "italian": "it", "japanese": "ja", "korean": "ko",
		"latvian": "lv", "lithuanian": "lt", "norwegian": "no", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "slovak": "sk",
		"slovenian": "sl", "spanish": "es", "swedish": "sv", "turkish": "tr", "ukrainian": "uk", "vietnamese": "vi",
	}
}
