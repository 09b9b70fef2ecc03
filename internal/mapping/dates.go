package mapping

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr"
)

// A day is a calendar day in expressions, without a time zone. The zero day stands for a missing
// date: every comparison with it is false, so an object without a date never expires.
type day struct{ at time.Time }

// wordToday is the variable for the day of Options.
const wordToday = "today"

// dayOf returns the calendar day of a time, in the zone of the time.
func dayOf(t time.Time) day {
	return day{time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)}
}

// String returns the day as in 2026-01-31, and "" without one.
func (d day) String() string {
	if d.at.IsZero() {
		return ""
	}
	return d.at.Format(time.DateOnly)
}

// dayForms returns the layouts of dates that need no form: those of ISO 8601, EXIF and IPTC. A
// number such as 01/02/2026 is not among them, because it means different days in different
// countries.
func dayForms() []string {
	return []string{
		time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04",
		"2006:01:02 15:04:05", "2006:01:02", "20060102",
	}
}

// parseDay returns the day in a text; zero for an empty text.
func parseDay(text string) (day, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return day{}, nil
	}
	for _, layout := range dayForms() {
		if t, err := time.Parse(layout, text); err == nil {
			return dayOf(t), nil
		}
	}
	return day{}, fmt.Errorf(`%q is not a date such as 2026-01-31; for another form, name it, as in day(TEXT, "DD.MM.YYYY")`, text)
}

// callDay returns the day in a text, which may have a form such as "DD.MM.YYYY".
func callDay(args ...any) (any, error) {
	text := strings.TrimSpace(args[0].(string))
	if len(args) == 1 {
		return parseDay(text)
	}
	form := args[1].(string)
	if what := wrongDayForm(form); what != "" {
		return nil, errors.New(what)
	}
	if text == "" {
		return day{}, nil
	}
	t, err := time.Parse(strings.NewReplacer("YYYY", "2006", "YY", "06", "MM", "01", "DD", "02").Replace(form), text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a date in the form %s", text, form)
	}
	return dayOf(t), nil
}

// wrongDayForm returns the mistake in the form of a date, or "".
func wrongDayForm(form string) string {
	if strings.Count(form, "YY") > 0 && strings.Count(form, "MM") == 1 && strings.Count(form, "DD") == 1 {
		return ""
	}
	return fmt.Sprintf("%q is not the form of a date; it needs YYYY, MM and DD, as in \"DD.MM.YYYY\"", form)
}

// asDay returns an operand of a comparison as a day.
func asDay(operand any) (day, error) {
	if text, is := operand.(string); is {
		return parseDay(text)
	}
	return operand.(day), nil
}

// hidden begins the names of functions that replace operators. Expressions cannot contain them.
const hidden = "__"

// dayOperators returns the operators for days: comparisons, also with a text that contains a date,
// and the addition and subtraction of days.
func dayOperators() (options []expr.Option) {
	for name, holds := range map[string]func(order int) bool{
		"<": func(o int) bool { return o < 0 }, "<=": func(o int) bool { return o <= 0 },
		">": func(o int) bool { return o > 0 }, ">=": func(o int) bool { return o >= 0 },
		"==": func(o int) bool { return o == 0 }, "!=": func(o int) bool { return o != 0 },
	} {
		compare := func(args ...any) (any, error) {
			a, err := asDay(args[0])
			b, berr := asDay(args[1])
			if err = errors.Join(err, berr); err != nil {
				return nil, err
			}
			return !a.at.IsZero() && !b.at.IsZero() && holds(a.at.Compare(b.at)), nil
		}
		options = append(options, expr.Operator(name, hidden+name),
			expr.Function(hidden+name, compare, new(func(day, day) bool), new(func(string, day) bool), new(func(day, string) bool)))
	}
	for name, sign := range map[string]int{"+": 1, "-": -1} {
		add := func(args ...any) (any, error) {
			d := args[0].(day)
			if d.at.IsZero() {
				return d, nil
			}
			return day{d.at.AddDate(0, 0, sign*args[1].(int))}, nil
		}
		options = append(options, expr.Operator(name, hidden+name), expr.Function(hidden+name, add, new(func(day, int) day)))
	}
	return options
}

// UsesToday reports whether a rule depends on the current day.
func (m *Mapping) UsesToday() bool {
	for _, r := range m.usable().rules {
		if r.mentions(wordToday) {
			return true
		}
	}
	return false
}

// ParseDay returns the day in a text as rules read it, at midnight in UTC; zero for an empty text.
func ParseDay(text string) (time.Time, error) {
	d, err := parseDay(text)
	return d.at, err
}

// DayOf returns the calendar day of a time in the same form.
func DayOf(t time.Time) time.Time { return dayOf(t).at }
