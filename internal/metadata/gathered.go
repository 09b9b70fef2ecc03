package metadata

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Gathered are the fields of an origin while they are read, within bounds: content can
// claim anything.
type gathered struct {
	fields Fields
	values int
	beyond int // values that were left out
}

// known takes a value of a field that has a name of ours.
func (g *gathered) known(name, value string) { g.add(name, value, maxText) }

// other takes a value of any other field. One that is long is a picture or a program's own
// notes, written as text.
func (g *gathered) other(from Source, tag, value string) {
	g.add(string(from)+"."+tag, value, maxUnmapped)
}

func (g *gathered) add(name, value string, most int) {
	if value = strings.TrimSpace(value); value == "" {
		return
	}
	if len(value) > most || len(name) > maxUnmapped || g.values == maxValues || !utf8.ValidString(name) {
		if g.beyond++; most == maxUnmapped {
			g.beyond--
		}
		return
	}
	if g.fields == nil {
		g.fields = Fields{}
	}
	g.values++
	g.fields[name] = append(g.fields[name], value)
}

// once takes a value of a field that has one, unless it is there already.
func (g *gathered) once(name, value string) {
	if g.fields[name] == nil {
		g.known(name, value)
	}
}

// leftOut says that something was left out.
func (g *gathered) leftOut() error {
	if g.beyond == 0 {
		return nil
	}
	return fmt.Errorf("%d values that are longer than %d KiB, or more than %d, are left out", g.beyond, maxText>>10, maxValues)
}

// moment returns a time as RFC 3339 has it, without an offset if none is known, and only as
// much of it as is: a year is no first of January. It is empty if it is no time. Programs
// write dates with colons or with dashes.
func moment(written string) string {
	date, clock, _ := strings.Cut(strings.Replace(strings.TrimSpace(written), "T", " ", 1), " ")
	text := strings.ReplaceAll(date, ":", "-")
	if clock = strings.TrimSpace(clock); clock != "" {
		text += "T" + strings.ReplaceAll(clock, " ", "")
	}
	for _, form := range [...]struct{ in, out string }{
		{"2006-01-02T15:04:05Z07:00", time.RFC3339Nano},
		{"2006-01-02T15:04:05", "2006-01-02T15:04:05.999999999"},
		{"2006-01-02T15:04Z07:00", time.RFC3339},
		{"2006-01-02T15:04", "2006-01-02T15:04:05"},
		{time.DateOnly, time.DateOnly},
		{"2006-01", "2006-01"},
		{"2006", "2006"},
	} {
		if t, err := time.Parse(form.in, text); err == nil && t.Year() > 0 {
			return t.Format(form.out)
		}
	}
	return ""
}

// place takes where a picture was taken, in degrees, and reports whether that can be.
func (g *gathered) place(latitude, longitude float64) bool {
	if math.Abs(latitude) > 90 || math.Abs(longitude) > 180 || math.IsNaN(latitude) || math.IsNaN(longitude) {
		return false
	}
	g.once("latitude", degrees(latitude))
	g.once("longitude", degrees(longitude))
	return true
}

// degrees writes them to about a centimetre.
func degrees(d float64) string {
	const parts = 1e7
	return strconv.FormatFloat(math.Round(d*parts)/parts+0, 'f', -1, 64)
}
