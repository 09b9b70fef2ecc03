package answer

import (
	"html"
	"strings"

	"assetferry/internal/pattern"
)

// Act performs a system action on text or HTML. HTML tags stay the same. The only argument is
// "language", for translate.
//
// fix-grammar corrects words in a small table, doubled words and blanks, missing capitals and
// missing full stops. Other actions do the same, and replace words from their own tables. Added
// text is marked as made up; removed and replaced text is not. An unknown action only corrects.
// All actions use the style; only translate has its own language.
func (s Style) Act(action string, args map[string]string, content string) string {
	return s.styled(ruleOf(action, args), action == "translate").apply(content)
}

// ActCustom performs a custom prompt on text or HTML. The words of the prompt select a simple
// rule, which is named at the end of the text. The answer is HTML if outputFormat is "html",
// otherwise text, or an object if the prompt requests JSON. The language is that of the prompt,
// or else of the style.
func (s Style) ActCustom(prompt, content, outputFormat string) string {
	if wantsJSON().MatchString(prompt) {
		return s.Reply(prompt, []Attachment{{Type: "text/html", Data: []byte(content)}}, nil)
	}
	rule, what := chosen(prompt)
	_, named := asked(prompt)
	text := s.styled(rule, named).apply(content)
	note := marked(what)
	if outputFormat == "html" {
		if !isMarkup(text) {
			text = "<p>" + html.EscapeString(text) + "</p>"
		}
		return text + "<p>" + html.EscapeString(note) + "</p>"
	}
	if isMarkup(text) {
		text = pageText(text)
	}
	return strings.TrimSpace(text) + "\n\n" + note
}

// A rule changes the text of blocks, or the whole content.
type rule struct {
	change func(piece) string
	whole  func(content string) string // replaces the other, if set
}

func (r rule) apply(content string) string {
	if r.whole != nil {
		return r.whole(content)
	}
	return edit(content, r.change)
}

// ruleOf returns the rule of a system action or review.
func ruleOf(name string, args map[string]string) rule {
	switch name {
	case "translate":
		return rule{whole: tongueOf(args["language"]).translate}
	case "continue":
		return rule{whole: continued}
	case "make-longer":
		return rule{change: added("more text would follow here")}
	case "make-shorter":
		return rule{change: shortened}
	}
	swaps, ok := swapsOf()[name]
	if !ok {
		return rule{change: corrected}
	}
	return rule{change: func(p piece) string {
		p.raw = swap(p.raw, swaps)
		return corrected(p)
	}}
}

var (
	asksShort = pattern.Lazy(`(?i)\bshort|\bsummar|\bbrief|\bconcise`)
	asksLong  = pattern.Lazy(`(?i)\blong|\bexpand|\belaborate|\bmore detail`)
	asksUpper = pattern.Lazy(`(?i)\bupper-?\s?case|\bcapitals\b`)
	asksTo    = pattern.Lazy(`(?i)\btranslat`)
)

// chosen returns the rule that a prompt selects, and its description.
func chosen(prompt string) (rule, string) {
	in, named := asked(prompt)
	switch {
	case named && (asksTo().MatchString(prompt) || in != "en"):
		return rule{whole: in.translate}, "marked as " + string(in)
	case asksUpper().MatchString(prompt):
		return rule{change: func(p piece) string { return upper(p.raw) }}, "changed to capital letters"
	case asksShort().MatchString(prompt):
		return rule{change: shortened}, "cut to the first sentence of each block"
	case asksLong().MatchString(prompt):
		return rule{change: added("more text would follow here")}, "made longer"
	}
	return rule{change: corrected}, "corrected only, because no rule matches “" + short(line(prompt), 60) + "”"
}

var entity = pattern.Lazy(`&#?[A-Za-z0-9]+;`)

// upper converts text to upper case except HTML entities.
func upper(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range entity().FindAllStringIndex(text, -1) {
		b.WriteString(strings.ToUpper(text[at:m[0]]) + text[m[0]:m[1]])
		at = m[1]
	}
	return b.String() + strings.ToUpper(text[at:])
}

// continued appends a sentence, in HTML as a paragraph.
func continued(content string) string {
	next := marked("the text would go on after “" + short(lastWords(content), 40) + "”")
	if isMarkup(content) {
		return content + "<p>" + html.EscapeString(next) + "</p>"
	}
	return strings.TrimSpace(content) + " " + next
}

// lastWords returns the last words of a text.
func lastWords(content string) string {
	all := strings.Fields(pageText(content))
	return strings.Join(all[max(0, len(all)-5):], " ")
}

// added appends a sentence to each block.
func added(sentence string) func(piece) string {
	return func(p piece) string {
		text := corrected(p)
		if !p.last {
			return text
		}
		body := strings.TrimRight(text, " \t\r\n")
		return ended(body) + " (" + marked(sentence) + ")" + text[len(body):]
	}
}

var sentence = pattern.Lazy(`^\s*.+?[.!?](?:\s|$)`)

// shortened returns the first sentence of a block, or the first half of a single sentence.
func shortened(p piece) string {
	text := corrected(p)
	if !p.first || !p.last {
		return text // sentences with tags inside are not cut
	}
	m := sentence().FindString(text)
	if m != "" && len(m) < len(strings.TrimRight(text, " \t\r\n")) {
		return strings.TrimRight(m, " \t\r\n")
	}
	if all := strings.Fields(text); len(all) > 7 {
		return strings.TrimRight(strings.Join(all[:(len(all)+1)/2], " "), ",;:") + "."
	}
	return text
}
