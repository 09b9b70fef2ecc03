package ui

import "strings"

// A Column is a column of a Table.
type Column struct {
	Title string
	Right bool // aligned to the right, for numbers
	Wrap  bool // wrapped between words if the table is wider than 80 columns
}

// Table lays out rows under their titles, two spaces between columns. Cells are
// sanitized; a short row has empty cells at its end.
func Table(columns []Column, rows [][]string) string {
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
	}
	lines := make([][]string, 0, len(rows)+1)
	for _, row := range append([][]string{titles}, rows...) {
		line := make([]string, len(columns))
		for i, cell := range row[:min(len(row), len(columns))] {
			line[i] = Sanitize(cell)
		}
		lines = append(lines, line)
	}
	return layOut(columns, narrowed(columns, lines))
}

// narrowed wraps cells, in the columns that allow it, until the lines fit into 80 columns.
func narrowed(columns []Column, lines [][]string) [][]string {
	for i, c := range columns {
		widths := widthsOf(columns, lines)
		all := 2 * (len(columns) - 1)
		for _, w := range widths {
			all += w
		}
		if c.Wrap && all > screenWidth {
			lines = wrapColumn(lines, i, max(widths[i]-(all-screenWidth), textWidth(c.Title)))
		}
	}
	return lines
}

// wrapColumn continues the cells of a column in lines of their own.
func wrapColumn(lines [][]string, column, width int) (all [][]string) {
	for _, line := range lines {
		for n, text := range Wrap(line[column], width) {
			if n > 0 {
				line = make([]string, len(line))
			}
			line[column] = text
			all = append(all, line)
		}
	}
	return all
}

func widthsOf(columns []Column, lines [][]string) []int {
	widths := make([]int, len(columns))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], textWidth(cell))
		}
	}
	return widths
}

func layOut(columns []Column, lines [][]string) string {
	widths := widthsOf(columns, lines)
	var b strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-textWidth(cell))
			if columns[i].Right {
				cell = pad + cell
			} else {
				cell += pad
			}
			if i > 0 {
				text.WriteString("  ")
			}
			text.WriteString(cell)
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return b.String()
}
