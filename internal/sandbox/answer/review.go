package answer

// A Suggestion is the proposed replacement of an element.
type Suggestion struct {
	DataID string
	HTML   string // complete element with its data-id
}

// Review performs a system review on HTML. It returns a suggestion for each outermost element
// with a data-id that would change, in document order. The rules are those of [Style.Act]:
// correctness is fix-grammar; clarity and readability have their own tables. Changes by the
// style are also suggestions.
func (s Style) Review(review string, args map[string]string, html string) []Suggestion {
	return suggest(s.styled(ruleOf(review, args), review == "translate"), html)
}

// ReviewCustom performs a custom review by the rules of [Style.ActCustom]. Each suggestion is
// marked as made up.
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
