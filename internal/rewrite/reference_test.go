package rewrite

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A reference rewrites a complete text in the simplest way: at each offset it tries whether a URL
// or a serialized string begins there.
type reference struct {
	places places
	root   bool
	find   func(url string) Verdict
	words  []string
}

func newReference(rows []Row) *reference {
	ref := &reference{}
	var old, current []string
	byOld, assets := map[string]string{}, map[string]bool{}
	for _, r := range rows {
		byOld[Canonical(r.Old)] = r.New
		assets[assetOf(Canonical(r.New))] = true
		old = append(old, folderOf(Canonical(r.Old)))
		current = append(current, folderOf(strings.TrimSuffix(assetOf(Canonical(r.New)), "/")))
	}
	ref.places, _ = newPlaces(old, current)
	ref.words = ref.places.words()
	ref.root = slices.Contains(ref.words, string(root))
	ref.words = slices.DeleteFunc(ref.words, func(w string) bool { return w == string(root) })
	ref.find = func(url string) Verdict {
		if assets[assetOf(url)] {
			return Verdict{Kind: Current}
		}
		if to, ok := byOld[url]; ok {
			return Verdict{Kind: Replaced, New: to}
		}
		return Verdict{}
	}
	return ref
}

func folderOf(url string) string { return url[:strings.LastIndexByte(url, '/')+1] }

// beginsWithWord ignores the case of ASCII letters. A word may be a part of a character.
func (ref *reference) beginsWithWord(text string) bool {
	return slices.ContainsFunc(ref.words, func(w string) bool {
		for i := range len(w) {
			if i == len(text) || lower(text[i]) != lower(w[i]) {
				return false
			}
		}
		return true
	})
}

// spelledBeginnings matches the beginnings of URLs, by spelling.
var spelledBeginnings = []struct {
	kind  spellingKind
	depth int
	begin *regexp.Regexp // scheme with colon, slash, slash
}{
	{asIs, 0, regexp.MustCompile(`^((?i)https?\\{0,31}:)?(\\{0,31}/)(\\{0,31}/)?`)},
	{unicodeEscape, 0, regexp.MustCompile(`^((?i)https?(?:\\{0,31}:|\\{1,31}u003a))?(\\{1,31}u002[fF])(\\{1,31}u002[fF])?`)},
	{entity, 0, regexp.MustCompile(`^((?i)https?(?:\\{0,31}:|&#0*58;|&#[xX]0*3[aA];|&colon;))?(&#0*47;|&#[xX]0*2[fF];|&sol;)(&#0*47;|&#[xX]0*2[fF];|&sol;)?`)},
	{percent, 1, regexp.MustCompile(`^((?i)https?%3a)?(%2[fF])(%2[fF])?`)},
	{percent, 2, regexp.MustCompile(`^((?i)https?%253a)?(%252[fF])(%252[fF])?`)},
	{percent, 3, regexp.MustCompile(`^((?i)https?%25253a)?(%25252[fF])(%25252[fF])?`)},
}

// beginsAt returns the spelling of the URL that begins at an offset, if there is one.
func (ref *reference) beginsAt(text string, at int) (b beginning, ok bool) {
	for _, s := range spelledBeginnings {
		m := s.begin.FindStringSubmatchIndex(text[at:])
		if m == nil {
			continue
		}
		scheme, slash, second, end := m[3], text[at+m[4]:at+m[5]], "", at+m[1]
		if m[6] >= 0 {
			second = text[at+m[6] : at+m[7]]
		}
		if (scheme > 0) && second == "" || second != "" && !strings.EqualFold(slash, second) || len(slash) > maxEntity && s.kind == entity {
			continue
		}
		if !ref.beginsWithWord(text[end:]) && !(ref.root && s.kind == asIs) {
			continue
		}
		b = beginning{at: at, spelling: spelling{s.kind, s.depth, slash}}
		if second != "" {
			b.slash = second
		}
		before := b.charBefore([]byte(text), at)
		b = b.after(before)
		more := `.:_~@+-}$*`
		if scheme > 0 {
			more = ""
		}
		if !belongs(before, more) {
			return b, true
		}
	}
	return b, false
}

// urlAt returns the replacement for the URL at an offset, and where the URL ends.
func (ref *reference) urlAt(text string, at int) (instead string, end int, ok bool) {
	b, ok := ref.beginsAt(text, at)
	if !ok {
		return "", 0, false
	}
	var r reading
	r.read(b, []byte(text[at:]))
	for n := range r.ends {
		whole, _, _ := strings.Cut(string(r.text[:n]), "#")
		path, _, hasQuery := strings.Cut(whole, "?")
		tries := []struct {
			text string
			end  int
		}{{whole, len(whole)}}
		if hasQuery {
			tries = append(tries, struct {
				text string
				end  int
			}{path, r.queryEnd(len(path))})
		}
		for _, try := range tries {
			url := Canonical(try.text)
			if !holds(ref.places.old, url) && !holds(ref.places.new, url) {
				continue
			}
			end := at + r.raw[try.end]
			switch v := ref.find(url); v.Kind {
			case Current:
				return text[at:end], end, true
			case Replaced:
				return string(b.appendURL(nil, clean(v.New), r.entities)), end, true
			}
		}
	}
	return "", 0, false
}

var spelledHeaders = regexp.MustCompile(`^(?:[sS]:([0-9]{1,10}):|[sS]%3[aA]([0-9]{1,10})%3[aA])(\\{0,31}"|%22|&[a-z#0-9xX]{2,10};)`)

// rewrite returns the new text.
func (ref *reference) rewrite(text string, depth int) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		if instead, end, ok := ref.serialized(text, at, depth); ok {
			out.WriteString(instead)
			at = end
		} else if instead, end, ok := ref.urlAt(text, at); ok {
			out.WriteString(instead)
			at = end
		} else {
			out.WriteByte(text[at])
			at++
		}
	}
	return out.String()
}

// serialized returns the serialized string at an offset. Other tests cover objects with their own
// serialization.
func (ref *reference) serialized(text string, at, depth int) (instead string, end int, ok bool) {
	m := spelledHeaders.FindStringSubmatchIndex(text[at:])
	if m == nil {
		return "", 0, false
	}
	quote := text[at+m[6] : at+m[7]]
	if r, _ := entityAt([]byte(quote)); quote[0] == '&' && r != '"' {
		return "", 0, false
	}
	from, to, closing := m[2], m[3], quote+";"
	if from < 0 {
		from, to, closing = m[4], m[5], quote+"%3B"
	}
	length, _ := strconv.Atoi(text[at+from : at+to])
	content := at + m[1]
	for _, f := range formsIn(quote, text[at] == 'S') {
		n, left := content, length
		for left > 0 && n < len(text) {
			size, l := f.unit([]byte(text[n:]))
			n, left = n+size, left-l
		}
		if left != 0 || n > len(text) || !strings.HasPrefix(text[n:], closing) {
			continue
		}
		if depth == maxDepth {
			return text[at:n], n, true
		}
		inner := ref.rewrite(text[content:n], depth+1)
		longer := f.length([]byte(inner)) - f.length([]byte(text[content:n]))
		return text[at:at+from] + strconv.Itoa(length + longer)[:] + text[at+to:content] + inner, n, true
	}
	n := strings.Index(text[content:min(len(text), content+2*length+1024)], closing)
	if n < 0 || depth == maxDepth {
		return "", 0, false
	}
	if inner := ref.rewrite(text[content:content+n], depth+1); inner != text[content:content+n] {
		return text[at : content+n], content + n, true
	}
	return "", 0, false
}
