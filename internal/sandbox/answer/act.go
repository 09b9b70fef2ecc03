package answer

import (
	"html"
	"strings"
)

// Act carries out a system action on a text or on HTML, whose tags stay byte for byte as
// they are. Of args only "language" is read, by translate.
//
// fix-grammar corrects what a small table says, and doubled words, doubled blanks, a
// small letter at the beginning and a missing full stop. The others correct these, too,
// and follow a table of words of their own: what they cut or replace is not marked, what
// they add is. An unknown action corrects only. All of it is in the style; only
// translate has a language of its own.
func (s Style) Act(action string, args map[string]string, content string) string {
	return s.styled(ruleOf(action, args), action == "translate").apply(content)
}

// ActCustom carries out a prompt on a text or on HTML, by a simple rule that the prompt's
// words choose, and says so at the end of the text. The answer is HTML if outputFormat is
// "html", else plain text. A prompt that asks for JSON is answered with an object. The
// language is that of the style unless the prompt names one.
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

// A rule changes a text of a block, or the whole content.
type rule struct {
	change func(piece) string
	whole  func(content string) string // instead, if it is set
}

func (r rule) apply(content string) string {
	if r.whole != nil {
		return r.whole(content)
	}
	return edit(content, r.change)
}

// ruleOf is the rule of a system action or review.
func ruleOf(name string, args map[string]string) rule {
	switch name {
	case "translate":
		return rule{whole: tongueOf(args["language"]).translate}
	case "continue":
		return rule{whole: continued}
	case "make-longer":
		return rule{change: added("more would stand here")}
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
	asksShort = pattern(`(?i)\bshort|\bsummar|\bbrief|\bconcise`)
	asksLong  = pattern(`(?i)\blong|\bexpand|\belaborate|\bmore detail`)
	asksUpper = pattern(`(?i)\bupper-?\s?case|\bcapitals\b`)
	asksTo    = pattern(`(?i)\btranslat`)
)

// chosen is the rule that the words of a prompt choose, and what it did.
func chosen(prompt string) (rule, string) {
	in, named := asked(prompt)
	switch {
	case named && (asksTo().MatchString(prompt) || in != "en"):
		return rule{whole: in.translate}, "marked as " + string(in)
	case asksUpper().MatchString(prompt):
		return rule{change: func(p piece) string { return upper(p.raw) }}, "put into capitals"
	case asksShort().MatchString(prompt):
		return rule{change: shortened}, "cut to the first sentence of each block"
	case asksLong().MatchString(prompt):
		return rule{change: added("more would stand here")}, "made longer"
	}
	return rule{change: corrected}, "corrected only, for no rule is known for “" + short(line(prompt), 60) + "”"
}

var entity = pattern(`&#?[A-Za-z0-9]+;`)

// upper leaves entities of HTML alone.
func upper(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range entity().FindAllStringIndex(text, -1) {
		b.WriteString(strings.ToUpper(text[at:m[0]]) + text[m[0]:m[1]])
		at = m[1]
	}
	return b.String() + strings.ToUpper(text[at:])
}

// continued has one more sentence, in a paragraph of its own if it is HTML.
func continued(content string) string {
	next := marked("the text would go on after “" + short(lastWords(content), 40) + "”")
	if isMarkup(content) {
		return content + "<p>" + html.EscapeString(next) + "</p>"
	}
	return strings.TrimSpace(content) + " " + next
}

// lastWords are those with which a text ends.
func lastWords(content string) string {
	all := strings.Fields(pageText(content))
	return strings.Join(all[max(0, len(all)-5):], " ")
}

// added puts a sentence at the end of each block.
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

var sentence = pattern(`^\s*.+?[.!?](?:\s|$)`)

// shortened keeps the first sentence of each block, or the first half of its words where
// there is only one.
func shortened(p piece) string {
	text := corrected(p)
	if !p.first || !p.last {
		return text // sentences with tags in them are left whole
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
