package ui

import (
	"io"
	"strings"

	"github.com/schollz/progressbar/v3"
)

const (
	barScale = 1000 // the bar counts thousandths, so no total can be 0 or be passed
	barFrame = 9    // columns around the bar: "100% [" before and "]  " after it
)

// A bar renders one line of progress. The library draws it, but never onto the
// terminal: it writes control codes to any writer, and the line has one owner.
// Nor does it estimate: its rates know only one of items and bytes.
type bar struct {
	known   *progressbar.ProgressBar
	unknown *progressbar.ProgressBar // a spinner
}

func newBar() *bar {
	options := []progressbar.Option{
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetTheme(progressbar.Theme{
			Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]",
		}),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSpinnerType(9),              // | / - \
		progressbar.OptionSetSpinnerChangeInterval(0), // turn when drawn; else it starts a goroutine of its own
	}
	return &bar{
		known:   progressbar.NewOptions64(barScale, options...),
		unknown: progressbar.NewOptions64(-1, options...),
	}
}

// line renders the status for a terminal of that many columns; end is the last
// part of the text. The last column stays free, where some terminals wrap.
func (b *bar) line(s status, end string, columns int) string {
	text := s.text("/", end)
	thousandths, ok := s.done()
	width := barWidth(columns - 1 - textWidth(text))
	switch {
	case !ok && s.ended: // nothing turns any more
	case !ok:
		b.unknown.Describe(text)
		text = strings.TrimSpace(b.unknown.String())
	case width > 0:
		progressbar.OptionSetWidth(width)(b.known)
		b.known.Reset() // a bar that was full once is not drawn again
		b.known.Describe(text)
		_ = b.known.Set64(thousandths) // fails only past the scale
		text = strings.TrimSpace(b.known.String())
	}
	return Truncate(text, columns-1)
}

// barWidth returns the width of a bar that fits into the free columns; 0 if
// none does. It has few values, so that the bar does not jump about.
func barWidth(free int) int {
	for _, width := range []int{30, 20, 10} {
		if free >= width+barFrame {
			return width
		}
	}
	return 0
}

// done returns thousandths of the phase: of its bytes if their total is known,
// else of its items.
func (s status) done() (int64, bool) {
	switch {
	case s.totalBytes > 0:
		return share(s.now.bytes, s.totalBytes), true
	case s.totalItems > 0:
		return share(s.now.items, s.totalItems), true
	case s.totalItems == 0:
		return barScale, true
	}
	return 0, false
}

func share(part, whole int64) int64 {
	return int64(float64(part) / float64(whole) * barScale)
}
