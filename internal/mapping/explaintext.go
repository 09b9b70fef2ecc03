package mapping

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	shownFound = 20  // fields of a kind
	shownValue = 200 // characters of a value
)

// Text tells an explanation to people: first what becomes of the object and what decides so,
// then what was found, and last what of that is left out. A camera writes dozens of fields,
// so that lists and values are shortened unless all is asked for. What stands in it may have
// any characters but line feeds.
func (e Explanation) Text(all bool) string {
	var b strings.Builder
	w := &explained{tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0), all}
	w.head("Object", e.Key)
	if e.Err != nil {
		w.head("It cannot be sent", e.Err.Error())
	}
	w.outcomes("Where it goes", e.Place)
	w.outcomes("What describes it there", e.Describe)
	if len(e.Notes) > 0 {
		w.head("Notes", "")
	}
	for _, n := range e.Notes {
		w.line(n.Field, n.What)
	}
	w.rules(e.Rules)
	w.conflicts(e.Conflicts)
	sent, left := e.sent()
	if len(sent)+len(left) == 0 {
		w.head("Nothing was found that describes it", "")
	}
	w.seen("What was found", sent)
	w.seen("What was found and is not sent", left)
	w.Flush()
	return b.String()
}

// sent parts what was found from what of that went nowhere.
func (e Explanation) sent() (sent, left []Seen) {
	for _, s := range e.Seen {
		if slices.Contains(e.Unmapped, s.Field) {
			left = append(left, s)
		} else {
			sent = append(sent, s)
		}
	}
	return sent, left
}

// explained is an explanation while it is written.
type explained struct {
	*tabwriter.Writer
	all bool // nothing is shortened
}

func (w *explained) head(title, text string) {
	w.Flush() // columns are as wide as their own section needs
	if text != "" {
		title += ": " + oneLine(text)
	}
	fmt.Fprintln(w, title)
}

func (w *explained) line(cells ...string) {
	for i, c := range cells {
		cells[i] = oneLine(c)
	}
	fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
}

func (w *explained) seen(title string, all []Seen) {
	if len(all) > 0 {
		w.head(title, "")
	}
	for n, s := range all {
		if n == shownFound && !w.all {
			w.line(fmt.Sprintf("… and %d more, see --verbose", len(all)-n))
			break
		}
		from := string(s.From)
		if !s.Counts {
			from += ", overruled"
		}
		w.line(s.Field, w.because(s.Value, from))
	}
}

func (w *explained) rules(all []Applied) {
	if len(all) > 0 {
		w.head("Rules", "")
	}
	for _, r := range all {
		switch {
		case r.Err != nil:
			w.line(r.Rule, "cannot be applied")
		case r.Is:
			w.line(r.Rule, "is for it")
		default:
			w.line(r.Rule, "is not for it")
		}
	}
}

func (w *explained) outcomes(title string, all []Outcome) {
	if len(all) > 0 {
		w.head(title, "")
	}
	for _, o := range all {
		value := o.Value
		if value == "" {
			value = "-"
		}
		w.line(o.Field, w.because(value, o.Why))
	}
}

func (w *explained) conflicts(all []Conflict) {
	if len(all) > 0 {
		w.head("Origins disagree", "")
	}
	for _, c := range all {
		for _, s := range c.Said {
			w.line(c.Field, w.because(s.Value, string(s.From)))
		}
	}
}

// because puts after a value where it is from.
func (w *explained) because(value, why string) string {
	if whole := []rune(value); len(whole) > shownValue && !w.all {
		value = string(whole[:shownValue]) + ellipsis
	}
	return value + "  (" + why + ")"
}

// oneLine shows a text of several lines, or with tabs, in one.
func oneLine(text string) string { return strings.Join(strings.FieldsFunc(text, isBreak), " / ") }

func isBreak(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || r == '\v' || r == '\f' }
