package report

import (
	"fmt"
	"math"
	"strconv"

	"assetferry/internal/ui"
)

// A bar is one row of a bar chart.
type bar struct {
	Label string
	Value int64
	Text  string // the value, for people
}

// A barChart is horizontal bars, one below the other: labels of any length and number
// then never overlap, and it is as readable on a telephone as on paper. Positions
// across are in percent, so that only the bars grow with the page and not the text.
type barChart struct {
	ID, Title, Desc string // the ID is unique on a page
	Rows            []barRow
}

type barRow struct {
	Full   string // the label and the value
	Label  string // as much of it as there is room for
	Text   string
	Y      int
	Length string // percent of the width
}

const (
	barPitch     = 26 // pixels from one bar to the next
	barThickness = 16
	labelColumns = 16 // that fit beside the bars
	fullColumns  = 80 // of what a pointer sees
)

// drawBars lays out a bar chart of values that are not negative.
func drawBars(id, title, desc string, bars []bar) barChart {
	c := barChart{ID: id, Title: ui.Sanitize(title), Desc: ui.Sanitize(desc)}
	var largest int64
	for _, b := range bars {
		largest = max(largest, b.Value)
	}
	for n, b := range bars {
		label, text := ui.Sanitize(b.Label), ui.Sanitize(b.Text)
		c.Rows = append(c.Rows, barRow{
			Full: ui.Truncate(label, fullColumns) + ": " + text, Label: ui.Truncate(label, labelColumns), Text: text,
			Y: n * barPitch, Length: percent(length(b.Value, largest)),
		})
	}
	return c
}

// length is the part of the largest bar that a value gets. What is not zero is seen.
func length(value, largest int64) float64 {
	const least = 0.004
	if value <= 0 {
		return 0
	}
	return max(least, float64(value)/float64(largest))
}

// Height is the height of the whole chart in pixels.
func (c barChart) Height() int { return len(c.Rows) * barPitch }

// Thickness is the height of a bar in pixels.
func (barChart) Thickness() int { return barThickness }

// Baseline is where the text of a row stands.
func (r barRow) Baseline() int { return r.Y + barThickness - 3 }

// percent formats a part of a whole for an attribute of SVG.
func percent(part float64) string {
	return strconv.FormatFloat(math.Round(part*1e5)/1e3, 'f', -1, 64) + "%"
}

// scale gives the round values from 0 on at which an axis for values up to largest has
// its marks, five or so; the last of them is at least largest.
func scale(largest float64) []float64 {
	if largest <= 0 {
		return []float64{0, 1}
	}
	step := roundStep(largest / 4)
	marks := []float64{0}
	for n := 1; marks[n-1] < largest; n++ {
		marks = append(marks, float64(n)*step)
	}
	return marks
}

// roundStep is the smallest of ..., 0.5, 1, 2, 5, 10, 20, ... that is at least x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= x {
			return digit * power
		}
	}
	return 10 * power
}

// short formats a number for the mark of an axis, of which no two are alike.
func short(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	if f < 1e6 {
		return ui.Count(int64(f))
	}
	for _, unit := range []string{"M", "G", "T", "P"} {
		f /= 1e3
		if f < 1e6 {
			return fmt.Sprintf("%.4g %s", f/1e3, unit)
		}
	}
	return fmt.Sprintf("%.4g E", f/1e6)
}
