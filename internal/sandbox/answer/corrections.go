package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"assetferry/internal/pattern"
)

var (
	blanks      = pattern.Lazy(`[ \t]{2,}`)
	blankBefore = pattern.Lazy(`(\pL)[ \t]+([,.])(\s|$)`) // French has a blank before other punctuation
	word        = pattern.Lazy(`[\pL\pN'’]+`)
)

// corrected corrects a text in its block.
func corrected(p piece) string {
	text := apart(once(swap(p.raw, misspellings())))
	text = blankBefore().ReplaceAllString(text, "$1$2$3")
	if p.first {
		text = begun(text)
	}
	if p.first && p.last { // parts of a sentence may end with any character
		text = stopped(text)
	}
	return text
}

// apart removes repeated blanks between words. Blanks at line ends stay, because they have a
// meaning in Markdown.
func apart(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range blanks().FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:m[0]])
		after, size := utf8.DecodeRuneInString(text[m[1]:])
		if m[0] > 0 && size > 0 && !unicode.IsSpace(before) && !unicode.IsSpace(after) {
			b.WriteString(text[at:m[0]] + " ")
			at = m[1]
		}
	}
	return b.String() + text[at:]
}

// once removes repeated words. "That that" and "had had" can be right.
func once(text string) string {
	var b strings.Builder
	at, before := 0, ""
	for _, m := range word().FindAllStringIndex(text, -1) {
		this := strings.ToLower(text[m[0]:m[1]])
		gap := text[at:m[0]]
		if this == before && gap != "" && strings.Trim(gap, " \t") == "" && doubles(this) {
			at = m[1]
			continue
		}
		b.WriteString(text[at:m[1]])
		at, before = m[1], this
	}
	return b.String() + text[at:]
}

// doubles reports whether a repeated word is a mistake: only short function words are. "New New
// York" and "ha ha" stay.
func doubles(word string) bool {
	switch word {
	case "a", "an", "and", "are", "at", "by", "for", "from", "in", "is", "it", "of", "on", "or", "the", "to", "was", "were", "with", "this", "we", "you", "they":
		return true
	}
	return false
}

// begun capitalizes the first letter, unless the word may be a name or a URL, such as iPhone.
func begun(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
	first := word().FindStringIndex(text)
	if at < 0 || first == nil || first[0] != at {
		return text
	}
	w := text[first[0]:first[1]]
	after := text[first[1]:]
	if w != strings.ToLower(w) || strings.HasPrefix(after, "://") || strings.HasPrefix(after, "@") || strings.HasPrefix(after, "_") || len(after) > 1 && after[0] == '.' && after[1] != ' ' {
		return text
	}
	r, size := utf8.DecodeRuneInString(w)
	return text[:at] + string(unicode.ToUpper(r)) + text[at+size:]
}

// stopped adds a full stop to a sentence. Fewer than four words may be a heading or a name.
func stopped(text string) string {
	body := strings.TrimRight(text, " \t\r\n")
	last, _ := utf8.DecodeLastRuneInString(body)
	if len(strings.Fields(body)) < 4 || !unicode.IsLetter(last) && !unicode.IsDigit(last) {
		return text
	}
	return body + "." + text[len(body):]
}

// swap replaces whole words and phrases and keeps initial capitals. A removed word is removed
// with the following blank.
func swap(text string, swaps map[string]string) string {
	var b strings.Builder
	at := 0
	for at < len(text) {
		m := word().FindStringIndex(text[at:])
		if m == nil {
			break
		}
		start := at + m[0]
		b.WriteString(text[at:start])
		size, to := longest(text[start:], at+m[1]-start, swaps)
		if size == 0 {
			b.WriteString(text[start : at+m[1]])
			at += m[1]
			continue
		}
		b.WriteString(to)
		at = start + size
	}
	return b.String() + text[at:]
}

// maxPhrase is the number of words in the longest phrase.
const maxPhrase = 5

// longest returns the longest phrase of a table at the beginning of a text. First is the length
// of its first word.
func longest(text string, first int, swaps map[string]string) (size int, to string) {
	end := first
	for range maxPhrase {
		from := text[:end]
		if found, ok := swaps[strings.ToLower(from)]; ok {
			size, to = end, likeFirst(from, found)
			if found == "" && strings.HasPrefix(text[end:], " ") {
				size++
			}
		}
		m := word().FindStringIndex(text[end:])
		if m == nil || text[end:end+m[0]] != " " {
			break
		}
		end += m[1]
	}
	return size, to
}

// likeFirst capitalizes a replacement like the original.
func likeFirst(from, to string) string {
	r, _ := utf8.DecodeRuneInString(from)
	first, size := utf8.DecodeRuneInString(to)
	if size == 0 || !unicode.IsUpper(r) {
		return to
	}
	if len(from) > 1 && from == strings.ToUpper(from) {
		return strings.ToUpper(to)
	}
	return string(unicode.ToUpper(first)) + to[size:]
}

// misspellings maps wrong words to the right ones.
func misspellings() map[string]string {
	return map[string]string{
		"accomodate": "accommodate", "accross": "across", "acheive": "achieve", "adress": "address", "agressive": "aggressive", "alot": "a lot",
		"apparant": "apparent", "appearence": "appearance", "arguement": "argument", "basicly": "basically", "beautifull": "beautiful", "becuase": "because",
		"begining": "beginning", "beleive": "believe", "buisness": "business", "calender": "calendar", "cemetary": "cemetery", "collegue": "colleague",
		"comming": "coming", "commited": "committed", "completly": "completely", "definately": "definitely", "dissapear": "disappear", "embarass": "embarrass",
		"enviroment": "environment", "existance": "existence", "familar": "familiar", "finaly": "finally", "foriegn": "foreign", "freind": "friend",
		"goverment": "government", "grammer": "grammar", "happend": "happened", "immediatly": "immediately", "independant": "independent", "knowlege": "knowledge",
		"langauge": "language", "libary": "library", "neccessary": "necessary", "noticable": "noticeable", "occured": "occurred", "peice": "piece",
		"posession": "possession", "prefered": "preferred", "publically": "publicly", "realy": "really", "recieve": "receive", "recomend": "recommend",
		"refered": "referred", "seperate": "separate", "succesful": "successful", "suprise": "surprise", "teh": "the", "tommorow": "tomorrow",
		"truely": "truly", "untill": "until", "wich": "which", "wierd": "weird", "writting": "writing",
	}
}

// swapsOf returns the tables of actions and reviews that replace words.
func swapsOf() map[string]map[string]string {
	plain := map[string]string{
		"in order to": "to", "due to the fact that": "because", "at this point in time": "now", "a large number of": "many", "in the event that": "if",
		"utilize": "use", "utilise": "use", "with regard to": "about", "prior to": "before", "subsequent to": "after", "is able to": "can", "commence": "begin",
	}
	formal := map[string]string{
		"don't": "do not", "doesn't": "does not", "can't": "cannot", "won't": "will not", "it's": "it is", "we're": "we are", "you're": "you are", "isn't": "is not",
		"kids": "children", "guys": "people", "lots of": "many", "get": "obtain", "buy": "purchase", "okay": "acceptable", "hi": "hello",
	}
	hedges := map[string]string{
		"maybe": "", "perhaps": "", "probably": "", "possibly": "", "i think": "", "sort of": "", "kind of": "", "just": "", "might": "will", "we hope to": "we will",
	}
	return map[string]map[string]string{
		"improve-writing": plain, "clarity": plain, "readability": plain,
		"make-tone-formal": formal, "make-tone-professional": formal,
		"make-tone-direct": hedges, "make-tone-confident": hedges,
		"make-tone-casual": {
			"do not": "don't", "does not": "doesn't", "cannot": "can't", "will not": "won't", "it is": "it's", "we are": "we're", "you are": "you're", "is not": "isn't",
			"children": "kids", "purchase": "buy", "obtain": "get", "however": "but",
		},
		"make-tone-friendly": {
			"dear sir or madam": "hello", "do not": "don't", "cannot": "can't", "you must": "please", "contact us": "get in touch", "regards": "best wishes", "we regret": "we are sorry",
		},
	}
}
