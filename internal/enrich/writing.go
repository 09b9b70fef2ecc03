package enrich

import (
	"strings"
	"unicode"

	"golang.org/x/text/language"
)

// A writing is the language and script of a text, if they can be recognized. A wrong guess
// would replace a good description, so short texts often have no language.
type writing struct {
	language string // two letters; "": unknown
	script   string // as in BCP 47; "": several, or none
}

// scripts are the recognized scripts, with the language if a script has only one.
var scripts = []struct {
	name, language string
	table          *unicode.RangeTable
}{
	{"Kana", "ja", unicode.Hiragana}, {"Kana", "ja", unicode.Katakana},
	{"Hani", "zh", unicode.Han}, {"Hang", "ko", unicode.Hangul},
	{"Latn", "", unicode.Latin}, {"Cyrl", "", unicode.Cyrillic}, {"Arab", "", unicode.Arabic}, {"Deva", "", unicode.Devanagari},
	{"Grek", "el", unicode.Greek}, {"Hebr", "he", unicode.Hebrew}, {"Thai", "th", unicode.Thai},
}

// stopWords are frequent words of each language that descriptions usually contain.
var stopWords = map[string]string{
	"en": "the a an of and with in on at is are to from for by near under over behind his her its their this that",
	"de": "der die das ein eine einen einem einer eines und mit auf von im am ist sind zu zum zur für bei vor hinter über unter neben den dem des",
	"fr": "le la les un une des du et avec dans sur est sont au aux pour par près sous devant derrière l'un d'un d'une qui",
	"es": "el la los las un una unos unas y con en de del al es son por para sobre bajo junto que su detrás",
	"it": "il lo la gli le un una uno e con in di del della dei delle al alla è sono per su sotto vicino nel nella che",
	"pt": "o a os as um uma e com em de do da dos das no na nos nas é são por para sobre sob ao à que",
	"nl": "de het een en met in op van is zijn aan bij voor achter naast onder te uit door over die dat",
	"sv": "en ett och med i på av är som för till från under över vid bakom framför den det de",
	"da": "en et og med i på af er som for til fra under over ved bag foran den det de",
	"nb": "en et ei og med i på av er som for til fra under over ved bak foran den det de",
	"fi": "ja on ovat joka jossa kanssa sekä ei ovat vieressä päällä alla edessä takana",
	"pl": "i w z na do od jest są przed pod nad obok dla przy który która się oraz ze we",
	"cs": "a v s na do od je jsou před pod nad vedle pro při který která se ve ze u",
	"hu": "a az egy és van vannak mellett előtt mögött alatt fölött hogy is",
	"tr": "bir ve ile olan için üzerinde altında yanında önünde arkasında bu da de",
	"ro": "un o și cu în pe de la din este sunt pentru lângă sub peste care",
	"ru": "и в во с со на по из у за под над это на для перед около который которая",
	"uk": "і й та в у з зі на по із за під над це для перед біля який яка",
	"bg": "и в във с със на по от за под над е са пред до който която",
}

// writingOf recognizes the language and script of a text.
func writingOf(text string) writing {
	s := writing{script: scriptOf(text)}
	for _, known := range scripts {
		if known.name == s.script && known.language != "" {
			s.language = known.language
			return s
		}
	}
	s.language = byStopWords(text)
	return s
}

// scriptOf returns the script of nearly all letters of a text.
func scriptOf(text string) string {
	counts, letters := map[string]int{}, 0
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		for _, known := range scripts {
			if unicode.Is(known.table, r) {
				counts[known.name]++
				break
			}
		}
	}
	if counts["Kana"] > 0 && counts["Kana"]+counts["Hani"] == letters {
		return "Kana" // Japanese also uses Chinese characters
	}
	for name, n := range counts {
		if n*10 >= letters*9 {
			return name
		}
	}
	return ""
}

// byStopWords returns the language with the most stop words in a text. There must be at least
// two different ones, and no other language may come close.
func byStopWords(text string) string {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		words[w] = true
	}
	best, most, second := "", 0, 0
	for name, list := range stopWords {
		n := 0
		for w := range strings.FieldsSeq(list) {
			if words[w] {
				n++
			}
		}
		switch {
		case n > most:
			best, most, second = name, n, most
		case n > second:
			second = n
		}
	}
	if most < 2 || most == second {
		return ""
	}
	return best
}

// isForeign reports whether a text is certainly not in the wanted language.
func isForeign(text, wanted string) bool {
	tag, err := language.Parse(wanted)
	if err != nil {
		return false
	}
	base, _ := tag.Base()
	s := writingOf(text)
	if s.language != "" {
		return !sameLanguage(s.language, base.String())
	}
	return s.script != "" && !writes(tag, s.script)
}

// sameLanguage treats the forms of Norwegian as one language, and also languages that cannot be
// distinguished in short texts.
func sameLanguage(a, b string) bool {
	return a == b || isScandinavian(a) && isScandinavian(b)
}

func isScandinavian(base string) bool {
	switch base {
	case "da", "nb", "nn", "no", "sv":
		return true
	}
	return false
}

// writes reports whether a language can use a script.
func writes(tag language.Tag, script string) bool {
	own, confidence := tag.Script()
	if confidence == language.No {
		return true
	}
	switch own.String() {
	case "Jpan":
		return script == "Kana" || script == "Hani"
	case "Hans", "Hant":
		return script == "Hani"
	case "Kore":
		return script == "Hang" || script == "Hani"
	}
	return own.String() == script
}
