package mapping

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	shownFound = 20  // fields per list
	shownValue = 200 // characters of a value
)

// Text returns an explanation as text: the result with reasons, the metadata, and the metadata that is
// not copied. A camera writes dozens of fields, so lists and values are shortened unless all is true.
// Lines may contain any characters except line feeds.
func (e Explanation) Text(all bool) string {
	var b strings.Builder
	w := &explained{tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0), all}
	w.head("Object", e.Key)
	if e.Err != nil {
		w.head("Cannot be uploaded", e.Err.Error())
	}
	w.outcomes("Place", e.Place)
	w.outcomes("Metadata at the destination", e.Describe)
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
		w.head("No metadata found", "")
	}
	w.seen("Metadata found", sent)
	w.seen("Unmapped metadata", left)
	w.Flush()
	return b.String()
}

// sent splits the metadata into copied and unmapped fields.
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

// explained writes an explanation.
type explained struct {
	*tabwriter.Writer
	all bool // do not shorten
}

func (w *explained) head(title, text string) {
	w.Flush() // each section has its own column widths
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
			w.line(fmt.Sprintf("… and %d more; --verbose lists them", len(all)-n))
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
			w.line(r.Rule, "fails")
		case r.Is:
			w.line(r.Rule, "applies")
		default:
			w.line(r.Rule, "does not apply")
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
		w.head("Conflicts between metadata sources", "")
	}
	for _, c := range all {
		for _, s := range c.Said {
			w.line(c.Field, w.because(s.Value, string(s.From)))
		}
	}
}

// because appends the reason to a value.
func (w *explained) because(value, why string) string {
	if whole := []rune(value); len(whole) > shownValue && !w.all {
		value = string(whole[:shownValue]) + ellipsis
	}
	return value + "  (" + why + ")"
}

// oneLine joins a text of several lines, or with tabs, into one line.
func oneLine(text string) string { return strings.Join(strings.FieldsFunc(text, isBreak), " / ") }

func isBreak(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || r == '\v' || r == '\f' }
