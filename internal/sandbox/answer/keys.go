package answer

import (
	"slices"
	"strings"

	"assetferry/internal/pattern"
)

// A key is a key of the JSON object that a prompt requests.
type key struct {
	name  string
	wants want
}

// A want is the requested type of a value.
type want int

const (
	wantsText want = iota
	wantsList
	wantsTruth
	wantsNumber
)

// keysOf returns the keys in a prompt, or in the latest earlier prompt that has some, or a
// single default key.
func keysOf(prompt string, history []string) []key {
	if keys := keysIn(prompt); len(keys) > 0 {
		return keys
	}
	for i := len(history) - 1; i >= 0; i-- {
		if !wantsJSON().MatchString(history[i]) {
			continue // it contains no object as an example
		}
		if keys := keysIn(history[i]); len(keys) > 0 {
			return keys
		}
	}
	return []key{{name: "answer"}}
}

// keysIn returns the keys of an example such as {"alt": string, "tags": [...]}, else those of a
// list as in "with the keys alt, tags and decorative", else common keys in quotes.
func keysIn(prompt string) []key {
	for at := strings.IndexByte(prompt, '{'); at >= 0; {
		if keys := shown(prompt[at:]); len(keys) > 0 {
			return keys
		}
		next := strings.IndexByte(prompt[at+1:], '{')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return listed(prompt)
}

var shownKey = pattern.Lazy(`^["'“]?([A-Za-z_][A-Za-z0-9_-]{0,40})["'”]?\s*(?:[:,}?]|$)`)

// maxShown limits the length of an example.
const maxShown = 4000

// shown parses the keys of an object at the beginning of a text. It need not be JSON.
func shown(text string) []key {
	var keys []key
	depth, fresh := 0, false // fresh: a key may begin here
	text = text[:min(len(text), maxShown)]
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[':
			depth++
			fresh = c == '{' && depth == 1
		case '}', ']':
			if depth--; depth == 0 {
				return keys
			}
		case ',':
			fresh = depth == 1
		case ' ', '\n', '\t', '\r':
		default:
			if !fresh {
				continue
			}
			fresh = false
			if m := shownKey().FindStringSubmatch(text[i:]); m != nil {
				keys = append(keys, key{m[1], wanted(text[i+len(m[0]):])})
			}
		}
	}
	return nil // no closing brace
}

var (
	truthWord  = pattern.Lazy(`(?i)^\s*["'<]?(?:bool|true|false)`)
	numberWord = pattern.Lazy(`(?i)^\s*["'<]?(?:number|integer|int\b|float|[0-9])`)
	listWord   = pattern.Lazy(`(?i)^\s*(?:\[|["'<]?(?:array|list)\b)`)
)

// wanted returns the type from the description of a value.
func wanted(text string) want {
	switch {
	case listWord().MatchString(text):
		return wantsList
	case truthWord().MatchString(text):
		return wantsTruth
	case numberWord().MatchString(text):
		return wantsNumber
	}
	return wantsText
}

var (
	keyList   = pattern.Lazy(`(?i)\b(?:keys?|fields?|members?|properties)\b[ :]*((?:["'\x60“]?[A-Za-z_][A-Za-z0-9_-]*["'\x60”]?(?:\s*\([^)]*\))?(?:\s*,\s*and\s+|\s*,\s*|\s+and\s+)?)+)`)
	inQuotes  = pattern.Lazy("[\"'`“]([A-Za-z_][A-Za-z0-9_-]{0,40})[\"'`”]")
	aside     = pattern.Lazy(`\([^)]*\)`)
	separator = pattern.Lazy(`\s*,\s*and\s+|\s*,\s*|\s+and\s+`)
	wholeKey  = pattern.Lazy("^[\"'`“]?([A-Za-z_][A-Za-z0-9_-]{0,40})[\"'`”]?")
)

// listed returns the keys that a sentence lists.
func listed(prompt string) []key {
	if m := keyList().FindStringSubmatch(prompt); m != nil {
		var keys []key
		for _, part := range separator().Split(aside().ReplaceAllString(m[1], ""), -1) {
			if k := wholeKey().FindStringSubmatch(strings.TrimSpace(part)); k != nil {
				keys = append(keys, key{name: k[1]})
			}
		}
		return unique(keys)
	}
	var keys []key
	for _, m := range inQuotes().FindAllStringSubmatch(prompt, -1) {
		keys = append(keys, key{name: m[1]})
	}
	return unique(keys)
}

func unique(keys []key) []key {
	var some []key
	for _, k := range keys {
		if !slices.ContainsFunc(some, func(s key) bool { return s.name == k.name }) {
			some = append(some, k)
		}
	}
	return some
}
