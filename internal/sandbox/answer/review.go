package answer

// A Suggestion is what a review proposes instead of an element.
type Suggestion struct {
	DataID string
	HTML   string // the whole element, with its data-id
}

// Review carries out a system review on HTML. There is a suggestion for each outermost
// element with a data-id that would change, in the order of the document. The rules are
// those of [Style.Act]: correctness is fix-grammar, clarity and readability have words of
// their own. What the style would change has a suggestion, too.
func (s Style) Review(review string, args map[string]string, html string) []Suggestion {
	return suggest(s.styled(ruleOf(review, args), review == "translate"), html)
}

// ReviewCustom carries out the prompt of a custom review by the rules of [Style.ActCustom].
// Each suggestion says at its end that it is made up.
func (s Style) ReviewCustom(prompt, html string) []Suggestion {
	r, what := chosen(prompt)
	_, named := asked(prompt)
	r = s.styled(r, named)
	return suggest(rule{whole: func(element string) string {
		changed := r.apply(element)
		if changed == element {
			return element
		}
		return edit(changed, func(p piece) string {
			if !p.last {
				return p.raw
			}
			return p.raw + " (" + marked(what) + ")"
		})
	}}, html)
}

func suggest(r rule, page string) []Suggestion {
	var all []Suggestion
	for _, e := range elements(page) {
		if changed := r.apply(e.html); changed != e.html {
			all = append(all, Suggestion{DataID: e.id, HTML: changed})
		}
	}
	return all
}
