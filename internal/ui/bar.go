package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/schollz/progressbar/v3"
)

const (
	barScale = 1000 // the bar counts thousandths, so no total can be 0 or be passed
	barFrame = 9    // columns around the bar: "100% [" before and "]  " after it
)

// A bar renders one line of progress. The library only draws the text: it would write
// control codes to any writer, and its rates know only one of items and bytes.
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
	free := columns - 1 - textWidth(text)
	width := barWidth(free)
	switch {
	case !ok && s.ended: // the spinner has stopped
	case !ok:
		b.unknown.Describe(text)
		text = strings.TrimSpace(b.unknown.String())
	case width == 0: // no room for a bar
		if percent := fmt.Sprintf("%d%%  ", thousandths*100/barScale); len(percent) <= free {
			text = percent + text
		}
	default:
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

// objectCost is the number of bytes that an object counts for in addition to its size, in percent
// and ETA: about the amount that is transferred during its requests.
const objectCost = 256_000

// done returns how much of the phase is finished, in thousandths, and false while that is
// unknown. It is less than 100% until every object is finished.
func (s status) done() (thousandths int64, known bool) {
	done, total := s.work()
	switch {
	case total < 0:
		return 0, false
	case total == 0:
		return barScale, true
	}
	thousandths = int64(float64(done) / float64(total) * barScale)
	if s.now.items < s.totalItems {
		thousandths = min(thousandths, barScale*99/100)
	}
	return thousandths, true
}

// work measures the phase: objects and bytes together where both totals are known, else
// whichever is known. The total is -1 if neither is.
func (s status) work() (done, total int64) {
	return workOf(s.now, s.totalItems, s.totalBytes), workOf(sample{items: s.totalItems, bytes: s.totalBytes}, s.totalItems, s.totalBytes)
}

// workOf measures a sample in the unit that the known totals allow.
func workOf(at sample, totalItems, totalBytes int64) int64 {
	switch {
	case totalBytes > 0 && totalItems >= 0:
		return at.items*objectCost + at.bytes
	case totalBytes > 0:
		return at.bytes
	case totalItems >= 0:
		return at.items
	}
	return -1
}
