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
	Text  string // the formatted value
}

// A barChart has horizontal bars, one below the other: labels of any length never overlap, on a
// phone or on paper. Horizontal positions are percentages, so that the bars grow with the page and
// the text does not.
type barChart struct {
	ID, Title, Desc string // the ID is unique on a page
	Rows            []barRow
}

type barRow struct {
	Full   string // the label and the value
	Label  string // shortened
	Text   string
	Y      int
	Length string // percent of the width
}

const (
	barPitch     = 26 // pixels from one bar to the next
	barThickness = 16
	labelColumns = 16 // the space next to the bars
	fullColumns  = 80 // of the tooltip
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

// length returns the length of a bar, as a part of the largest one. Values above zero stay visible.
func length(value, largest int64) float64 {
	const least = 0.004
	if value <= 0 {
		return 0
	}
	return max(least, float64(value)/float64(largest))
}

// Height returns the height of the whole chart in pixels.
func (c barChart) Height() int { return len(c.Rows) * barPitch }

// Thickness returns the height of a bar in pixels.
func (barChart) Thickness() int { return barThickness }

// Baseline returns the vertical position of the text of a row.
func (r barRow) Baseline() int { return r.Y + barThickness - 3 }

// percent formats a part of a whole as an attribute of SVG.
func percent(part float64) string {
	return strconv.FormatFloat(math.Round(part*1e5)/1e3, 'f', -1, 64) + "%"
}

// scale returns about five round values from 0 for the marks of an axis. The last one is at least
// largest.
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

// roundStep returns the smallest of ..., 0.5, 1, 2, 5, 10, 20, ... that is at least x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= x {
			return digit * power
		}
	}
	return 10 * power
}

// short formats a number for the mark of an axis. Different marks have different texts.
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
