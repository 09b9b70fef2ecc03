package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"assetferry/internal/ui"
)

// A timeChart shows a rate over time. Its shape is stretched to the width of the page. Text is not
// stretched, so the labels are placed by percentages.
type timeChart struct {
	ID, Title, Desc string // the ID is unique on a page
	Line            string // a path in a box of 1,000 by 100, from the bottom left to the bottom right
	Marks           []mark // of the rate
	Times           []tick
}

// A mark is a tick of the vertical axis, in pixels from the top.
type mark struct {
	Y     int
	Label string
}

// A tick marks a time on the horizontal axis.
type tick struct {
	at    float64 // part of the axis
	Label string
}

// Left returns the horizontal position of a tick.
func (t tick) Left() string { return percent(t.at) }

const (
	plotHeight = 150
	plotTop    = 10 // room for half of the highest label
	boxWidth   = 1000
	boxHeight  = 100
)

// A span is a period of time and the rate in it.
type span struct {
	From, To time.Time
	Rate     float64
}

const day = 24 * time.Hour

// timeSteps are the usual intervals of a time axis below two days.
var timeSteps = [...]time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day,
}

// drawRates lays out a chart of rates, one for each span, in order. Between spans the rate is 0.
// Times are in the time zone of the first span.
func drawRates(id, title, desc string, all []span, text func(float64) string) timeChart {
	c := timeChart{ID: id, Title: ui.Sanitize(title), Desc: ui.Sanitize(desc)}
	if len(all) == 0 {
		return c
	}
	var largest float64
	for _, s := range all {
		largest = max(largest, s.Rate)
	}
	marks := scale(largest)
	top := marks[len(marks)-1]
	for _, m := range marks {
		c.Marks = append(c.Marks, mark{plotTop + int(math.Round(plotHeight*(1-m/top))), text(m)})
	}
	begin, end := all[0].From, all[len(all)-1].To
	c.Line = steps(all, top)
	c.Times = timeTicks(begin, end)
	return c
}

// steps draws a line with a constant height in each span, so that a single span is visible too.
func steps(all []span, top float64) string {
	begin, end := all[0].From, all[len(all)-1].To
	across := func(t time.Time) float64 { return boxWidth * float64(t.Sub(begin)) / float64(end.Sub(begin)) }
	var b strings.Builder
	b.WriteString("M0 100")
	last := begin
	for _, s := range all {
		if s.From.After(last) {
			fmt.Fprintf(&b, "V100H%.2f", across(s.From))
		}
		fmt.Fprintf(&b, "V%.2fH%.2f", boxHeight*(1-s.Rate/top), across(s.To))
		last = s.To
	}
	return b.String() + "V100"
}

// Sizes of a time axis on the narrowest page, in pixels.
const (
	narrowest     = 280
	digitWidth    = 7
	betweenLabels = 14
)

// timeTicks marks round times so that their labels do not touch on the narrowest page.
func timeTicks(begin, end time.Time) []tick {
	for _, step := range timeSteps {
		if all := ticksEvery(begin, end, step); roomFor(all) {
			return all
		}
	}
	for days := 2.0; ; days = roundStep(days + 1) {
		if all := ticksEvery(begin, end, time.Duration(days)*day); roomFor(all) {
			return all
		}
	}
}

// roomFor reports whether labels, each centred on its tick, do not touch.
func roomFor(all []tick) bool {
	for n := 1; n < len(all); n++ {
		apart := (all[n].at - all[n-1].at) * narrowest
		if apart < float64(digitWidth*(len(all[n].Label)+len(all[n-1].Label))/2+betweenLabels) {
			return false
		}
	}
	return len(all) > 0
}

// timeLayout returns the shortest layout in which the times differ.
func timeLayout(begin, end time.Time, step time.Duration) string {
	last := end.Add(-time.Second) // the end of a day belongs to it
	switch {
	case begin.Year() == last.Year() && begin.YearDay() == last.YearDay():
		return "15:04"
	case step < day:
		return "2 Jan 15:04"
	case begin.Year() == last.Year():
		return "2 Jan"
	}
	return "2 Jan 2006"
}

// ticksEvery marks the beginning of each step, counted from midnight, or from the first day for
// steps of whole days.
func ticksEvery(begin, end time.Time, step time.Duration) (all []tick) {
	layout := timeLayout(begin, end, step)
	whole := end.Sub(begin)
	if whole/step > narrowest { // there is no room for so many in any case
		return nil
	}
	y, m, d := begin.Date()
	for n := 0; ; n++ {
		at := time.Date(y, m, d, 0, 0, 0, 0, begin.Location())
		if step < day {
			at = at.Add(time.Duration(n) * step)
		} else {
			at = at.AddDate(0, 0, n*int(step/day))
		}
		if at.After(end) {
			return all
		}
		if !at.Before(begin) {
			all = append(all, tick{float64(at.Sub(begin)) / float64(whole), at.Format(layout)})
		}
	}
}
