package ui

import "strings"

// A Column is a column of a Table.
type Column struct {
	Title string
	Right bool // aligned to the right, for numbers
}

// Table lays out rows under their titles, two spaces between columns. Cells are
// sanitized; a short row has empty cells at its end.
func Table(columns []Column, rows [][]string) string {
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
	}
	lines := make([][]string, 0, len(rows)+1)
	widths := make([]int, len(columns))
	for _, row := range append([][]string{titles}, rows...) {
		line := make([]string, len(columns))
		for i, cell := range row[:min(len(row), len(columns))] {
			line[i] = Sanitize(cell)
			widths[i] = max(widths[i], textWidth(line[i]))
		}
		lines = append(lines, line)
	}

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
