package mapping

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// String tells an explanation to people. What stands in it may have any characters but line
// feeds.
func (e Explanation) String() string {
	var b strings.Builder
	w := &explained{tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)}
	w.head("Object", e.Key)
	w.seen(e.Seen)
	w.rules(e.Rules)
	w.outcomes("Where it goes", e.Place)
	w.outcomes("What describes it there", e.Describe)
	w.conflicts(e.Conflicts)
	if len(e.Notes) > 0 {
		w.head("Notes", "")
	}
	for _, n := range e.Notes {
		w.line(n.Field, n.What)
	}
	if len(e.Unmapped) > 0 {
		w.head("Not sent", strings.Join(e.Unmapped, ", "))
	}
	if e.Err != nil {
		w.head("It cannot be sent", e.Err.Error())
	}
	w.Flush()
	return b.String()
}

// explained is an explanation while it is written.
type explained struct{ *tabwriter.Writer }

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

func (w *explained) seen(all []Seen) {
	if len(all) == 0 {
		w.head("Nothing was found that describes it", "")
		return
	}
	w.head("What was found", "")
	for _, s := range all {
		from := string(s.From)
		if !s.Counts {
			from += ", overruled"
		}
		w.line(s.Field, because(s.Value, from))
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
		w.line(o.Field, because(value, o.Why))
	}
}

func (w *explained) conflicts(all []Conflict) {
	if len(all) > 0 {
		w.head("Origins disagree", "")
	}
	for _, c := range all {
		for _, s := range c.Said {
			w.line(c.Field, because(s.Value, string(s.From)))
		}
	}
}

// because puts after a value, which may be long, where it is from.
func because(value, why string) string { return value + "  (" + why + ")" }

// oneLine shows a text of several lines, or with tabs, in one.
func oneLine(text string) string { return strings.Join(strings.FieldsFunc(text, isBreak), " / ") }

func isBreak(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || r == '\v' || r == '\f' }
