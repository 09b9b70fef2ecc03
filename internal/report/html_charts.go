package report

import (
	"fmt"
	"strings"
	"time"

	"assetferry/internal/ui"
)

// sliceCharts show parts of a whole, by objects and by bytes.
type sliceCharts struct {
	ID, Title, Head string
	Objects, Bytes  barChart
	Rows            []Slice
}

// chartSlices draws slices; it returns nil if there are no objects.
func chartSlices(id, title, head string, slices []Slice) *sliceCharts {
	var whole Amount
	var byObjects, byBytes []bar
	for _, s := range slices {
		whole = whole.plus(s.Amount)
		byObjects = append(byObjects, bar{s.Name, s.Objects, ui.Count(s.Objects)})
		byBytes = append(byBytes, bar{s.Name, s.Bytes, ui.Bytes(s.Bytes)})
	}
	if whole.Objects == 0 {
		return nil
	}
	desc := fmt.Sprintf("%s in %s. The table below has the same numbers.", ui.Bytes(whole.Bytes), objects(whole.Objects))
	return &sliceCharts{
		ID: id, Title: title, Head: head, Rows: slices,
		Objects: drawBars(id+"-objects", title+" by objects", desc, byObjects),
		Bytes:   drawBars(id+"-bytes", title+" by bytes", desc, byBytes),
	}
}

// rateCharts show the throughput of a run.
type rateCharts struct {
	Items, Bytes timeChart
	Points       []Point
}

// chartRates draws the throughput; it returns nil if there is none.
func chartRates(points []Point, zone *time.Location) *rateCharts {
	if len(points) == 0 {
		return nil
	}
	var items, bytes []span
	var mostItems, mostBytes float64
	for n, p := range points {
		from := p.At.In(zone)
		to := from.Add(time.Duration(p.Minutes) * time.Minute)
		if n+1 < len(points) && points[n+1].At.Before(to) {
			to = points[n+1].At.In(zone)
		}
		perMinute, perSecond := float64(p.Items)/to.Sub(from).Minutes(), float64(p.Bytes)/to.Sub(from).Seconds()
		items, bytes = append(items, span{from, to, perMinute}), append(bytes, span{from, to, perSecond})
		mostItems, mostBytes = max(mostItems, perMinute), max(mostBytes, perSecond)
	}
	return &rateCharts{
		Points: points,
		Items: drawRates("rates-items", "Objects per minute over time",
			fmt.Sprintf("Peak: %s objects per minute. The table below has the same numbers.", short(mostItems)), items, short),
		Bytes: drawRates("rates-bytes", "Bytes per second over time",
			fmt.Sprintf("Peak: %s. The table below has the same numbers.", bytesPerSecond(mostBytes)), bytes, bytesPerSecond),
	}
}

// bytesPerSecond formats a rate, short enough for the mark of an axis.
func bytesPerSecond(f float64) string {
	const most = 9e18 // fits into an int64
	text := short(f) + " B"
	if f >= 10 {
		text = strings.Replace(ui.Bytes(int64(min(f, most))), ".0 ", " ", 1)
	}
	return text + "/s"
}

// A stack is a divided bar.
type stack struct {
	ID, Title, Desc string
	Pieces          []piece
}

type piece struct{ Tone, Full, From, Length string }

// drawStack divides a bar by objects.
func drawStack(id, title string, groups []group) stack {
	s := stack{ID: id, Title: title}
	var whole, before int64
	for _, g := range groups {
		whole += g.Objects
	}
	for n, g := range groups {
		if n > 0 {
			s.Desc += "; "
		}
		text := fmt.Sprintf("%s: %s", g.Title, ui.Count(g.Objects))
		s.Desc += text
		if g.Objects > 0 {
			s.Pieces = append(s.Pieces, piece{g.Tone, text, percent(float64(before) / float64(whole)), percent(float64(g.Objects) / float64(whole))})
			before += g.Objects
		}
	}
	s.Desc += "."
	return s
}
