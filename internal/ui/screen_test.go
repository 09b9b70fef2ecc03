package ui

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// A buffer is a stream that can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// screen returns the text that a terminal shows after some output: a carriage return moves the
// cursor to the start of the line, and characters overwrite each other.
func screen(output string) []string {
	lines := []string{}
	row, column := []rune{}, 0
	for _, r := range output {
		switch r {
		case '\r':
			column = 0
		case '\n':
			lines = append(lines, strings.TrimRight(string(row), " "))
			row, column = row[:0], 0
		default:
			if column == len(row) {
				row = append(row, r)
			} else {
				row[column] = r
			}
			column++
		}
	}
	return append(lines, strings.TrimRight(string(row), " "))
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
